"""The lives of tasks in a crowd: a caller acts on what the nudges told him, and on nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from tests.faults.partner import Partner as Caller
from tests.faults.partner import Refused

from .partners import TOKEN, Endpoint, Partner

if TYPE_CHECKING:
    from .world import Deployment

Object = dict[str, Any]

OVER: Final = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})
_ASKS: Final = frozenset({"INPUT_REQUIRED", "AUTH_REQUIRED"})
_LOOKS: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
"""Seconds between two looks at what the partner was told, the last again and again."""
_LONGEST: Final = timedelta(days=6)


@dataclass
class Life:
    """One task, from the side of its caller."""

    world: "Deployment"
    partner: Partner
    hooks: list[Endpoint]
    """Where the partner wants to be told, one or two."""
    name: str
    task: str = ""

    def __post_init__(self) -> None:
        self._caller = Caller(self.world)

    def play(self, script: "Script") -> None:
        """Live it."""
        with self.world.calling(self._caller):
            script(self)

    def send(self, text: str, *, hooked: bool = True) -> None:
        """Send the first message, or an answer."""
        message: Object = {"messageId": f"{self.name}/{text}", "role": "ROLE_USER", "parts": [{"text": text}]}
        configuration: Object = {"returnImmediately": True}
        if self.task:
            message["taskId"] = self.task
        elif hooked:
            configuration["taskPushNotificationConfig"] = self._hook(0)
        params = {"message": message, "configuration": configuration}
        self.task = self._caller.call("SendMessage", params)["task"]["id"]

    def begin(self, text: str) -> None:
        """Send the first message, and register where else to be told."""
        self.send(text)
        for number in range(1, len(self.hooks)):
            self.register(number)

    def register(self, number: int = 0) -> None:
        """Register a webhook for a task that is there."""
        self._caller.call("CreateTaskPushNotificationConfig", {"taskId": self.task, **self._hook(number)})

    def answer(self, text: str) -> None:
        """Answer a question; that the task has ended meanwhile is fine."""
        self._unless_it_ended(lambda: self.send(text))

    def cancel(self) -> None:
        """Cancel it; that it has ended is fine, as a repeated cancel finds."""
        self._unless_it_ended(lambda: self._caller.cancel(self.task))

    def look(self) -> Object:
        """The task as it is, asked for without being told."""
        return self._caller.get(self.task)

    def post(self, address: str) -> int:
        """Somebody outside A2A posts to a callback address; the status."""
        return self._caller.post(address, {"approved": True})

    def told(self, *, after: int = 0) -> str:
        """Wait until the partner was told that somebody must act, or that the task is over; the state.

        `after` is a change that he has seen already.
        """
        end = self.world.clock() + _LONGEST
        looks = iter(_LOOKS)
        while self.world.clock() < end:
            state = self.partner.state_of(self.task)
            if state in OVER or (state in _ASKS and self.partner.seq_of(self.task) > after):
                return state
            self.world.run_for(next(looks, _LOOKS[-1]))
        return ""

    def _unless_it_ended(self, do: Callable[[], None]) -> None:
        try:
            do()
        except Refused as refused:
            if refused.code != _UNSUPPORTED:
                raise

    def _hook(self, number: int) -> Object:
        url = self.hooks[number].url
        # Without credentials of its own a webhook gets the RS256 bearer, which costs ten times the ES256 signature.
        authentication = {"authentication": {"scheme": "Bearer", "credentials": "partner-secret"}}
        return {"id": f"hook-{number}", "url": url, "token": TOKEN, **(authentication if number == 0 else {})}


Script = Callable[[Life], None]
_UNSUPPORTED: Final = -32004


def _asked(life: Life, often: int) -> None:
    life.begin(f"ask {often}")
    seen = 0
    for number in range(often):
        if life.told(after=seen) != "INPUT_REQUIRED":
            return
        seen = life.partner.seq_of(life.task)
        life.world.run_for(20.0)
        life.answer(f"answer {number}")


def asked_once(life: Life) -> None:
    """Asked, answered, completed."""
    _asked(life, 1)


def asked_thrice(life: Life) -> None:
    """Asked again and again."""
    _asked(life, 3)


def done_at_once(life: Life) -> None:
    """Completed by the first turn."""
    life.begin("echo")


def done_after_toil(life: Life) -> None:
    """Completed after a minute of news."""
    life.begin("toil 6")


def canceled_at_work(life: Life) -> None:
    """Canceled in the middle of a turn, or before it, or too late."""
    life.begin("toil 5")
    life.world.run_for(life.world.dice.uniform(0.5, 20.0))
    life.cancel()


def canceled_while_it_waits(life: Life) -> None:
    """Canceled while its question is open."""
    life.begin("ask 1")
    if life.told() == "INPUT_REQUIRED":
        life.cancel()


def expired(life: Life) -> None:
    """Never answered."""
    life.begin("expire")


def approved(life: Life) -> None:
    """Resumed by somebody outside A2A."""
    life.begin("auth")
    if life.told() != "AUTH_REQUIRED":
        return
    status = life.look()["status"]
    if status["state"] == "TASK_STATE_AUTH_REQUIRED":
        life.post(status["message"]["parts"][0]["text"].rpartition(" ")[2])


def told_late(life: Life) -> None:
    """The webhook is registered when the task is on its way, or over."""
    life.send("ask 1", hooked=False)
    life.world.run_for(life.world.dice.uniform(0.0, 30.0))
    for number in range(len(life.hooks)):
        life.register(number)
    if life.told() == "INPUT_REQUIRED":
        life.answer("at last")


def failed(life: Life) -> None:
    """The agent has a bug."""
    life.begin("fail")


SCRIPTS: Final[tuple[tuple[Script, int], ...]] = (
    (asked_once, 30),
    (asked_thrice, 14),
    (done_at_once, 12),
    (done_after_toil, 8),
    (canceled_at_work, 8),
    (canceled_while_it_waits, 8),
    (expired, 6),
    (approved, 5),
    (told_late, 6),
    (failed, 3),
)
"""Each life, and how many of a hundred tasks have it."""
