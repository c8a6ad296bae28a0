"""The table of states itself, and that nothing gets past it."""

from itertools import product

import pytest

from a2a_serverless.core import lifecycle
from a2a_serverless.core.advance import advance, status
from a2a_serverless.core.head import Rules
from a2a_serverless.core.journal import ArtifactChanged, Restarted, Spoken
from a2a_serverless.errors import IllegalChange
from a2a_serverless.types import Artifact, Part, TaskState
from tests.fakes import START
from tests.unit.core.heads import a_head, a_message

RULES = Rules()
PAIRS = tuple(product(TaskState, TaskState))
LEGAL = tuple((before, after) for before, after in PAIRS if after in lifecycle.TRANSITIONS[before])
ILLEGAL = tuple(pair for pair in PAIRS if pair not in LEGAL)
TERMINAL = sorted(lifecycle.TERMINAL)


def test_every_state_of_the_specification_is_in_the_table() -> None:
    assert set(lifecycle.TRANSITIONS) == set(TaskState)


def test_every_state_is_active_interrupted_or_terminal_and_only_one_of_them() -> None:
    active = {TaskState.SUBMITTED, TaskState.WORKING}

    assert set(TaskState) == active | lifecycle.INTERRUPTED | lifecycle.TERMINAL
    assert len(TaskState) == len(active) + len(lifecycle.INTERRUPTED) + len(lifecycle.TERMINAL)


def test_nothing_leads_out_of_a_terminal_state() -> None:
    assert {state for state in TaskState if not lifecycle.TRANSITIONS[state]} == lifecycle.TERMINAL


def test_nothing_leads_back_to_submitted() -> None:
    assert all(TaskState.SUBMITTED not in following for following in lifecycle.TRANSITIONS.values())


def test_every_state_that_is_not_terminal_can_be_canceled_and_can_fail() -> None:
    alive = set(TaskState) - lifecycle.TERMINAL

    assert all({TaskState.CANCELED, TaskState.FAILED} <= lifecycle.TRANSITIONS[state] for state in alive)


@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_a_legal_change_is_one_version_later_and_has_the_new_state(before: TaskState, after: TaskState) -> None:
    head = a_head(before)

    change = advance(head, status(after, START), rules=RULES, now=START)

    assert change.before == head
    assert (change.after.version, change.after.state, change.after.entries) == (
        head.version + 1,
        after,
        head.entries + 1,
    )


@pytest.mark.parametrize(("before", "after"), ILLEGAL)
def test_an_illegal_change_raises_and_changes_nothing(before: TaskState, after: TaskState) -> None:
    head = a_head(before)
    as_it_was = a_head(before)

    with pytest.raises(IllegalChange):
        advance(head, status(after, START), rules=RULES, now=START)

    assert head == as_it_was


@pytest.mark.parametrize("over", TERMINAL)
@pytest.mark.parametrize(
    "late",
    [
        Spoken(a_message("too late")),
        ArtifactChanged(Artifact(artifact_id="late", parts=(Part(text="too late"),))),
        Restarted(0),
    ],
    ids=["message", "artifact", "restart"],
)
def test_l01_no_entry_of_any_kind_follows_a_terminal_state(
    over: TaskState, late: Spoken | ArtifactChanged | Restarted
) -> None:
    with pytest.raises(IllegalChange, match="nothing may follow"):
        advance(a_head(over), late, rules=RULES, now=START)


def test_of_several_statuses_in_one_change_each_must_be_allowed_to_follow_the_one_before() -> None:
    with pytest.raises(IllegalChange, match="WORKING may not follow COMPLETED"):
        advance(
            a_head(TaskState.WORKING),
            status(TaskState.COMPLETED, START),
            status(TaskState.WORKING, START),
            rules=RULES,
            now=START,
        )


@pytest.mark.parametrize("over", TERMINAL)
def test_the_end_takes_lease_wait_and_token_away_and_starts_the_retention(over: TaskState) -> None:
    held = a_head(TaskState.INPUT_REQUIRED, waiting=True, leased=True).but(wait_token="token")

    after = advance(held, status(over, START), rules=RULES, now=START).after

    assert (after.lease, after.wait, after.wait_token) == (None, None, "")
    assert after.expires_at == START + RULES.retention


def test_l21_a_task_that_has_not_ended_has_no_expiry() -> None:
    after = advance(a_head(TaskState.WORKING), status(TaskState.INPUT_REQUIRED, START), rules=RULES, now=START).after

    assert after.expires_at is None


def test_what_needs_no_entry_can_still_be_written_after_the_end_and_does_not_prolong_it() -> None:
    over = advance(a_head(TaskState.WORKING), status(TaskState.COMPLETED, START), rules=RULES, now=START).after

    after = advance(over, rules=RULES, now=START + RULES.retention, push=("hook",)).after

    assert (after.push, after.status, after.expires_at) == (("hook",), over.status, over.expires_at)
