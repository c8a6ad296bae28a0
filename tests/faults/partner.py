"""The partner: an A2A client that sends again what was not answered, and a receiver that fetches what it is told of."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from a2a_serverless.app.attempt import NudgeToSend, Sent
from a2a_serverless.core.delivery_outcome import Answer, NoAnswer, Outcome
from a2a_serverless.core.delivery_outcome import Fault as NoAnswerBecause
from a2a_serverless.core.head import PUSH_NUDGE_KEY

if TYPE_CHECKING:
    from .world import World

Object = dict[str, Any]

HOOK: Final = "https://hooks.example.com/a2a"
_TRIES: Final = 12
_INTERNAL: Final = -32603


class Refused(Exception):
    """The agent said no, for good."""

    def __init__(self, error: Object) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]


@dataclass
class _Request:
    """A request that is on its way."""

    again: Callable[[], Any]
    overtaken: list[Any] = field(default_factory=list)
    """What the same request brought when it was sent again meanwhile; nobody waits for this one any more."""


@dataclass(frozen=True)
class Heard:
    """A nudge that came in."""

    task_id: str
    seq: int
    state: str
    message_id: str
    at: datetime


@dataclass
class Partner:
    """One partner, with one webhook."""

    world: "World"
    heard: list[Heard] = field(default_factory=list)
    fetched: list[Object] = field(default_factory=list)
    """Every task that was fetched because of a nudge."""
    outage: int = 0
    """How many nudges it is still to answer with 503."""
    under_way: list[_Request] = field(default_factory=list)
    to_fetch: list[Heard] = field(default_factory=list)

    # The client

    def call(self, method: str, params: Object) -> Any:
        """A JSON-RPC call, sent again until it is answered.

        Raises:
            Refused: the agent said no.
        """
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._insist("/", body)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def post(self, address: str, posted: Object) -> int:
        """Somebody outside A2A posts to a callback address, again until he is answered; the status."""
        path = "/" + address.split("/", maxsplit=3)[3]
        status: int = self._insist(path, posted)["status"]
        return status

    def _insist(self, path: str, body: Object, tries: int = _TRIES) -> Any:
        for tried in range(tries):
            request = _Request(lambda: self._insist(path, body))
            self.under_way.append(request)
            try:
                answer = self._once(path, body)
            finally:
                self.under_way.remove(request)
            if request.overtaken:
                return request.overtaken[0]
            if answer is not None:
                return answer
            self.world.run_for(min(2.0**tried, 30.0))
        raise AssertionError(f"no answer to {body} in {tries} tries")

    def _once(self, path: str, body: Object) -> Any:
        """The answer, or None for one that says to try again."""
        result = self.world.http(path, json.dumps(body))
        if result is None or result["statusCode"] >= 500:
            return None
        if path.startswith("/callbacks/"):
            return {"status": result["statusCode"]}
        answer = _answer(result)
        return None if answer.get("error", {}).get("code") == _INTERNAL else answer

    def lose_patience(self) -> None:
        """The request has not been answered for half a minute: send it again, and listen to that one."""
        if self.under_way:
            request = self.under_way[-1]
            request.overtaken.append(request.again())

    # What it says

    def send(
        self,
        text: str,
        *,
        task: str = "",
        message_id: str = "",
        hook: bool = False,
        wait: bool = False,
        stream: bool = False,
    ) -> Object:
        """Send a message; answers the task, of a stream the one that it begins with."""
        message: Object = {"messageId": message_id or text, "role": "ROLE_USER", "parts": [{"text": text}]}
        if task:
            message["taskId"] = task
        configuration: Object = {"returnImmediately": not wait}
        if hook:
            configuration["taskPushNotificationConfig"] = webhook()
        method = "SendStreamingMessage" if stream else "SendMessage"
        found: Object = self.call(method, {"message": message, "configuration": configuration})["task"]
        self.world.accepted.setdefault(found["id"], []).append(message["messageId"])
        return found

    def get(self, task: str) -> Object:
        """The task as it is."""
        found: Object = self.call("GetTask", {"id": task})
        return found

    def cancel(self, task: str) -> None:
        """Cancel it; that it has ended is fine, as a repeated cancel finds."""
        try:
            self.call("CancelTask", {"id": task})
        except Refused as refused:
            if refused.code != -32002:
                raise

    # The receiver

    def __call__(self, nudge: NudgeToSend, *, now: datetime) -> Sent:
        """Take a nudge, as the product's sender would bring it."""
        outcome: Outcome
        try:
            outcome = self.world.faults.call("partner.post", lambda: self._take(nudge))
        except ClientError:
            outcome = NoAnswer(NoAnswerBecause.CONNECT)
        except BotoCoreError:
            outcome = NoAnswer(NoAnswerBecause.TIMEOUT)
        return Sent(outcome=outcome, milliseconds=12, key_id="key-1")

    def _take(self, nudge: NudgeToSend) -> Answer:
        if self.outage:
            self.outage -= 1
            return Answer(status=503)
        told = nudge.nudge
        if all(known.message_id != told.message_id for known in self.heard):
            state = nudge.head.state.name
            heard = Heard(nudge.head.key.task_id, told.seq, state, told.message_id, self.world.clock())
            self.heard.append(heard)
            self.to_fetch.append(heard)
        return Answer(status=202)

    def fetch(self) -> None:
        """Fetch what it was told of, until it is as new as what was told."""
        told = self.to_fetch.pop(0)
        for _ in range(_TRIES):
            task = self.get(told.task_id)
            if int(task["metadata"][PUSH_NUDGE_KEY]["seq"]) >= told.seq:
                self.fetched.append(task)
                return
            self.world.run_for(1.0)
        raise AssertionError(f"the task never came to {told}")

    def knows(self, task: str, state: str) -> bool:
        """Whether it was told, and then saw, that the task is in that state."""
        return any(found["id"] == task and found["status"]["state"] == f"TASK_STATE_{state}" for found in self.fetched)


def webhook() -> Object:
    """The partner's webhook, with a secret."""
    return {"url": HOOK, "authentication": {"scheme": "Bearer", "credentials": "partner-secret"}, "token": "t0ken"}


def _answer(result: Object) -> Object:
    """The JSON of an answer; of a stream its first event."""
    body: str = result["body"]
    first = body.partition("\n\n")[0].removeprefix("data: ")
    answer: Object = json.loads(first if "event-stream" in result["headers"]["content-type"] else body)
    return answer
