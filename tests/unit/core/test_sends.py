"""What a message does: it makes a task, answers a question, is one more, or was there before."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from a2a_serverless.core.cancels import cancel
from a2a_serverless.core.head import Change, Head, LastSend, Rules, TurnTrigger
from a2a_serverless.core.journal import Spoken
from a2a_serverless.core.sends import Retry, accept, fingerprint, is_retry, new_task
from a2a_serverless.errors import InvalidParams, UnsupportedOperation
from a2a_serverless.types import Caller, Message, Owner, Part, TaskPushNotificationConfig, TaskState
from tests.fakes import START
from tests.unit.core.heads import ALICE, KEY, a_head, a_message

RULES = Rules()
HOUR = timedelta(hours=1)


def sent(head: Head, message: Message, *, now: datetime = START, caller: Caller = ALICE) -> Change | Retry:
    spoken = Spoken(message)
    return accept(head, spoken, caller=caller, sent=fingerprint(spoken), rules=RULES, now=now)


def accepted(head: Head, message: Message, *, now: datetime = START, caller: Caller = ALICE) -> Head:
    change = sent(head, message, now=now, caller=caller)
    assert isinstance(change, Change)
    return change.after


def test_a_new_task_is_submitted_with_its_message_and_its_first_turn_due() -> None:
    spoken = Spoken(a_message("hello"), {"m": 1})

    change = new_task(
        KEY,
        spoken,
        context_id="c",
        caller=ALICE,
        sent=fingerprint(spoken),
        push=("p",),
        rules=RULES,
        now=START,
    )

    after = change.after
    assert change.before is None
    assert (after.version, after.state, after.turn, after.turn_due) == (1, TaskState.SUBMITTED, 0, 1)
    assert (after.entries, after.spoken_to, after.push) == (1, 1, ("p",))
    assert after.nudge_seq == 0
    assert change.entries == (Spoken(spoken.message.but(task_id="task-1", context_id="c"), {"m": 1}),)


@pytest.mark.parametrize("state", [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED])
def test_an_answer_ends_the_wait_and_makes_the_next_turn_due_in_one_change(state: TaskState) -> None:
    head = a_head(state, waiting=True).but(wait_token="token", trigger=TurnTrigger.EXPIRED)

    after = accepted(head, a_message("sea"))

    assert (after.wait, after.wait_token, after.state) == (None, "", TaskState.WORKING)
    assert (after.turn_due, after.trigger, after.version) == (head.turn + 1, TurnTrigger.MESSAGE, head.version + 1)
    assert after.spoken_to == head.entries + 1


def test_a_message_to_a_running_task_is_kept_and_changes_nothing_else() -> None:
    head = a_head(leased=True)

    after = accepted(head, a_message("one more"))

    assert after.has_unread
    assert (after.status, after.lease, after.turn_due, after.fence) == (
        head.status,
        head.lease,
        head.turn_due,
        head.fence,
    )
    assert after.nudge_seq == head.nudge_seq


@pytest.mark.parametrize("over", [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED])
def test_l01_an_ended_task_takes_no_message(over: TaskState) -> None:
    with pytest.raises(UnsupportedOperation, match=over.value):
        sent(a_head(over), a_message("more"))


def test_another_context_is_refused_before_anything_else_even_on_an_ended_task() -> None:
    stranger = a_message("more").but(context_id="another")

    for state in TaskState:
        with pytest.raises(InvalidParams, match="contextId"):
            sent(a_head(state), stranger)


def test_a_message_carries_the_authority_of_whoever_sent_it() -> None:
    delegate = Caller(Owner("alice"), actors=("agent",), scopes=frozenset({"s"}))

    assert accepted(a_head(), a_message("x"), caller=delegate).caller == delegate


# Retry or reuse


def test_the_newest_message_again_is_a_retry_and_writes_nothing() -> None:
    head = accepted(a_head(), a_message("x"))

    assert sent(head, a_message("x")) == Retry(head)


def test_a_retry_is_one_even_after_the_task_has_ended() -> None:
    head = accepted(a_head(), a_message("x"))
    over = head.but(status=a_head(TaskState.COMPLETED).status)

    assert sent(over, a_message("x")) == Retry(over)


def test_a_message_that_is_not_the_newest_is_one_more() -> None:
    head = accepted(accepted(a_head(), a_message("x")), a_message("y"))

    assert isinstance(sent(head, a_message("x")), Change)


@pytest.mark.parametrize(("after", "retry"), [(HOUR - timedelta(milliseconds=1), True), (HOUR, False)])
def test_the_window_is_open_for_an_hour_and_then_closed(after: timedelta, retry: bool) -> None:
    head = accepted(a_head(), a_message("x"))

    assert isinstance(sent(head, a_message("x"), now=START + after), Retry) is retry


def test_a_cancel_closes_the_window() -> None:
    head = accepted(a_head(), a_message("x"))

    canceled = cancel(head, rules=RULES, now=START).after

    assert not is_retry(canceled, fingerprint(Spoken(a_message("x"))), rules=RULES, now=START)


def test_the_window_of_a_deployment_is_its_own() -> None:
    head = a_head().but(last_send=LastSend("f", START))
    rules = replace(RULES, retry_window=timedelta(seconds=1))

    assert is_retry(head, "f", rules=rules, now=START)
    assert not is_retry(head, "f", rules=rules, now=START + timedelta(seconds=1))


SAME = Message.model_validate(
    {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"a": 1, "b": [None, "ü"]}}], "metadata": {"k": "v"}}
)


@pytest.mark.parametrize(
    "other",
    [
        SAME.but(message_id="n"),
        SAME.but(task_id="t"),
        SAME.but(context_id="c"),
        SAME.but(metadata={"k": "w"}),
        SAME.but(metadata=None),
        SAME.but(extensions=("urn:x",)),
        SAME.but(reference_task_ids=("t",)),
        SAME.but(parts=(Part(data={"a": 1, "b": [None, "u"]}),)),
        SAME.but(parts=(*SAME.parts, Part(text=""))),
        SAME.but(parts=(SAME.parts[0].but(media_type="application/json"),)),
    ],
)
def test_any_other_target_or_content_is_another_send(other: Message) -> None:
    assert fingerprint(Spoken(other)) != fingerprint(Spoken(SAME))


def test_the_same_send_is_the_same_in_any_process_and_with_the_same_webhook() -> None:
    hook = TaskPushNotificationConfig(url="https://a.example")
    said = Spoken(SAME)

    assert fingerprint(Spoken(SAME.model_copy(deep=True))) == fingerprint(said)
    assert fingerprint(said, hook) == fingerprint(said, hook.model_copy())
    assert fingerprint(said, hook) != fingerprint(said)
    assert fingerprint(said, hook) != fingerprint(said, hook.but(token="t"))
    assert fingerprint(Spoken(SAME, {"a": 1})) != fingerprint(said) == fingerprint(Spoken(SAME, {}))
    assert fingerprint(Spoken(SAME, None, ("urn:x",))) != fingerprint(said)
