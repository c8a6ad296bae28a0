"""Turns: who may run one, when, and what a runner may still write."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from a2a_serverless.core.endings import Ended, Question
from a2a_serverless.core.head import Head, Lease, Rules, TurnTrigger, WaitKind
from a2a_serverless.core.journal import ArtifactChanged, Restarted, Spoken
from a2a_serverless.core.turns import (
    Begun,
    Exhausted,
    Held,
    NothingToDo,
    begin,
    check_fence,
    end,
    extend,
    progress,
)
from a2a_serverless.errors import IllegalChange, LeaseLost
from a2a_serverless.types import Artifact, Part, TaskState
from tests.fakes import START
from tests.unit.core.heads import a_head, a_message

RULES = Rules()
CHUNK = ArtifactChanged(Artifact(artifact_id="a", parts=(Part(text="1"),)))
QUESTION = Question(kind=WaitKind.INPUT, message=a_message("well?"), within=timedelta(days=1))


def due(head: Head | None = None) -> Head:
    """A task whose second turn is due."""
    return (head or a_head()).but(turn_due=2)


def begun(head: Head, *, after: timedelta = timedelta(0), turn: int = 2) -> Head:
    beginning = begin(head, turn, message_id="m", rules=RULES, now=START + after)
    assert isinstance(beginning, Begun)
    return beginning.change.after


def test_a_turn_that_is_due_begins_with_a_new_fence_and_a_lease() -> None:
    head = due()

    after = begun(head)

    assert (after.turn, after.attempt, after.fence) == (2, 1, head.fence + 1)
    assert after.lease == Lease(START + RULES.lease)
    assert (after.turn_from, after.shown_to) == (head.entries, head.entries)


@pytest.mark.parametrize("turn", [0, 1, 3, 99])
def test_a_turn_that_is_not_due_does_not_run(turn: int) -> None:
    assert begin(due(), turn, message_id="m", rules=RULES, now=START) == NothingToDo()


@pytest.mark.parametrize("over", [TaskState.COMPLETED, TaskState.CANCELED])
def test_nothing_runs_after_the_end(over: TaskState) -> None:
    assert begin(due(a_head(over)), 2, message_id="m", rules=RULES, now=START) == NothingToDo()


def test_nothing_runs_while_a_task_waits() -> None:
    head = a_head(TaskState.INPUT_REQUIRED, waiting=True)

    assert begin(head, head.turn_due, message_id="m", rules=RULES, now=START) == NothingToDo()


def test_a_turn_that_was_ended_does_not_run_again() -> None:
    assert begin(a_head(), 1, message_id="m", rules=RULES, now=START) == NothingToDo()


def test_a_task_that_is_held_is_held_until_its_lease_is_over_and_not_a_moment_longer() -> None:
    head = begun(due())
    last_moment = RULES.lease - timedelta(milliseconds=1)

    assert begin(head, 2, message_id="m", rules=RULES, now=START + last_moment) == Held(START + RULES.lease)
    assert begun(head, after=RULES.lease).attempt == 2


def test_attempts_are_counted_and_the_last_one_too_many_ends_the_task() -> None:
    head = due()
    for number in range(1, RULES.attempts + 1):
        head = begun(head, after=RULES.lease * number)
        assert head.attempt == number

    exhausted = begin(head, 2, message_id="m", rules=RULES, now=START + RULES.lease * 9)

    assert isinstance(exhausted, Exhausted)
    assert exhausted.change is not None
    after = exhausted.change.after
    assert (after.state, after.lease) == (TaskState.FAILED, None)


def test_a_dead_attempt_that_wrote_nothing_leaves_nothing_to_take_back() -> None:
    head = begun(due())

    beginning = begin(head, 2, message_id="m", rules=RULES, now=START + RULES.lease)

    assert isinstance(beginning, Begun)
    assert beginning.change.entries == ()


def test_a_dead_attempt_that_wrote_something_is_taken_back_by_each_attempt_after_it() -> None:
    first = begun(due())
    wrote = progress(first, first.fence, CHUNK, rules=RULES, now=START).after

    beginning = begin(wrote, 2, message_id="m", rules=RULES, now=START + RULES.lease)

    assert isinstance(beginning, Begun)
    assert beginning.change.entries == (Restarted(first.entries),)
    assert beginning.change.after.turn_from == first.turn_from


@pytest.mark.parametrize("fence", [0, 1, 3])
def test_a_runner_with_another_fence_writes_nothing(fence: int) -> None:
    head = begun(due())

    writes: tuple[Callable[[], object], ...] = (
        lambda: extend(head, fence, rules=RULES, now=START),
        lambda: progress(head, fence, CHUNK, rules=RULES, now=START),
        lambda: end(head, fence, Ended(TaskState.COMPLETED), memory={}, rules=RULES, now=START),
        lambda: end(head, fence, QUESTION, memory={}, rules=RULES, now=START),
    )

    for write in writes:
        with pytest.raises(LeaseLost):
            write()


def test_a_runner_whose_task_ended_or_waits_writes_nothing_even_with_its_own_fence() -> None:
    head = begun(due())
    ended = end(head, head.fence, Ended(TaskState.COMPLETED), memory={}, rules=RULES, now=START).after
    parked = end(head, head.fence, QUESTION, memory={}, rules=RULES, now=START).after

    for gone in (ended, parked):
        with pytest.raises(LeaseLost):
            check_fence(gone, head.fence)


def test_a_runner_whose_lease_is_over_may_still_write_as_long_as_nobody_took_over() -> None:
    head = begun(due())

    after = progress(head, head.fence, CHUNK, rules=RULES, now=START + RULES.lease * 2).after

    assert after.lease == Lease(START + RULES.lease * 3)


def test_every_write_of_a_runner_is_a_sign_of_life() -> None:
    head = begun(due())
    later = START + timedelta(seconds=20)

    assert extend(head, head.fence, rules=RULES, now=later).after.lease == Lease(later + RULES.lease)
    assert progress(head, head.fence, CHUNK, rules=RULES, now=later).after.lease == Lease(later + RULES.lease)


def test_a_heartbeat_is_no_news_and_a_chunk_in_the_middle_is_none_either() -> None:
    head = begun(due())
    middle = ArtifactChanged(CHUNK.artifact, append=True)

    assert extend(head, head.fence, rules=RULES, now=START).after.nudge_seq == head.nudge_seq
    assert progress(head, head.fence, middle, rules=RULES, now=START).after.nudge_seq == head.nudge_seq


@pytest.mark.parametrize("news", [CHUNK, ArtifactChanged(CHUNK.artifact, append=True, last_chunk=True)])
def test_a_finished_result_is_news(news: ArtifactChanged) -> None:
    head = begun(due())

    after = progress(head, head.fence, news, rules=RULES, now=START).after

    assert after.nudge_seq == after.version


def test_words_and_end_are_one_change_of_one_version() -> None:
    head = begun(due())

    change = end(head, head.fence, Ended(TaskState.COMPLETED), CHUNK, memory={"k": 1}, rules=RULES, now=START)

    assert (change.before, change.after.version) == (head, head.version + 1)
    assert (change.entries[0], change.after.memory) == (CHUNK, {"k": 1})


def test_words_and_question_are_one_change_of_one_version() -> None:
    head = begun(due())

    change = end(head, head.fence, QUESTION, CHUNK, memory={"k": 1}, rules=RULES, now=START)

    assert (change.before, change.after.version) == (head, head.version + 1)
    assert (len(change.entries), change.after.entries) == (2, head.entries + 2)
    assert (change.after.memory, change.after.nudge_seq) == ({"k": 1}, change.after.version)
    assert change.after.wait is not None


def test_a_question_after_an_unread_message_does_not_wait() -> None:
    head = begun(due())
    heard = head.but(entries=head.entries + 1, spoken_to=head.entries + 1)

    after = end(heard, head.fence, QUESTION, memory={}, rules=RULES, now=START).after

    assert (after.wait, after.state, after.lease) == (None, TaskState.WORKING, None)
    assert (after.turn_due, after.trigger) == (head.turn + 1, TurnTrigger.MESSAGE)
    assert after.waits == head.waits


def test_an_end_is_an_end_even_after_an_unread_message() -> None:
    head = begun(due())
    heard = head.but(entries=head.entries + 1, spoken_to=head.entries + 1)

    after = end(heard, head.fence, Ended(TaskState.COMPLETED), memory={}, rules=RULES, now=START).after

    assert after.state is TaskState.COMPLETED


@pytest.mark.parametrize("trigger", [TurnTrigger.CALLBACK, TurnTrigger.EXPIRED])
def test_a_turn_that_a_message_did_not_begin_is_not_given_what_the_caller_said_since(trigger: TurnTrigger) -> None:
    head = due().but(trigger=trigger, shown_to=3, entries=5, spoken_to=5)

    first = begun(head)
    second = begun(first, after=RULES.lease)

    assert (first.shown_to, second.shown_to) == (3, 3)
    assert first.has_unread


def test_an_agent_cannot_end_a_task_that_it_does_not_hold() -> None:
    with pytest.raises(LeaseLost):
        end(a_head(), 1, Ended(TaskState.COMPLETED), memory={}, rules=RULES, now=START)


def test_a_runner_cannot_say_anything_into_an_ended_task_by_any_way() -> None:
    head = a_head(TaskState.COMPLETED, leased=True)

    with pytest.raises((LeaseLost, IllegalChange)):
        progress(head, head.fence, Spoken(a_message("late")), rules=RULES, now=START)
