"""One request, and every verifier that is not ours takes it; one wrong byte, and none does."""

import time
from dataclasses import replace

import pytest

from a2a_receiver import MemoryStore, Nudge, Proof, Receiver, StandardWebhooks, TokenOnly
from a2a_receiver.testing import PushRequest, Sender, standard_webhooks_headers
from tests.receiver.independent import Captured, captured_problems
from tests.receiver.making import AUDIENCE, ISSUER, LONG_TOKEN, SECRET


@pytest.fixture
def now() -> float:
    """This second: the libraries here read the clock themselves."""
    return time.time()


@pytest.fixture(scope="module")
def sender() -> Sender:
    return Sender(issuer=ISSUER, audience=AUDIENCE, token=LONG_TOKEN)


@pytest.fixture(params=["1.0", "0.3"])
def request_of_both(request: pytest.FixtureRequest, sender: Sender, now: float) -> PushRequest:
    """A nudge of either version with every header the kit sends."""
    nudge = sender.nudge("task-1", seq=7, now=now, version=request.param)
    for name, value in standard_webhooks_headers(SECRET, "msg_test", nudge.body, now=now).items():
        nudge = nudge.with_header(name, value)
    return nudge


def captured(request: PushRequest, sender: Sender) -> Captured:
    return Captured(
        url=request.url,
        headers=request.headers,
        body=request.body,
        jwks=sender.key_set(),
        issuer=ISSUER,
        task_id="task-1",
        seq=7,
        whsec=SECRET,
        token=LONG_TOKEN,
    )


def test_every_independent_verifier_takes_one_and_the_same_request(
    request_of_both: PushRequest, sender: Sender, now: float
) -> None:
    assert captured_problems(captured(request_of_both, sender), now=now) == []


def test_every_mode_of_the_receiver_takes_that_request_too(
    request_of_both: PushRequest, sender: Sender, now: float
) -> None:
    proofs: list[Proof] = [
        sender.strict(),
        sender.compat(),
        StandardWebhooks(secrets=[SECRET], notification_tokens=[LONG_TOKEN]),
        TokenOnly(notification_tokens=[LONG_TOKEN]),
    ]
    told: list[tuple[str, int | None]] = []

    def enqueue(nudge: Nudge) -> None:
        told.append((nudge.task_id, nudge.seq))

    statuses = [
        Receiver(proof, enqueue=enqueue, store=MemoryStore()).handle(*request_of_both.parts, now=now).status
        for proof in proofs
    ]

    assert statuses == [202] * 4
    assert told == [("task-1", 7)] * 3 + [("task-1", None)]


def test_no_independent_verifier_of_the_bytes_takes_another_body(
    request_of_both: PushRequest, sender: Sender, now: float
) -> None:
    changed = replace(captured(request_of_both, sender), body=request_of_both.body.replace(b"ctx", b"xxx"))

    assert [problem.partition(":")[0] for problem in captured_problems(changed, now=now)] == [
        "by_the_guide",
        "by_the_retired_samples_rule",
        "by_standardwebhooks",
        "by_svix",
    ]


def test_the_testing_kit_makes_attacks_that_a_receiver_refuses(sender: Sender, now: float) -> None:
    receiver = Receiver(sender.strict(), enqueue=lambda _: None)

    statuses = {
        name: receiver.handle(*attack.parts, now=now).status
        for name, attack in sender.attacks("task-1", now=now).items()
    }

    assert {name: status for name, status in statuses.items() if status not in (400, 401)} == {}
    assert receiver.handle(*sender.nudge("task-1", seq=7, now=now).parts, now=now).status == 202


def test_the_testing_kits_attacks_differ_from_a_right_request_in_nothing_else(sender: Sender, now: float) -> None:
    """Each is refused for what its name says, so a verifier that checks one thing less would let one through."""
    reasons: list[str] = []
    receiver = Receiver(sender.strict(), enqueue=lambda _: None, observe=lambda seen: reasons.append(seen.reason))

    for attack in sender.attacks("task-1", now=now).values():
        receiver.handle(*attack.parts, now=now)

    assert reasons == [
        "body_hash",
        "body_hash",
        "no_signature",
        "signature",
        "duplicate_header",
        "signature",
        "alg_key_mismatch",
        "alg",
        "aud",
        "iss",
        "expired",
        "task_mismatch",
        "msg_mismatch",
        "typ",
    ]
