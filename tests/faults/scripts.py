"""The lives of tasks that are walked: what the partner does, and how it must end whatever goes wrong."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from .partner import HOOK
from .world import AGENTS, FORGIVING, World

_SOON: Final = timedelta(minutes=40)
"""However a fault delays it, the partner hears within this: the longest is a nudge whose sender died, hidden for 12
minutes, and the minute of the sweep."""


@dataclass(frozen=True)
class Script:
    """One life of one task."""

    name: str
    play: Callable[[World], str]
    """What happens; answers the task's id."""
    ends: frozenset[str]
    """The states it may end in."""
    messages: int
    """How many messages of the partner are in its history."""
    has_hook: bool = True
    answer: str = ""
    """What its artifact ends with, where it was completed."""
    parts: int = 1
    """How many chunks that artifact has."""
    told_within: timedelta = timedelta(minutes=5)
    """How long after the end the partner has heard of it, whatever went wrong once; two faults may cost more."""
    agents: str = AGENTS
    evidence_days: int = 0
    heard: tuple[str, ...] = field(default=())
    """Interrupted states that the partner must have been told of."""
    buried: bool = False
    """Whether its turn is with the dead letters."""
    given_up: bool = False
    """Whether its nudge is with the dead letters."""

    def __str__(self) -> str:
        return self.name


def asked_and_answered(world: World) -> str:
    """Sent with a webhook, asked, answered, completed."""
    task = world.partner.send("quote", hook=True)["id"]
    world.wait_until(lambda: world.partner.knows(task, "INPUT_REQUIRED"), within=_SOON)
    world.run_for(60.0)
    world.partner.send("sea", task=task)
    world.wait_until(lambda: world.partner.knows(task, "COMPLETED"), within=_SOON)
    return str(task)


def canceled_while_working(world: World) -> str:
    """Canceled in the middle of a turn."""
    world.ledger.at_work.append(world.partner.cancel)
    task = world.partner.send("work", hook=True)["id"]
    world.run_for(600.0)
    if world.ledger.at_work:
        world.ledger.at_work.clear()
        world.partner.cancel(task)
    return str(task)


def canceled_while_waiting(world: World) -> str:
    """Canceled while its question is open."""
    task = world.partner.send("ask", hook=True)["id"]
    world.wait_until(lambda: world.partner.knows(task, "INPUT_REQUIRED"), within=_SOON)
    world.run_for(60.0)
    world.partner.cancel(task)
    return str(task)


def canceled_while_queued(world: World) -> str:
    """Canceled before any worker saw it."""
    task = world.partner.send("echo", hook=True)["id"]
    world.partner.cancel(task)
    return str(task)


def expired(world: World) -> str:
    """Reminded of, and never answered."""
    task = world.partner.send("ask", hook=True)["id"]
    world.wait_until(lambda: world.partner.knows(task, "INPUT_REQUIRED"), within=_SOON)
    world.run_for(timedelta(days=2, hours=1).total_seconds())
    return str(task)


def approved_by_callback(world: World) -> str:
    """Resumed by somebody outside A2A."""
    task = world.partner.send("auth", hook=True)["id"]
    world.wait_until(lambda: world.partner.knows(task, "AUTH_REQUIRED"), within=_SOON)
    world.run_for(60.0)
    text = world.partner.get(task)["status"]["message"]["parts"][0]["text"]
    world.partner.post(text.rpartition(" ")[2], {"approved": True})
    return str(task)


def message_while_working(world: World) -> str:
    """A second message comes in the middle of the first turn, which then asks."""

    def say_more(task: str) -> None:
        world.partner.send("more", task=task)

    world.ledger.at_work.append(say_more)
    task = world.partner.send("slow-ask", hook=True)["id"]
    world.run_for(900.0)
    if world.ledger.at_work:
        world.ledger.at_work.pop()(task)
    return str(task)


def blocking_send(world: World) -> str:
    """Sent without a webhook, by a caller who waits for the answer, and sends again until he has it."""
    task = world.partner.send("echo", wait=True)["id"]
    world.wait_until(lambda: world.partner.get(task)["status"]["state"] == "TASK_STATE_COMPLETED", within=_SOON)
    return str(task)


def streamed_send(world: World) -> str:
    """Sent for a stream, without a webhook, by a caller who sends again until he has it."""
    task = world.partner.send("echo", stream=True)["id"]
    world.wait_until(lambda: world.partner.get(task)["status"]["state"] == "TASK_STATE_COMPLETED", within=_SOON)
    return str(task)


def late_webhook(world: World) -> str:
    """The webhook is registered while the question is open."""
    task = world.partner.send("ask")["id"]
    world.wait_until(lambda: world.partner.get(task)["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", within=_SOON)
    params = {"taskId": task, "id": "late", "url": HOOK}
    world.partner.call("CreateTaskPushNotificationConfig", params)
    world.wait_until(lambda: world.partner.knows(task, "INPUT_REQUIRED"), within=_SOON)
    world.partner.send("forty-two", task=task)
    return str(task)


def receiver_is_down(world: World) -> str:
    """The receiver answers 503 for more than half an hour: nudges come back by the queue, then by a schedule."""
    world.partner.outage = 6
    return str(world.partner.send("echo", hook=True)["id"])


def receiver_stays_down(world: World) -> str:
    """The receiver never comes back: the nudge is given up after three days."""
    world.partner.outage = 1_000
    return str(world.partner.send("echo", hook=True)["id"])


def webhook_replaced(world: World) -> str:
    """The webhook is registered anew, under its own id, when the task has long ended and everybody was told."""
    task = world.partner.send("echo", hook=True)["id"]
    world.run_for(3_600.0)
    (known,) = world.partner.call("ListTaskPushNotificationConfigs", {"taskId": task})["configs"]
    world.partner.call("CreateTaskPushNotificationConfig", {"taskId": task, "id": known["id"], "url": HOOK})
    return str(task)


def large_result(world: World) -> str:
    """A result that goes to the bucket, in a deployment that keeps both sides of every exchange."""
    task = world.partner.send("large", hook=True)["id"]
    world.wait_until(lambda: world.partner.knows(task, "COMPLETED"), within=_SOON)
    (part,) = world.partner.get(task)["artifacts"][0]["parts"]
    if "url" not in part:  # the bucket did not answer, so that he gets the address instead
        assert base64.b64decode(part["raw"]) == b"large" * 60_000, "the result is not what was produced"
    return str(task)


def kills_its_worker(world: World) -> str:
    """The agent kills its worker each time."""
    task = world.partner.send("die", hook=True)["id"]
    world.wait_until(lambda: world.partner.knows(task, "FAILED"), within=timedelta(hours=1))
    return str(task)


_CANCELED: Final = frozenset({"CANCELED"})
_COMPLETED: Final = frozenset({"COMPLETED"})
_FAILED: Final = frozenset({"FAILED"})
_ASKED: Final = ("INPUT_REQUIRED",)

SCRIPTS: Final = (
    Script("asked and answered", asked_and_answered, _COMPLETED, 2, heard=_ASKED, answer="sea", parts=2),
    Script("canceled while working", canceled_while_working, _CANCELED | _COMPLETED, 1),
    Script("canceled while waiting", canceled_while_waiting, _CANCELED, 1, heard=_ASKED),
    Script("canceled while queued", canceled_while_queued, _CANCELED | _COMPLETED, 1),
    Script("expired", expired, _FAILED, 1, heard=_ASKED),
    Script(
        "expired, and the agent decides",
        expired,
        _COMPLETED,
        1,
        heard=_ASKED,
        answer="nobody answered",
        agents=FORGIVING,
    ),
    Script("approved by callback", approved_by_callback, _COMPLETED, 2, heard=("AUTH_REQUIRED",), evidence_days=90),
    Script("message while working", message_while_working, _COMPLETED, 2, answer="more"),
    Script("blocking send", blocking_send, _COMPLETED, 1, has_hook=False, answer="echo"),
    Script("streamed send", streamed_send, _COMPLETED, 1, has_hook=False, answer="echo"),
    Script("late webhook", late_webhook, _COMPLETED, 2, heard=_ASKED, answer="forty-two"),
    Script("receiver is down", receiver_is_down, _COMPLETED, 1, answer="echo", told_within=timedelta(hours=8)),
    Script("receiver stays down", receiver_stays_down, _COMPLETED, 1, answer="echo", given_up=True),
    Script("webhook replaced", webhook_replaced, _COMPLETED, 1, answer="echo", told_within=timedelta(hours=2)),
    Script("large result", large_result, _COMPLETED, 1, evidence_days=90),
    Script("kills its worker", kills_its_worker, _FAILED, 1, buried=True),
)
