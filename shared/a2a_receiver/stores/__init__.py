"""Replay stores that survive a process or are shared by several. `MemoryStore` is in `a2a_receiver` itself."""
