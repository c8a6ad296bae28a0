"""A send as tests make it."""

from typing import Any

from a2a_serverless.app.send import send
from a2a_serverless.types import Caller, Message, Task
from tests.unit.app.world import ALICE, World, request


def sends(world: World, text: str = "hello", caller: Caller = ALICE, **how: Any) -> Task | Message:
    return send(world.host, caller, request(text, **how))
