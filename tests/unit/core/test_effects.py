"""What follows from a change, read off its two images; the machine checks the rest at every commit."""

import pytest

from a2a_serverless.core.advance import advance
from a2a_serverless.core.cancels import cancel
from a2a_serverless.core.due import DUE_AFTER, due_at, is_due_anew
from a2a_serverless.core.effects import EndWait, NoticeCancel, Nudge, RunTurn, StartWait, effects
from a2a_serverless.core.head import Head, Lease, Rules
from a2a_serverless.types import TaskState
from tests.fakes import START
from tests.unit.core.heads import KEY, a_head, a_wait

RULES = Rules()
WAITING = a_head(TaskState.INPUT_REQUIRED, waiting=True).but(push=("a", "b"), nudge_seq=7)


def test_a_new_task_asks_for_its_turn_and_tells_nobody_yet() -> None:
    new = Head(
        key=KEY,
        context_id="c",
        caller=WAITING.caller,
        status=WAITING.status.but(state=TaskState.SUBMITTED),
        created_at=START,
        version=1,
        turn_due=1,
        push=("a",),
    )

    assert effects(None, new) == (RunTurn(KEY, 1),)


def test_a_change_relayed_with_the_same_image_twice_asks_for_nothing() -> None:
    assert effects(WAITING, WAITING) == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"lease": Lease(START)},
        {"wait_token": "token"},
        {"memory": {"k": 1}},
        {"entries": 9, "spoken_to": 9},
        {"expires_at": START},
    ],
    ids=["lease", "token", "memory", "message", "expiry"],
)
def test_what_means_nothing_to_a_partner_or_a_hop_causes_nothing(changes: dict[str, object]) -> None:
    assert effects(WAITING, WAITING.but(version=8, **changes)) == ()


def test_news_goes_to_every_webhook_with_its_number() -> None:
    assert effects(WAITING, WAITING.but(version=8, nudge_seq=8)) == (Nudge(KEY, "a", 8), Nudge(KEY, "b", 8))


def test_a_webhook_that_was_added_hears_where_the_task_stands_and_the_others_hear_nothing() -> None:
    assert effects(WAITING, WAITING.but(version=8, push=("a", "b", "c"))) == (Nudge(KEY, "c", 7),)


def test_a_webhook_that_was_taken_away_hears_nothing_of_it() -> None:
    assert effects(WAITING, WAITING.but(version=8, push=("a",))) == ()


def test_an_answered_wait_is_let_go_by_the_token_it_had_then() -> None:
    held = WAITING.but(wait_token="token", push=())
    after = held.but(version=8, wait=None, wait_token="", turn_due=2)

    assert effects(held, after) == (RunTurn(KEY, 2), EndWait(KEY, 1, "token"))


def test_a_wait_that_replaces_another_lets_go_of_the_old_and_holds_the_new() -> None:
    held = WAITING.but(wait_token="token", push=())

    assert effects(held, held.but(version=8, wait=a_wait(2), wait_token="")) == (
        EndWait(KEY, 1, "token"),
        StartWait(KEY, a_wait(2)),
    )


def test_a_cancel_is_told_once_however_often_its_change_is_followed() -> None:
    alive = a_head(TaskState.WORKING, leased=True)
    canceled = cancel(alive, rules=RULES, now=START).after
    config_added = advance(canceled, rules=RULES, now=START, push=("a",)).after

    assert effects(alive, canceled) == (NoticeCancel(KEY),)
    assert effects(canceled, config_added) == (Nudge(KEY, "a", canceled.nudge_seq),)


# The index of the sweep


def test_a_task_is_looked_at_a_minute_after_its_status_changed() -> None:
    assert due_at(WAITING) == START + DUE_AFTER


def test_an_ended_task_is_looked_at_if_there_is_somebody_to_be_told() -> None:
    over = a_head(TaskState.COMPLETED)

    assert due_at(over) is None
    assert due_at(over.but(push=("a",))) == START + DUE_AFTER


@pytest.mark.parametrize(
    ("changes", "anew"),
    [
        ({"wait": None}, True),
        ({"status": a_head(TaskState.FAILED).status}, True),
        ({"push": ("a",)}, True),
        ({"nudge_seq": 8}, True),
        ({"nudge_seq": 8, "entries": 9}, False),
        ({"lease": Lease(START)}, False),
        ({"wait_token": "token"}, False),
    ],
)
def test_only_what_begins_something_costs_the_index_a_write(changes: dict[str, object], anew: bool) -> None:
    assert is_due_anew(WAITING, WAITING.but(version=8, **changes)) is anew
