"""Waits: a question, its answer, its deadline, and that only the one that is open can be ended."""

from datetime import timedelta

import pytest

from a2a_serverless.core.endings import Question
from a2a_serverless.core.head import Rules, TurnTrigger, Wait, WaitKind
from a2a_serverless.core.waits import MOST_REMINDERS, check_question, expire, park, resume
from a2a_serverless.errors import IllegalChange
from a2a_serverless.types import TaskState
from tests.fakes import START
from tests.unit.core.heads import a_head, a_message

RULES = Rules(longest_wait=timedelta(days=30))
HOUR = timedelta(hours=1)


def question(within: timedelta = HOUR * 10, *remind: timedelta, kind: WaitKind = WaitKind.INPUT) -> Question:
    return Question(kind=kind, message=a_message("well?"), within=within, remind=remind)


@pytest.mark.parametrize(
    ("kind", "state"), [(WaitKind.INPUT, TaskState.INPUT_REQUIRED), (WaitKind.AUTH, TaskState.AUTH_REQUIRED)]
)
def test_a_question_parks_its_task_with_a_deadline_and_reminders(kind: WaitKind, state: TaskState) -> None:
    head = a_head(leased=True)

    after = park(head, question(HOUR * 10, HOUR, HOUR * 2, kind=kind), memory={}, rules=RULES, now=START).after

    assert after.wait == Wait(number=1, kind=kind, since=START, until=START + HOUR * 10, remind=(HOUR, HOUR * 2))
    assert (after.state, after.waits, after.lease, after.read_to) == (state, 1, None, head.shown_to)
    assert after.turn_due == head.turn_due


@pytest.mark.parametrize(
    "wrong",
    [
        question(timedelta(0)),
        question(-HOUR),
        question(timedelta(days=31)),
        question(HOUR, HOUR),
        question(HOUR, HOUR * 2),
        question(HOUR * 3, timedelta(0)),
        question(HOUR * 3, HOUR * 2, HOUR),
        question(HOUR * 3, HOUR, HOUR),
    ],
)
def test_a_wait_that_cannot_be_held_is_refused(wrong: Question) -> None:
    with pytest.raises(ValueError, match=r"within|remind"):
        check_question(wrong, RULES)


def test_a_wait_that_is_longer_than_tasks_are_kept_is_refused() -> None:
    """A deployment refuses such times; whoever changes them behind its back is told by the first question."""
    short = Rules(longest_wait=timedelta(days=30), retention=timedelta(days=7))

    with pytest.raises(ValueError, match="at most 7 days"):
        check_question(question(timedelta(days=8)), short)
    check_question(question(timedelta(days=7)), short)


def test_more_reminders_than_a_wait_can_hold_are_refused_in_words() -> None:
    too_many = [timedelta(minutes=minute) for minute in range(1, MOST_REMINDERS + 2)]

    with pytest.raises(ValueError, match="remind may have at most 99 times, and has 100"):
        check_question(question(HOUR * 3, *too_many), RULES)
    check_question(question(HOUR * 3, *too_many[1:]), RULES)


@pytest.mark.parametrize("right", [question(), question(timedelta(days=30)), question(HOUR * 3, HOUR, HOUR * 2)])
def test_a_wait_that_can_be_held_is_not(right: Question) -> None:
    check_question(right, RULES)


def test_an_end_from_outside_gives_the_next_turn_what_arrived_and_says_why_it_runs() -> None:
    head = a_head(TaskState.AUTH_REQUIRED, waiting=True).but(wait_token="token")
    posted = a_message("approved")

    after = resume(head, 1, TurnTrigger.CALLBACK, message=posted, rules=RULES, now=START).after

    assert (after.wait, after.wait_token, after.state) == (None, "", TaskState.WORKING)
    assert (after.turn_due, after.trigger) == (head.turn + 1, TurnTrigger.CALLBACK)
    assert (after.spoken_to, after.shown_to, after.entries) == (head.entries + 1, head.entries + 2, head.entries + 2)


@pytest.mark.parametrize("number", [0, 2])
def test_only_the_wait_that_is_open_can_be_ended(number: int) -> None:
    head = a_head(TaskState.INPUT_REQUIRED, waiting=True)

    with pytest.raises(IllegalChange):
        resume(head, number, TurnTrigger.CALLBACK, rules=RULES, now=START)
    with pytest.raises(IllegalChange):
        expire(head, number, message_id="m", rules=RULES, now=START)


def test_a_task_that_does_not_wait_cannot_be_resumed_or_expired() -> None:
    with pytest.raises(IllegalChange):
        resume(a_head(), 1, TurnTrigger.CALLBACK, rules=RULES, now=START)
    with pytest.raises(IllegalChange):
        expire(a_head(), 1, message_id="m", rules=RULES, now=START)
