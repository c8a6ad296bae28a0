"""The use cases, a module for each hop or operation: read, let `core` decide, write. What is outside is in `ports`."""
