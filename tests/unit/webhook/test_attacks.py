"""The sender's attack vectors: each input meets the product where an attacker would, and has its right outcome.

`WEBHOOK_ATTACKS=FILE` runs another file of the same format. Responses are sent by real servers on loopback.
"""

import datetime as dt
from collections.abc import Callable
from ipaddress import IPv6Network, ip_address
from typing import Any, Final

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
from a2a_serverless.webhook.exchange import Exchange, Request
from a2a_serverless.webhook.http1 import BODY_LIMIT
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.url import check_url
from tests.attack_format import (
    FIXTURES,
    GIVEN_UP,
    OWN,
    READ_AT_MOST,
    RESOLVED,
    SAMPLE,
    SENT_AS,
    Vector,
    attack_files,
    vectors,
)
from tests.unit.webhook.attack_partners import body_of, exchanged, is_bomb
from tests.unit.webhook.loopback import NAME, Authority, Network, answering, post, receiver

NOW = dt.datetime.fromtimestamp(FIXTURES["now"], dt.UTC)
POLICY = WebhookPolicy(own_hosts=frozenset({FIXTURES["issuer"].removeprefix("https://")}))

_REGISTRIES: Final = tuple(
    IPv6Network(block) for block in ("2400::/12", "2600::/12", "2800::/12", "2a00::/12", "2c00::/12", "2001:4860::/32")
)
"""Blocks in which the registries assign public IPv6 addresses; AS112's is in one of them, and nobody's receiver."""
_AS112: Final = IPv6Network("2620:4f:8000::/48")


def _vectors(op: str, *, with_our_words: bool = False) -> list[Any]:
    files = [path for path in attack_files() if path in (SAMPLE, OWN)] if with_our_words else attack_files()
    return [pytest.param(vector, id=vector["id"]) for vector in vectors("sender", *files, op=op)]


@pytest.mark.parametrize("vector", _vectors("register"))
def test_a_registration_is_taken_or_refused(vector: Vector) -> None:
    refused = _refusal(vector["input"])

    assert ("reject" if refused else "accept") == vector["expected"]["result"], (refused, vector.get("why"))


@pytest.mark.parametrize("vector", _vectors("register", with_our_words=True))
def test_a_refusal_is_for_the_reason_it_names(vector: Vector) -> None:
    """Reasons are labels; they are held for the files that use ours."""
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
    given, expected = vector["input"], vector["expected"]
    answers = _resolutions(given)
    ipv6 = expected["result"].startswith("dial:") and any(":" in address for address in answers[0])
    with receiver(answering(b"HTTP/1.1 202 Accepted\r\n\r\n"), tls=authority.context()) as partner:
        network = Network(partner.port, answers=[each or OSError("no such name") for each in answers])
        dialler = network.dialler(cafile=authority.cafile, policy=WebhookPolicy(allow_ipv6=ipv6))
        outcome = _delivery(given["url"], dialler.send, network)

    assert outcome == expected["result"], vector.get("why")
    counted = [count for name, count in expected.items() if RESOLVED.search(name)]
    assert [len(network.resolved)] == (counted or [0 if _is_refused(given["url"]) else 1])


def _resolutions(given: Vector) -> list[list[str]]:
    """What each resolution answers: one list, or several for a name that changes its mind."""
    several = [value for name, value in given.items() if name not in ("op", "url")]
    return [answer for value in several for answer in (value if value and isinstance(value[0], list) else [value])]


def _blocked_with_ipv6_too(vector: Vector) -> bool:
    return vector["expected"]["result"] == "blocked" and not all(map(_is_assigned, _resolutions(vector["input"])[0]))


def _is_assigned(address: str) -> bool:
    """Whether it is blocked, if it is, for being an IPv6 address where they are switched off."""
    parsed = ip_address(address)
    is_public = parsed.version == 6 and any(parsed in block for block in _REGISTRIES)
    return is_public and parsed not in _AS112 and ":5efe:" not in str(parsed)


@pytest.mark.parametrize("vector", [each for each in _vectors("deliver") if _blocked_with_ipv6_too(each.values[0])])
def test_what_is_blocked_stays_blocked_with_ipv6(vector: Vector) -> None:
    answers = _resolutions(vector["input"])[0]
    network = Network(1, answers=[answers or OSError("no such name")])
    send = network.dialler(policy=WebhookPolicy(allow_ipv6=True)).send

    assert _delivery(vector["input"]["url"], send, network) == "blocked"


def _is_refused(url: str) -> bool:
    return isinstance(check_url(url, POLICY), Refused)


def _delivery(url: str, send: Callable[[Request], Exchange], network: Network) -> str:
    """What became of a delivery, in the words of the format."""
    if _is_refused(url):
        return "blocked"
    exchange = send(post(url))
    if network.dialled:
        return f"dial:{ip_address(network.dialled[0][0])}"
    assert isinstance(exchange.outcome, NoAnswer)
    return {Fault.BLOCKED_ADDRESS: "blocked", Fault.DNS: "retry:dns"}.get(exchange.outcome.fault, str(exchange.outcome))


@pytest.mark.parametrize("vector", _vectors("attempt"))
def test_an_attempt_has_its_verdict(vector: Vector, authority: Authority) -> None:
    given, expected = vector["input"], vector["expected"]
    exchange, requests = exchanged(given["response"], authority)
    claimed = _claimed(given)
    after = after_attempt(claimed, exchange.outcome, now=NOW, jitter=1.0)

    assert _verdict(after.verdict, after.step) in _same(expected["verdict"]), vector.get("why")
    if expected.get("delay_s") is not None:
        assert isinstance(after.step, RetryAt)
        assert (after.step.at - NOW).total_seconds() == expected["delay_s"]
    assert len(requests) <= 1, "a redirect was followed, or the request sent twice"
    limits = [limit for name, limit in expected.items() if READ_AT_MOST.search(name)]
    assert len(exchange.body) <= min([BODY_LIMIT, *limits])
    if is_bomb(body := given["response"].get("body")):
        assert exchange.body == body_of(body)[: len(exchange.body)]


def _claimed(given: Vector) -> DeliveryState:
    """The state of a config whose nudge is at this attempt. `attempt` counts from 0."""
    made = given["attempt"] + 1
    nudge = PendingNudge(seq=7, message_id="msg_1", since=NOW, next_at=NOW, attempts=made, spent=made)
    sent_plain = "application/json" in [given.get(name) for name in SENT_AS]
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
    return {verdict} | ({"exhausted"} if verdict in GIVEN_UP else set())


def test_the_test_itself_would_see_a_wrong_verdict(authority: Authority) -> None:
    exchange, requests = exchanged({"status": 500}, authority)

    assert exchange.outcome == Answer(status=500)
    assert len(requests) == 1
    assert NAME.encode() in requests[0]
