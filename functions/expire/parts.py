"""What `expire` works with."""

from functools import cache

from a2a_serverless.app.expire import Expiry
from functions import wiring


@cache
def expiry() -> Expiry:
    """The tasks, and the agents that may decide."""
    return Expiry(agents=wiring.agent, tasks=wiring.tasks(), clock=wiring.clock, ids=wiring.ids, rules=wiring.rules())
