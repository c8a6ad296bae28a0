"""The core: a request in, a status out, and at most one nudge on your queue. Knows no web framework."""

import hashlib
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Final, cast

from .answer import Observation, Observer, Refusal, Response, log_observation
from .judge import Judge, Settled, Verdict
from .nudge import Nudge
from .ownership import PendingChallenges
from .proof import Compat, Proof, Strict
from .prove import prover
from .replay import Memory, MemoryStore, ReplayStore
from .request import MAX_BODY, HeaderPairs, Request
from .urls import ConfigError

logger = logging.getLogger("a2a_receiver")

Enqueue = Callable[[Nudge], object | Awaitable[object]]
"""Puts a nudge where a worker will find it, and raises if it could not. `async` for the ASGI adapter only."""

_ALLOW: Final = (("Allow", "POST"),)
_INTERNAL: Final = Refusal(503, "internal")


class Receiver:
    """One URL that one kind of sender posts to. Thread-safe.

    Any bytes in give a status and at most one nudge, never an exception. The status is: 202 for whatever is proven,
    also when there is nothing to do; 4xx for what is not; 503 when we are in trouble and the sender shall try again.
    """

    def __init__(
        self,
        proof: Proof,
        *,
        enqueue: Enqueue,
        store: ReplayStore | None = None,
        knows_task: Callable[[str], bool] | None = None,
        challenges: PendingChallenges | None = None,
        observe: Observer = log_observation,
        max_body: int = MAX_BODY,
    ) -> None:
        """A receiver that asks for `proof` and hands each new nudge to `enqueue` before it answers 202.

        `store` remembers what was told (default: this process's memory). `knows_task` says whether a task id is one
        of yours; others are acknowledged and dropped. `challenges` are the ownership checks to answer. `observe`
        hears of every request.

        Raises:
            ConfigError: the receiver would prove nothing, or could never work.
        """
        if not isinstance(proof, Proof):
            raise ConfigError("proof must be Strict, Compat, StandardWebhooks or TokenOnly")
        if not callable(enqueue):
            raise ConfigError("enqueue must be a function that takes a Nudge")
        if not 1024 <= max_body <= MAX_BODY:
            raise ConfigError(f"max_body must be 1024 to {MAX_BODY} bytes")
        self.max_body = max_body
        self.is_async = _is_async(enqueue)
        self.memory = Memory(MemoryStore() if store is None else store, _namespace(proof))
        self._kind = proof.kind
        prove, self._keys = prover(proof)
        self._judge = Judge(proof, prove, self.memory, knows_task, challenges, max_body)
        self._enqueue = enqueue
        self._observe = observe

    def warm(self, *, now: float) -> bool:
        """Load the issuer's keys ahead of the first request; False when that failed (it will be tried again)."""
        return self._keys is None or self._keys.warm(now=now)

    def handle(self, method: str, headers: HeaderPairs, body: bytes, *, now: float, query: str = "") -> Response:
        """Verify, enqueue, remember, answer.

        `headers` are all of them, copies included, values as text (Latin-1); `body` the raw bytes, as received;
        `now` Unix seconds; `query` the raw query string.
        """
        verdict = self.verify(method, headers, body, now=now, query=query)
        if isinstance(verdict, Response):
            return verdict
        try:
            self._enqueue_now(verdict)
        except Exception:  # noqa: BLE001  the user's queue, logged there
            return self._not_enqueued(verdict)
        return self._enqueued(verdict, now=now)

    async def handle_async(
        self, method: str, headers: HeaderPairs, body: bytes, *, now: float, query: str = ""
    ) -> Response:
        """As `handle`: what may block runs in a worker thread, an `async` enqueue on this loop."""
        import asyncio  # 25 ms that only those who have a loop already shall pay

        pairs = list(headers)
        verdict = await asyncio.to_thread(self.verify, method, pairs, body, now=now, query=query)
        if isinstance(verdict, Response):
            return verdict
        try:
            if self.is_async:
                await cast("Awaitable[object]", self._enqueue(verdict))
            else:
                await asyncio.to_thread(self._enqueue_now, verdict)
        except Exception:  # noqa: BLE001  the user's queue, logged there
            return self._not_enqueued(verdict)
        return await asyncio.to_thread(self._enqueued, verdict, now=now)

    def admit(self, method: str, headers: HeaderPairs, *, now: float, query: str = "") -> Response | None:
        """What can be answered before the body is read; None: read at most `max_body` + 1 bytes, then `handle`."""
        try:
            verdict = self._judge.read(method, headers, query, now=now)
        except Exception:
            logger.exception("push request could not be read")
            verdict = _INTERNAL
        return None if isinstance(verdict, Request) else self._answer(verdict)

    def verify(
        self, method: str, headers: HeaderPairs, body: bytes, *, now: float, query: str = ""
    ) -> Nudge | Response:
        """A new nudge, neither enqueued nor remembered yet; or the answer, when there is none."""
        verdict: Verdict
        try:
            request = self._judge.read(method, headers, query, now=now)
            verdict = self._judge.judge(request, body, now=now) if isinstance(request, Request) else request
        except Exception:
            logger.exception("push request could not be judged")
            verdict = _INTERNAL
        return verdict if isinstance(verdict, Nudge) else self._answer(verdict)

    def _enqueue_now(self, nudge: Nudge) -> None:
        queued = self._enqueue(nudge)
        if inspect.isawaitable(queued):
            _discard(queued)
            raise TypeError("enqueue gave something to await: make it an async def and use the ASGI adapter")

    def _enqueued(self, nudge: Nudge, *, now: float) -> Response:
        # In this order: a crash between the two costs one duplicate, the other order would lose the nudge.
        self.memory.remember(nudge, now=now)
        self._tell(202, "accepted", nudge)
        return Response(202, nudge=nudge)

    def _not_enqueued(self, nudge: Nudge) -> Response:
        logger.exception("nudge could not be enqueued, the sender will try again: task_id=%s", nudge.task_id)
        self._tell(503, "enqueue_failed", nudge)
        return Response(503)

    def _answer(self, verdict: Settled | Refusal | Response) -> Response:
        match verdict:
            case Settled(reason, nudge):
                self._tell(202, reason, nudge)
                return Response(202)
            case Refusal(status, reason):
                self._tell(status, reason, None)
                return Response(status, _ALLOW if status == 405 else ())
            case Response():
                self._tell(verdict.status, "challenge", None)
                return verdict

    def _tell(self, status: int, reason: str, nudge: Nudge | None) -> None:
        task_id, message_id = (nudge.task_id, nudge.message_id) if nudge else (None, None)
        try:
            self._observe(Observation(status, reason, self._kind, task_id, message_id))
        except Exception:
            logger.exception("observer failed; the answer is not affected")


def _is_async(enqueue: Enqueue) -> bool:
    return inspect.iscoroutinefunction(enqueue) or inspect.iscoroutinefunction(
        getattr(enqueue, "__call__", None)  # noqa: B004  an object whose __call__ is async counts as well
    )


def _discard(queued: object) -> None:
    """End a coroutine that nobody will await, without Python's warning about it."""
    if inspect.iscoroutine(queued):
        queued.close()


def _namespace(proof: Proof) -> str:
    """Separates receivers in a shared store: what a weaker proof told never silences a stronger one."""
    parts = (proof.issuer, proof.audience) if isinstance(proof, Strict | Compat) else ()
    return hashlib.sha256("\n".join((proof.kind, *parts)).encode()).hexdigest()
