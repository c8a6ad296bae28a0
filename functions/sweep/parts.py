"""What `sweep` works with: everything that relay and expire do, it may have to do in their place."""

from functools import cache

from a2a_serverless.app.sweep import Sweeper
from functions import wiring
from functions.expire.parts import expiry
from functions.relay.parts import relay


@cache
def sweeper() -> Sweeper:
    """The index of what is due, and the hands to put it back."""
    return Sweeper(
        tasks=wiring.tasks(),
        due=wiring.tasks(),
        deliveries=wiring.push(),
        relay=relay(),
        expiry=expiry(),
        clock=wiring.clock,
    )
