"""What an attempt means."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.core.delivery_outcome import (
    Abort,
    Answer,
    Cause,
    Delivered,
    Disable,
    DisableReason,
    Fault,
    NoAnswer,
    ResendAsJson,
    Retry,
    Verdict,
    classify,
    speaks_ill,
)

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
MINUTE = dt.timedelta(seconds=60)


def _verdict(answer: Answer, *, plain_json: bool = False) -> Verdict:
    return classify(answer, plain_json=plain_json, now=NOW)


@given(st.integers(200, 299))
def test_every_2xx_is_delivered(status: int) -> None:
    assert _verdict(Answer(status=status)) == Delivered()


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (0, Cause.PROTOCOL),
        (101, Cause.PROTOCOL),
        (199, Cause.PROTOCOL),
        (300, Cause.MOVED),
        (302, Cause.MOVED),
        (304, Cause.MOVED),
        (400, Cause.REJECTED),
        (401, Cause.REFUSED),
        (403, Cause.REFUSED),
        (404, Cause.REFUSED),
        (405, Cause.REJECTED),
        (409, Cause.REJECTED),
        (413, Cause.TOO_LARGE),
        (418, Cause.REJECTED),
        (500, Cause.SERVER_ERROR),
        (501, Cause.SERVER_ERROR),
        (502, Cause.GATEWAY),
        (503, Cause.THROTTLED),
        (504, Cause.GATEWAY),
        (599, Cause.SERVER_ERROR),
        (600, Cause.PROTOCOL),
        (999, Cause.PROTOCOL),
    ],
)
def test_a_failure_has_its_cause_and_is_tried_again(status: int, cause: Cause) -> None:
    assert _verdict(Answer(status=status)) == Retry(cause)


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.BLOCKED_ADDRESS])
def test_no_answer_is_tried_again(fault: Fault) -> None:
    assert classify(NoAnswer(fault), plain_json=False, now=NOW) == Retry(Cause(fault.value))


def test_a_blocked_address_ends_the_config() -> None:
    verdict = classify(NoAnswer(Fault.BLOCKED_ADDRESS), plain_json=False, now=NOW)

    assert verdict == Disable(reason=DisableReason.BLOCKED_ADDRESS)


def test_410_ends_the_config() -> None:
    assert _verdict(Answer(status=410)) == Disable(reason=DisableReason.GONE)


def test_415_is_answered_in_plain_json_once() -> None:
    assert _verdict(Answer(status=415)) == ResendAsJson()
    assert _verdict(Answer(status=415), plain_json=True) == Retry(Cause.REJECTED)


@pytest.mark.parametrize(
    ("status", "header", "hint"),
    [
        (429, "120", 2 * MINUTE),
        (429, "5", MINUTE / 12),
        (429, None, MINUTE),
        (429, "soon", MINUTE),
        (503, "120", 2 * MINUTE),
        (503, None, None),
        (503, "soon", None),
    ],
)
def test_a_throttle_holds_the_message_and_the_endpoint(
    status: int, header: str | None, hint: dt.timedelta | None
) -> None:
    verdict = _verdict(Answer(status=status, retry_after=header))

    assert verdict == Retry(Cause.THROTTLED, hint)
    assert isinstance(verdict, Retry)
    assert verdict.throttle == hint


def test_a_pause_asked_for_by_another_status_holds_the_message_alone() -> None:
    verdict = _verdict(Answer(status=500, retry_after="120"))

    assert verdict == Retry(Cause.SERVER_ERROR, 2 * MINUTE)
    assert isinstance(verdict, Retry)
    assert verdict.throttle is None


@pytest.mark.parametrize(
    ("status", "control", "verdict"),
    [
        (500, "abort-message", Abort()),
        (404, " Abort-Message ", Abort()),
        (200, "abort-message", Delivered()),
        (500, "disable", Disable(reason=DisableReason.ASKED)),
        (200, "disable", Disable(reason=DisableReason.ASKED, delivered=True)),
        (500, "please stop", Retry(Cause.SERVER_ERROR)),
        (500, "", Retry(Cause.SERVER_ERROR)),
        (410, "abort-message", Disable(reason=DisableReason.GONE)),
    ],
)
def test_the_receiver_may_steer(status: int, control: str, verdict: Verdict) -> None:
    assert _verdict(Answer(status=status, control=control)) == verdict


@pytest.mark.parametrize(
    ("status", "ill"), [(200, False), (302, False), (401, False), (410, False), (415, False), (429, True), (500, True)]
)
def test_only_trouble_of_the_whole_endpoint_speaks_against_it(status: int, ill: bool) -> None:
    assert speaks_ill(Answer(status=status)) is ill


def test_silence_speaks_against_an_endpoint_and_our_own_refusal_does_not() -> None:
    assert speaks_ill(NoAnswer(Fault.TIMEOUT)) is True
    assert speaks_ill(NoAnswer(Fault.BLOCKED_ADDRESS)) is None


def test_no_answer_says_in_words_why_for_who_reads_the_record_of_the_exchange() -> None:
    told = [str(NoAnswer(Fault.CONNECT, "connection refused")), str(NoAnswer(Fault.TIMEOUT))]

    assert told == ["connect: connection refused", "timeout"]
