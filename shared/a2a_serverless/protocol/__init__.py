"""Bytes to use cases and back: both bindings (JSON-RPC, HTTP+JSON) in both versions (1.0, 0.3), cards, identity.

Nothing here knows of AWS beyond the shape of one event (`apigateway`), and nothing here decides about tasks.
"""
