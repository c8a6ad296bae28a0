"""The sender's attack vectors: each input meets the product where an attacker would, and has its right outcome.

`WEBHOOK_ATTACKS=FILE` runs another file of the same format. Responses are sent by real servers on loopback.
"""

import datetime as dt
import gzip
import json
import os
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from a2a_serverless.core.delivery import after_attempt
from a2a_serverless.core.delivery_outcome import (
    Abort,
    Answer,
    Cause,
    Delivered,
    Disable,
    Fault,
    NoAnswer,
    ResendAsJson,
    Retry,
    Verdict,
)
from a2a_serverless.core.delivery_state import DeliveryState, GiveUp, NextStep, PendingNudge, RetryAt
from a2a_serverless.core.registration import Refused, check_authentication, check_token
from a2a_serverless.webhook.exchange import Exchange
from a2a_serverless.webhook.http1 import BODY_LIMIT
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.url import check_url
from tests.unit.webhook.loopback import (
    IMPATIENCE,
    NAME,
    PATIENCE,
    PUBLIC,
    STRICT,
    Authority,
    Guest,
    Handler,
    Network,
    answering,
    post,
    receiver,
)

DATA = Path(__file__).parents[2] / "data" / "webhooks"
SAMPLE = DATA / "webhook-attacks.json"
CHOSEN = Path(os.environ.get("WEBHOOK_ATTACKS") or SAMPLE)
FIXTURES = json.loads((DATA / "webhook-attack-fixtures.json").read_text(encoding="utf-8"))
NOW = dt.datetime.fromtimestamp(FIXTURES["now"], dt.UTC)
POLICY = WebhookPolicy(own_hosts=frozenset({FIXTURES["issuer"].removeprefix("https://")}))

Vector = dict[str, Any]


def _vectors(op: str) -> list[Any]:
    every = json.loads(CHOSEN.read_text(encoding="utf-8"))
    ours = [vector for vector in every if vector["side"] == "sender" and vector["input"]["op"] == op]
    return [pytest.param(vector, id=vector["id"]) for vector in ours]


@pytest.mark.parametrize("vector", _vectors("register"))
def test_a_registration_is_taken_or_refused(vector: Vector) -> None:
    refused = _refusal(vector["input"])

    assert ("reject" if refused else "accept") == vector["expected"]["result"], (refused, vector["why"])


@pytest.mark.skipif(CHOSEN != SAMPLE, reason="reasons are labels; they are held for the sample alone")
@pytest.mark.parametrize("vector", _vectors("register"))
def test_a_refusal_of_the_sample_is_for_the_reason_it_names(vector: Vector) -> None:
    refused = _refusal(vector["input"])

    assert (refused.reason if refused else "accept") == vector["expected"]["reason"]


def _refusal(given: Vector) -> Refused | None:
    checks = (
        check_url(given["url"], POLICY),
        check_authentication(given.get("scheme"), given.get("credentials")),
        check_token(given.get("token")),
    )
    return next((check for check in checks if isinstance(check, Refused)), None)


@pytest.mark.parametrize("vector", _vectors("deliver"))
def test_only_a_judged_address_is_dialled(vector: Vector, authority: Authority) -> None:
    given, wanted = vector["input"], vector["expected"]["result"]
    answers = _resolutions(given)
    ipv6 = wanted.startswith("dial:") and any(":" in address for address in answers[0])
    with receiver(answering(b"HTTP/1.1 202 Accepted\r\n\r\n"), tls=authority.context()) as partner:
        network = Network(partner.port, answers=[each or OSError("no such name") for each in answers])
        dialler = network.dialler(cafile=authority.cafile, policy=WebhookPolicy(allow_ipv6=ipv6))
        exchange = dialler.send(post(given["url"]))

    assert _dialled(exchange, network) == wanted, vector["why"]
    assert len(network.resolved) == 1


@pytest.mark.parametrize("vector", _vectors("deliver"))
def test_what_is_blocked_stays_blocked_with_ipv6(vector: Vector) -> None:
    answers = _resolutions(vector["input"])[0]
    network = Network(1, answers=[answers or OSError("no such name")])
    exchange = network.dialler(policy=WebhookPolicy(allow_ipv6=True)).send(post(vector["input"]["url"]))

    if vector["expected"]["result"] == "blocked":
        assert _dialled(exchange, network) == "blocked"


def _resolutions(given: Vector) -> list[list[str]]:
    """What each resolution answers: one list, or several for a name that changes its mind."""
    several = [value for name, value in given.items() if name.startswith("dns")]
    return [answer for value in several for answer in (value if value and isinstance(value[0], list) else [value])]


def _dialled(exchange: Exchange, network: Network) -> str:
    if network.dialled:
        return f"dial:{ip_address(network.dialled[0][0])}"
    assert isinstance(exchange.outcome, NoAnswer)
    return {Fault.BLOCKED_ADDRESS: "blocked", Fault.DNS: "retry:dns"}[exchange.outcome.fault]


@pytest.mark.parametrize("vector", _vectors("attempt"))
def test_an_attempt_has_its_verdict(vector: Vector, authority: Authority) -> None:
    given, expected = vector["input"], vector["expected"]
    exchange, requests = _exchanged(given["response"], authority)
    claimed = _claimed(given)
    after = after_attempt(claimed, exchange.outcome, now=NOW, jitter=1.0)

    assert _verdict(after.verdict, after.step) in _same(expected["verdict"]), vector["why"]
    if "delay_s" in expected:
        assert isinstance(after.step, RetryAt)
        assert (after.step.at - NOW).total_seconds() == expected["delay_s"]
    assert len(requests) <= 1, "a redirect was followed, or the request sent twice"
    assert len(exchange.body) <= BODY_LIMIT
    if given["response"].get("body") == "gzip bomb":
        assert exchange.body == _body("gzip bomb")[: len(exchange.body)]


def _claimed(given: Vector) -> DeliveryState:
    """The state of a config whose nudge is at this attempt. `attempt` counts from 0."""
    made = given["attempt"] + 1
    nudge = PendingNudge(seq=7, message_id="msg_1", since=NOW, next_at=NOW, attempts=made, spent=made)
    sent_plain = "application/json" in [value for value in given.values() if isinstance(value, str)]
    return DeliveryState(generation=made, pending=nudge, claimed_until=NOW, plain_json=sent_plain)


def _verdict(verdict: Verdict, step: NextStep) -> str:
    if isinstance(step, GiveUp):
        return "exhausted"
    match verdict:
        case Delivered():
            return "delivered"
        case Retry(cause=Cause.THROTTLED):
            return "retry_throttle"
        case Retry():
            return "retry"
        case ResendAsJson():
            return "retry_other_content_type"
        case Abort():
            return "aborted"
        case Disable():
            return "config_disabled"


def _same(verdict: str) -> set[str]:
    """The words a file may use for giving a nudge up."""
    given_up = {"exhausted", "dead_letter", "dlq", "give_up", "gave_up", "failed"}
    return {verdict} | ({"exhausted"} if verdict in given_up else set())


def _exchanged(response: Vector, authority: Authority) -> tuple[Exchange, list[bytes]]:
    """One exchange with a partner who behaves as the vector says, and the requests he saw."""
    error = response.get("error")
    handler = _HANDLERS.get(error, _hang_up) if error else _answers(response)
    tls = _CONTEXTS[error](authority) if error in _CONTEXTS else authority.context()
    with receiver(handler, tls=tls) as partner:
        network = Network(partner.port, answers=[_ANSWERS.get(error or "", [PUBLIC])])
        network.dead = frozenset({PUBLIC} if error in _DEAD else ())
        limits = IMPATIENCE if error in _SLOW else PATIENCE
        exchange = network.dialler(cafile=authority.cafile, policy=STRICT, limits=limits).send(post())
    return exchange, partner.requests


def _answers(response: Vector) -> Handler:
    given = response.get("headers") or {}
    headers = list(given.items()) if isinstance(given, dict) else [tuple(pair) for pair in given]
    body = _body(response.get("body"))
    lines = [f"HTTP/1.1 {response['status']} X", *(f"{name}: {value}" for name, value in headers)]
    lines.append(f"Content-Length: {5 * 2**30 if _is_huge(response.get('body')) else len(body)}")

    def handle(guest: Guest) -> None:
        guest.request()
        guest.say("\r\n".join((*lines, "", "")).encode("latin-1"))
        for _ in range(5 * 1024 if _is_huge(response.get("body")) else 1):
            guest.say(body)
        guest.request()

    return handle


def _is_huge(body: object) -> bool:
    return isinstance(body, str) and "GB" in body.upper()


def _body(body: object) -> bytes:
    """The body a vector names: a bomb, more than fits, or the very text."""
    if body == "gzip bomb":
        return gzip.compress(b"\0" * 10_000_000, mtime=0)
    return b"x" * 2**20 if _is_huge(body) else str(body or "").encode()


def _say_nothing(guest: Guest) -> None:
    guest.request()
    guest.stay()


def _hang_up(guest: Guest) -> None:
    guest.request()


def _flood(guest: Guest) -> None:
    guest.request()
    guest.say(b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000)


def _overflow(guest: Guest) -> None:
    guest.request()
    guest.say(b"HTTP/1.1 200 OK\r\n" + b"X-Padding: " + b"x" * 40_000 + b"\r\nContent-Length: 0\r\n\r\n")


def _drip(guest: Guest) -> None:
    guest.request()
    guest.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Padding: 1\r\n" * 1000)


_HANDLERS: dict[str, Handler] = {
    "timeout": _say_nothing,
    "informational_flood": _flood,
    "header_overflow": _overflow,
    "slow_headers": _drip,
    "slow_drip": _drip,
    "slowloris": _drip,
}
_SLOW = frozenset({"timeout", "slow_headers", "slow_drip", "slowloris"})
_CONTEXTS: dict[str, Callable[[Authority], ssl.SSLContext]] = {
    "tls_self_signed": lambda authority: authority.context(self_signed=True),
    "tls_expired": lambda authority: authority.context(days=-2),
    "tls_hostname": lambda authority: authority.context("other.example.com"),
    "tls_name": lambda authority: authority.context("other.example.com"),
    "tls_wrong_host": lambda authority: authority.context("other.example.com"),
    "tls_version": Authority.old_context,
}
_ANSWERS: dict[str, Any] = {
    "blocked_address": ["169.254.169.254"],
    "dns": OSError("no such name"),
    "nxdomain": OSError("no such name"),
}
_DEAD = frozenset({"connect", "refused", "connect_refused", "connection_refused"})


def test_the_test_itself_would_see_a_wrong_verdict(authority: Authority) -> None:
    exchange, requests = _exchanged({"status": 500}, authority)

    assert exchange.outcome == Answer(status=500)
    assert len(requests) == 1
    assert NAME.encode() in requests[0]
