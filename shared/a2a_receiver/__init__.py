"""Receive signed A2A push notifications: verify who sent one, acknowledge fast, fetch the authoritative task.

A `Receiver` takes requests through one of `a2a_receiver.adapters`; a `TaskClient` fetches what a `Nudge` speaks of;
a `Reconciler` finds what no webhook told.
"""

from .answer import Observation, Response, log_observation
from .jwks import JwksCache
from .nudge import NUDGE_EXTENSION, Nudge
from .ownership import MemoryChallenges
from .proof import Compat, Proof, StandardWebhooks, Strict, TokenOnly
from .receiver import Receiver
from .replay import MemoryStore, ReplayStore
from .urls import ConfigError

__version__ = "0.1.0"

__all__ = [
    "NUDGE_EXTENSION",
    "Compat",
    "ConfigError",
    "JwksCache",
    "MemoryChallenges",
    "MemoryStore",
    "Nudge",
    "Observation",
    "Proof",
    "Receiver",
    "ReplayStore",
    "Response",
    "StandardWebhooks",
    "Strict",
    "TokenOnly",
    "log_observation",
]
