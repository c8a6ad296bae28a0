"""The decision about one request, in the order of the checks. Enqueues nothing, remembers nothing, says nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from .answer import Refusal, Response
from .nudge import Nudge
from .ownership import PendingChallenges, answer_options, answer_token
from .proof import Proof
from .prove import Prove, Proven, wrong_notification_token
from .replay import Memory
from .request import HeaderPairs, Request, read_request
from .told import Told, read_told


@dataclass(frozen=True, slots=True)
class Settled:
    """Proven, and nothing to do: acknowledged so that the sender stops."""

    reason: str
    nudge: Nudge


Verdict = Nudge | Settled | Refusal | Response
"""A new nudge; one that changes nothing; no; or the answer to an ownership check."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Everything a decision needs but the request and the time."""

    proof: Proof
    prove: Prove
    memory: Memory
    knows_task: Callable[[str], bool] | None
    challenges: PendingChallenges | None
    max_body: int

    def read(self, method: str, headers: HeaderPairs, query: str, *, now: float) -> Request | Refusal | Response:
        """Steps 1 to 3, from the headers alone; a `Request` goes on to `judge`."""
        request = read_request(method, headers, max_body=self.max_body)
        if isinstance(request, Refusal):
            return request
        if request.method == "GET":
            return answer_token(query, self.challenges, now=now)
        if request.method == "OPTIONS":
            return answer_options(request.headers, self.challenges, now=now)
        return request

    def judge(self, request: Request, body: bytes, *, now: float) -> Verdict:
        """Steps 4 to 12."""
        if len(body) > self.max_body:
            return Refusal(413, "too_large")
        proven = self.prove(request, body, now)
        if isinstance(proven, Refusal):
            return proven
        wrong_token = wrong_notification_token(request.headers, self.proof.notification_tokens)
        if wrong_token is not None:
            return wrong_token
        told = read_told(body, extension_uri=self.proof.extension_uri)
        if isinstance(told, Refusal):
            return told
        nudge = _agreed(request, proven, told)
        if isinstance(nudge, Refusal):
            return nudge
        nothing_to_do = self._nothing_to_do(nudge, now=now)
        return nudge if nothing_to_do is None else Settled(nothing_to_do, nudge)

    def _nothing_to_do(self, nudge: Nudge, *, now: float) -> str | None:
        """Step 12: why a proven nudge needs no work, if it needs none."""
        if nudge.is_test:
            return "test"
        if self.memory.has_seen(nudge.message_id, now=now):
            return "duplicate"
        told = self.memory.told_seq(nudge.task_id, now=now)
        # Equal too: another push config of yours was told of this very version.
        if nudge.seq is not None and told is not None and nudge.seq <= told:
            return "stale_noop"
        if self.knows_task is not None and not self.knows_task(nudge.task_id):
            return "unknown_task"
        return None


def _agreed(request: Request, proven: Proven, told: Told) -> Nudge | Refusal:
    """The nudge, where token, headers and body speak of the same task and delivery (end of step 11)."""
    if proven.task_id is not None and proven.task_id != told.task_id:
        return Refusal(401, "task_mismatch")
    if proven.message_id is not None and proven.message_id != request.headers.get("webhook-id"):
        return Refusal(401, "msg_mismatch")
    seq = told.seq if proven.body_is_signed and proven.seq is None else proven.seq
    return Nudge(
        task_id=told.task_id,
        seq=seq,
        state=told.state,
        context_id=told.context_id,
        message_id=proven.message_id,
        issuer=proven.issuer,
        is_test=told.is_test and proven.body_is_signed,
    )
