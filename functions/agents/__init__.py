"""The agents of this repository: one to learn from, two for tests.

Yours may lie here, or in a folder of your own (`agent_source` in the context, `AGENT_SOURCE` for `make serve`).
"""
