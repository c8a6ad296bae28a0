"""Partners: the real receiver behind real sockets, and the real client that fetches what it was told of."""

import random
import ssl
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from a2a_receiver import JwksCache, MemoryStore, Nudge, Receiver, Response, Strict
from a2a_receiver.answer import Observation
from a2a_receiver.https import HttpAnswer, HttpRequest
from a2a_receiver.tasks import FetchedTask, FetchError, TaskClient
from a2a_serverless.webhook.keys import jwks_document
from tests.unit.webhook.signing import key_ring

from .manners import Manner, Weather
from .server import Server

if TYPE_CHECKING:
    from .world import Deployment

ISSUER: Final = "https://agent.example"
TOKEN: Final = "a-token-of-the-partner-0123456789"
_FETCH_AGAIN: Final = 60.0
"""Seconds after which a partner's own queue brings back what could not be fetched."""


class Endpoint:
    """One address of a partner, with a server and a receiver of its own."""

    def __init__(self, url: str, partner: "Partner", weather: Weather, *, tls: ssl.SSLContext | None) -> None:
        self.url = url
        self.weather = weather
        self.told: dict[str, int] = {}
        """By task, the newest change that its receiver handed on."""
        self.duplicates = 0
        """Nudges that its receiver handed on although it had handed on the same message, or the same change."""
        self.verdicts: Counter[str] = Counter()
        """What its receiver made of each request: `accepted`, `duplicate`, `stale_noop`, or why it was refused."""
        self.manners: Counter[str] = Counter()
        self._partner = partner
        self._messages: set[str] = set()
        self._changes: set[tuple[str, int]] = set()
        keys = JwksCache(f"{ISSUER}/.well-known/jwks.json", ask=self._publish)
        proof = Strict(issuer=ISSUER, audience=url, keys=keys, notification_tokens=[TOKEN], allow_loopback_http=True)
        self._receiver = Receiver(proof, enqueue=self._enqueue, store=MemoryStore(), observe=self._observe)
        self.server = Server(self._take, tls=tls)

    def prepare(self, dice: random.Random, *, now: datetime, spent: int) -> Manner:
        """Choose how the next request is treated."""
        manner = self.weather.manner(dice, now=now, spent=spent)
        self.manners[manner.name] += 1
        self.server.expect(manner)
        return manner

    def _take(self, headers: list[tuple[str, str]], body: bytes) -> Response:
        return self._receiver.handle("POST", headers, body, now=self._partner.world.clock().timestamp())

    def _enqueue(self, nudge: Nudge) -> None:
        if not self.server.manner.has_queue:
            raise ConnectionError("the partner's queue is down")
        assert nudge.seq is not None, nudge
        assert nudge.message_id is not None, nudge
        change = (nudge.task_id, nudge.seq)
        self.duplicates += nudge.message_id in self._messages or change in self._changes
        self._messages.add(nudge.message_id)
        self._changes.add(change)
        self.told[nudge.task_id] = max(self.told.get(nudge.task_id, 0), nudge.seq)
        self._partner.to_fetch.append(nudge)

    def _observe(self, seen: Observation) -> None:
        self.verdicts[seen.reason] += 1

    def _publish(self, _: HttpRequest) -> HttpAnswer:
        return HttpAnswer(200, {}, jwks_document(key_ring().public, now=self._partner.world.clock()))


@dataclass
class Partner:
    """A backend: what its receivers hand on is fetched, one after the other, until it is as new as what was told."""

    world: "Deployment"
    endpoints: list[Endpoint] = field(default_factory=list)
    to_fetch: deque[Nudge] = field(default_factory=deque)
    held: dict[str, FetchedTask] = field(default_factory=dict)
    """By id, the newest task that was fetched because of a nudge; nothing else tells the partner how it stands."""
    is_fetching: bool = False

    def __post_init__(self) -> None:
        self._client = TaskClient(ISSUER, ask=self._ask, sleep=self.world.run_for)

    def fetch(self) -> None:
        """Fetch what is next."""
        self.is_fetching = True
        try:
            nudge = self.to_fetch.popleft()
            fetched = self._fetched(nudge)
            if fetched is not None:
                self._keep(fetched)
        finally:
            self.is_fetching = False

    def state_of(self, task: str) -> str:
        """The state that the partner believes the task to be in; empty when it never heard of it."""
        held = self.held.get(task)
        return (held.state or "").removeprefix("TASK_STATE_") if held else ""

    def seq_of(self, task: str) -> int:
        """The newest change of the task that the partner has seen."""
        held = self.held.get(task)
        return held.seq or 0 if held else 0

    def _fetched(self, nudge: Nudge) -> FetchedTask | None:
        try:
            return self._client.fetch(nudge)
        except FetchError:
            self.world.later(_FETCH_AGAIN, lambda: self.to_fetch.append(nudge))
            return None

    def _keep(self, fetched: FetchedTask) -> None:
        if (fetched.seq or 0) >= self.seq_of(fetched.task_id):
            self.held[fetched.task_id] = fetched

    def _ask(self, request: HttpRequest) -> HttpAnswer:
        answer = self.world.http("/", (request.body or b"").decode())
        if answer is None:
            raise ConnectionResetError("the agent did not answer")
        return HttpAnswer(answer["statusCode"], {}, answer["body"].encode())
