"""Waits: a task is parked with a question, and an answer, a reminder or the deadline moves it on."""

from datetime import datetime, timedelta
from typing import Any, Final

from a2a_serverless.core.advance import advance, status
from a2a_serverless.core.endings import Question
from a2a_serverless.core.head import Change, Head, Rules, TurnTrigger, Wait, WaitKind
from a2a_serverless.core.journal import Entry, Spoken
from a2a_serverless.errors import IllegalChange
from a2a_serverless.types import JsonObject, Message, Part, Role, TaskState, timestamp_text

MOST_REMINDERS: Final = 99
"""Of one wait: with its deadline, what the state machine takes."""

_STATES = {WaitKind.INPUT: TaskState.INPUT_REQUIRED, WaitKind.AUTH: TaskState.AUTH_REQUIRED}


def check_question(question: Question, rules: Rules) -> None:
    """Refuse a wait that cannot be held.

    Raises:
        ValueError: it is not positive, longer than an execution may live or than tasks are kept, or it has reminders
            out of order or too many of them.
    """
    if not timedelta(0) < question.within <= rules.longest_question:
        raise ValueError(f"within must be more than nothing and at most {rules.longest_question.days} days")
    ordered = tuple(sorted(set(question.remind)))
    if ordered != question.remind or any(not timedelta(0) < at < question.within for at in ordered):
        raise ValueError("remind must be ascending times after the question and before its deadline")
    if len(question.remind) > MOST_REMINDERS:
        raise ValueError(f"remind may have at most {MOST_REMINDERS} times, and has {len(question.remind)}")


def park(head: Head, question: Question, *entries: Entry, memory: JsonObject, rules: Rules, now: datetime) -> Change:
    """End the turn with a question, after `entries` that were not written yet.

    A message that came meanwhile is taken at once by the next turn.
    """
    asked = (*entries, status(_STATES[question.kind], now, question.message, metadata=question.metadata))
    ended: dict[str, Any] = {"lease": None, "read_to": head.shown_to, "memory": memory}
    if head.has_unread:
        return advance(
            head,
            *asked,
            status(TaskState.WORKING, now),
            rules=rules,
            now=now,
            turn_due=head.turn + 1,
            trigger=TurnTrigger.MESSAGE,
            **ended,
        )
    wait = Wait(
        number=head.waits + 1,
        kind=question.kind,
        since=now,
        until=now + question.within,
        remind=question.remind,
    )
    return advance(head, *asked, rules=rules, now=now, wait=wait, waits=wait.number, wait_token="", **ended)


def waits_with(head: Head, number: int) -> bool:
    """Whether the task is still parked with that very question."""
    return head.wait is not None and head.wait.number == number


def resume(
    head: Head,
    number: int,
    trigger: TurnTrigger,
    *,
    message: Message | None = None,
    rules: Rules,
    now: datetime,
) -> Change:
    """End wait `number` without an answer of the caller, and let the next turn go on.

    `message` is what arrived outside A2A, if anything did: a callback's content.

    Raises:
        IllegalChange: the task no longer waits with that number.
    """
    if not waits_with(head, number):
        raise IllegalChange(f"the task does not wait with number {number}")
    entries = (*((Spoken(message),) if message else ()), status(TaskState.WORKING, now))
    return advance(
        head,
        *entries,
        rules=rules,
        now=now,
        wait=None,
        wait_token="",
        turn_due=head.turn + 1,
        trigger=trigger,
        shown_to=head.entries + len(entries),
    )


def expire(head: Head, number: int, *, message_id: str, rules: Rules, now: datetime) -> Change:
    """The deadline passed and nobody decided otherwise: FAILED, saying what was waited for and until when.

    Raises:
        IllegalChange: the task no longer waits with that number.
    """
    wait = head.wait
    if wait is None or wait.number != number:
        raise IllegalChange(f"the task does not wait with number {number}")
    what = {WaitKind.INPUT: "an answer", WaitKind.AUTH: "an authorization"}[wait.kind]
    text = f"no answer came: the task waited for {what} until {timestamp_text(wait.until)}"
    question = head.status.message.text if head.status.message else ""
    if question:
        text += f" ({_shortened(question)})"
    return advance(
        head,
        status(TaskState.FAILED, now, agent_message(head, text, message_id=message_id)),
        rules=rules,
        now=now,
    )


def _shortened(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def agent_message(head: Head, text: str, *, message_id: str) -> Message:
    """A message of the agent on this task, in plain text."""
    return Message(
        message_id=message_id,
        role=Role.AGENT,
        parts=(Part(text=text),),
        task_id=head.key.task_id,
        context_id=head.context_id,
    )
