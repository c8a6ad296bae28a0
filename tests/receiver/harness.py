"""Runs a case of the attack format against a receiver, through any door, and says what came of it."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

import a2a_receiver
from a2a_receiver.https import HttpAnswer
from tests.attack_format import FIXTURES, header_pairs, vectors

REFUSED_TO_START = 0
NOTHING_SENT = -1
NOTHING_TO_DO = ("challenge", "duplicate", "stale_noop", "test", "unknown_task")


@dataclass(frozen=True)
class Sent:
    """One request as it comes to the door."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    now: float
    query: str = ""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


Door = Callable[[Any, Sent], tuple[int, bytes]]
"""Carries a request to a receiver and brings back status and body."""


@dataclass(frozen=True)
class Case:
    """Requests in order, the state of the world around them, and what the last answer must be."""

    id: str
    why: str
    mode: str
    requests: Sequence[Sent]
    status: object
    reason: str
    fixtures: Mapping[str, Any]
    jwks_down: bool = False
    queue_down: bool = False
    max_jwks_fetches: int | None = None


@dataclass
class Outcome:
    """What a case came to."""

    status: int
    body: bytes = b""
    reasons: list[str] = field(default_factory=list)
    nudges: list[Any] = field(default_factory=list)
    nudges_of_last: int = 0
    jwks_fetches: int = 0


def load_cases(*files: Path) -> list[Case]:
    """The receiver cases of these files, as far as they are understood."""
    return [read_case(entry, FIXTURES) for entry in vectors("receiver", *files)]


def read_case(entry: Mapping[str, Any], fixtures: Mapping[str, Any]) -> Case:
    """One case of the format, laid over the fixtures."""
    given, expected = entry["input"], entry["expected"]
    merged = {**fixtures, **given.get("fx_override", {})}
    return Case(
        id=entry["id"],
        why=entry.get("why", ""),
        mode=given["mode"],
        requests=[read_sent(request, merged) for request in given["requests"]],
        status=expected["status"],
        reason=expected.get("reason") or "",
        fixtures=merged,
        jwks_down=given.get("jwks_down", False),
        queue_down=given.get("queue_down", False),
        max_jwks_fetches=given.get("max_jwks_fetches"),
    )


def read_sent(request: Mapping[str, Any], fixtures: Mapping[str, Any]) -> Sent:
    """One request of a case; its query may stand in the URL or beside it."""
    url, _, query = request["url"].partition("?")
    now = request.get("now")
    return Sent(
        method=request["method"],
        url=url,
        headers=header_pairs(request.get("headers")),
        body=base64.b64decode(request.get("body_b64") or ""),
        now=fixtures["now"] if now is None else now,
        query="&".join(part for part in (query, urlencode(request.get("query") or {}, doseq=True)) if part),
    )


def run(case: Case, door: Door, package: ModuleType = a2a_receiver) -> Outcome:
    """Send the requests of a case to a fresh receiver of `package`."""
    outcome = Outcome(NOTHING_SENT)
    try:
        receiver = receiver_for(case, outcome, package)
    except package.ConfigError:
        outcome.status = REFUSED_TO_START
        return outcome
    for sent in case.requests:
        before = len(outcome.nudges)
        outcome.status, outcome.body = door(receiver, sent)
        outcome.nudges_of_last = len(outcome.nudges) - before
    return outcome


def receiver_for(case: Case, outcome: Outcome, package: ModuleType = a2a_receiver) -> Any:
    """A receiver as the fixtures configure it, whose keys were loaded two minutes ago."""
    fixtures, now = case.fixtures, case.fixtures["now"]
    is_warm = False

    def ask(_: object) -> HttpAnswer:
        outcome.jwks_fetches += is_warm
        if is_warm and case.jwks_down:
            raise ConnectionError("the key set is down in this case")
        return HttpAnswer(200, {}, json.dumps(fixtures["jwks"]).encode())

    def enqueue(nudge: object) -> None:
        if case.queue_down:
            raise ConnectionError("the queue is down in this case")
        outcome.nudges.append(nudge)

    challenges = package.MemoryChallenges()
    if fixtures["pending_validation"]:
        challenges.expect_token(fixtures["pending_validation"], now=now)
    if fixtures.get("pending_origin"):
        challenges.expect_origin(fixtures["pending_origin"], now=now)
    known = fixtures["known_tasks"]
    receiver = package.Receiver(
        _proof(case, package.JwksCache(f"{fixtures['issuer']}/.well-known/jwks.json", ask=ask), package),
        enqueue=enqueue,
        knows_task=None if known is None else lambda task_id: task_id in known,
        challenges=challenges if fixtures["pending_validation"] else None,
        observe=lambda seen: outcome.reasons.append(seen.reason),
        max_body=fixtures["max_body"],
    )
    receiver.warm(now=now - 120)
    is_warm = True
    return receiver


def _proof(case: Case, keys: object, package: ModuleType) -> object:
    fixtures = case.fixtures
    token = fixtures["notification_token"]
    shared = {
        "notification_tokens": fixtures.get("notification_tokens", () if token is None else (token,)),
        "extension_uri": fixtures["extension_uri"],
    }
    match case.mode:
        case "hmac":
            return package.StandardWebhooks(secrets=fixtures["hmac_secrets"], **shared)
        case "token":
            return package.TokenOnly(authorizations=fixtures.get("authorizations", ()), **shared)
        case "strict" | "compat":
            proof = package.Strict if case.mode == "strict" else package.Compat
            return proof(issuer=fixtures["issuer"], audience=fixtures["audience"], keys=keys, **shared)
        case mode:
            raise ValueError(f"a case has the mode {mode}")


def _nudges_wanted(case: Case) -> tuple[int, ...]:
    """One where something is accepted, none where it is refused or there is nothing to do; else as it may be."""
    if case.reason == "accepted":
        return (1,)
    is_accepted = isinstance(case.status, int) and 200 <= case.status < 300
    return (0, 1) if is_accepted and case.reason not in NOTHING_TO_DO else (0,)


def as_delivered(case: Case, door: str) -> Case:
    """The case as it is behind the door: a load balancer without multi-value headers passes on last copies only."""
    if door != "alb-single":
        return case
    last = [replace(sent, headers=_last_copies(sent.headers), query=_last_values(sent.query)) for sent in case.requests]
    if all(
        len(new.headers) == len(sent.headers) and new.query == sent.query
        for new, sent in zip(last, case.requests, strict=True)
    ):
        return case
    # So there is nothing to refuse: it must be treated as the request that arrives would be anywhere.
    delivered = replace(case, requests=last)
    outcome = run(delivered, core)
    return replace(delivered, status=outcome.status, reason=outcome.reasons[-1] if outcome.reasons else "")


def _last_copies(headers: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    return list({name.lower(): (name, value) for name, value in headers}.values())


def _last_values(query: str) -> str:
    parts = [part for part in query.split("&") if part]
    return "&".join({part.partition("=")[0]: part for part in parts}.values()) if len(parts) > 1 else query


def core(receiver: Any, sent: Sent) -> tuple[int, bytes]:
    answer = receiver.handle(sent.method, sent.headers, sent.body, now=sent.now, query=sent.query)
    return answer.status, answer.body


def is_right(case: Case, outcome: Outcome) -> bool:
    """Whether the outcome is the one the case asks for.

    400 and 401 are the same refusal; a receiver that does not start answers whatever should not be accepted.
    """
    if case.max_jwks_fetches is not None and outcome.jwks_fetches > case.max_jwks_fetches:
        return False
    if outcome.status == REFUSED_TO_START:
        return not (isinstance(case.status, int) and 200 <= case.status < 300)
    refusals = (400, 401)
    same_status = outcome.status == case.status or (case.status in refusals and outcome.status in refusals)
    return same_status and outcome.nudges_of_last in _nudges_wanted(case)
