"""SendMessage: checked whole, written once, and answered when there is something to say."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.agent import InboundMessage, Turn
from a2a_serverless.app import push_configs, subscribe
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.read import get
from a2a_serverless.app.send import BLOCKING_SECONDS, SendRequest, send
from a2a_serverless.core.head import Change, Head, Rules
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import (
    A2AError,
    Conflict,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    InvalidParams,
    PushNotificationNotSupported,
    TaskNotFound,
    UnsupportedOperation,
)
from a2a_serverless.types import Caller, Message, Owner, Part, Role, Task, TaskState
from tests.unit.app.world import ALICE, BOB, HOOK, World, agent_that, asks_once, completes, request, webhook


def sends(world: World, text: str = "hello", caller: Caller = ALICE, **how: Any) -> Task | Message:
    return send(world.host, caller, request(text, **how))


# The answer


def test_a_blocking_send_answers_with_the_task_as_it_ended() -> None:
    world = World()
    world.meanwhile = [world.settle]

    answer = sends(world)

    assert isinstance(answer, Task)
    assert answer.status.state is TaskState.COMPLETED


def test_a_blocking_send_ends_at_a_question() -> None:
    world = World(agent_that(asks_once))
    world.meanwhile = [lambda: None, world.settle]

    answer = sends(world)

    assert isinstance(answer, Task)
    assert answer.status.state is TaskState.INPUT_REQUIRED
    assert world.clock() < world.head(answer).created_at + timedelta(seconds=1)


def test_an_answer_to_a_question_waits_for_what_comes_of_it() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.meanwhile = [world.settle]

    answer = sends(world, "42", task=task)

    assert isinstance(answer, Task)
    assert answer.status.state is TaskState.COMPLETED


def test_l09_a_blocking_send_answers_before_the_gateway_gives_up_and_changes_nothing() -> None:
    world = World()
    began = world.clock()

    answer = sends(world)

    assert isinstance(answer, Task)
    assert answer.status.state is TaskState.SUBMITTED
    assert BLOCKING_SECONDS <= (world.clock() - began).total_seconds() < 26
    assert world.tasks.keys() == (world.key(answer),)
    assert world.head(answer).version == 1


def test_l07_a_send_that_returns_immediately_does_not_wait_at_all() -> None:
    world = World()
    began = world.clock()

    answer = sends(world, return_immediately=True)

    assert isinstance(answer, Task)
    assert (answer.status.state, world.clock()) == (TaskState.SUBMITTED, began)


def test_l19_a_task_is_there_for_every_operation_as_soon_as_its_send_is_answered() -> None:
    world = World()

    task = world.send()

    assert get(world.host, ALICE, task.id).id == task.id
    assert push_configs.create(world.host, ALICE, task.id, webhook(), WireVersion.V1_0).task_id == task.id
    assert cancel(world.host, ALICE, task.id).status.state is TaskState.CANCELED


@pytest.mark.parametrize(("length", "expected"), [(None, ["hello", "a"]), (0, []), (1, ["a"]), (100, ["hello", "a"])])
def test_l17_the_answer_has_as_much_history_as_was_asked_for(length: int | None, expected: list[str]) -> None:
    world = World()
    task = world.send()

    answer = sends(world, "a", task=task, history_length=length, return_immediately=True)

    assert isinstance(answer, Task)
    assert [message.text for message in answer.history] == expected


def test_a_stored_message_carries_the_ids_of_its_task_and_context() -> None:
    world = World()

    task = world.send()

    assert [(message.task_id, message.context_id) for message in task.history] == [(task.id, task.context_id)]


# Direct replies


def test_an_agent_may_answer_with_a_message_and_nothing_is_stored() -> None:
    world = World(agent_that(completes, reply=lambda inbound: f"you said {inbound.message.text}"))

    answer = sends(world)

    assert isinstance(answer, Message)
    assert (answer.text, answer.role) == ("you said hello", Role.AGENT)
    assert world.tasks.keys() == ()


def test_a_direct_reply_stays_in_the_context_of_its_message() -> None:
    world = World(agent_that(completes, reply=lambda _: "yes"))

    answers = [sends(world, context_id="mine"), sends(world)]

    assert [answer.context_id != "" for answer in answers] == [True, True]
    assert answers[0].context_id == "mine"


def test_a_direct_reply_of_its_own_making_is_the_agents() -> None:
    said = Message(message_id="m-1", role=Role.USER, parts=(Part(text="yes"),))
    world = World(agent_that(completes, reply=lambda _: said))

    assert sends(world, context_id="mine") == said.but(role=Role.AGENT, context_id="mine")


def test_an_agent_sees_in_which_media_types_the_caller_takes_results() -> None:
    seen: list[tuple[str, ...]] = []

    def asks(turn: Turn) -> None:
        seen.append(turn.accepted_output_modes)
        turn.ask("and then?")

    world = World(agent_that(asks, reply=lambda inbound: seen.append(inbound.accepted_output_modes)))
    task = world.send("1", accepted_output_modes=("text/csv",))
    world.settle()
    world.send("2", task=task.id)
    world.settle()
    world.send("3", task=task.id, accepted_output_modes=("text/plain",))
    world.settle()

    assert seen == [("text/csv",), ("text/csv",), ("text/csv",), ("text/plain",)]


def test_an_agent_sees_what_the_request_said_beside_the_newest_message() -> None:
    seen: list[object] = []

    def asks(turn: Turn) -> None:
        seen.append(turn.metadata)
        turn.ask("and then?")

    world = World(agent_that(asks, reply=lambda inbound: seen.append(inbound.metadata)))
    task = world.send("1", metadata={"order": 7})
    world.settle()
    world.send("2", task=task.id)
    world.settle()
    world.send("3", task=task.id, metadata={"order": [8]})
    world.settle()

    assert seen == [{"order": 7}, {"order": 7}, {}, {"order": [8]}]
    assert "order" not in str(world.task(task.id).to_wire())


def test_the_same_message_beside_other_metadata_is_no_retry() -> None:
    world = World(agent_that(completes))

    tasks = [world.send("1", metadata=metadata).id for metadata in ({"order": 7}, {"order": 8}, {"order": 8}, None)]

    assert len(set(tasks)) == 3
    assert tasks[1] == tasks[2]


@pytest.mark.parametrize("modes", [("text/plain",) * 65, ("x/" + "y" * 254,)])
def test_no_more_and_no_longer_media_types_are_taken_than_can_be_kept(modes: tuple[str, ...]) -> None:
    world = World()

    with pytest.raises(InvalidParams, match="at most 64 media types of at most 255 characters"):
        sends(world, accepted_output_modes=modes)
    assert world.tasks.keys() == ()


def test_an_agent_that_does_not_reply_lets_a_task_begin() -> None:
    world = World(agent_that(completes, reply=lambda _: None))

    assert isinstance(sends(world, return_immediately=True), Task)


def test_a_message_to_a_task_is_never_answered_directly() -> None:
    asked: list[InboundMessage] = []

    def reply(inbound: InboundMessage) -> str | None:
        asked.append(inbound)
        return None

    world = World(agent_that(asks_once, reply=reply))
    task = world.send()
    world.settle()

    world.send("42", task=task)

    assert len(asked) == 1


@pytest.mark.parametrize("answer", [{"text": "no"}, 42, b"bytes"])
def test_a_reply_that_is_no_message_is_the_agents_fault_and_says_nothing_of_it(answer: Any) -> None:
    world = World(agent_that(completes, reply=lambda _: answer))

    with pytest.raises(InvalidAgentResponse) as refused:
        sends(world)

    assert str(answer) not in refused.value.message
    assert world.tasks.keys() == ()


def test_a_reply_that_would_end_the_process_is_a_failure_like_any_other() -> None:
    def reply(_: InboundMessage) -> str:
        raise SystemExit(3)

    world = World(agent_that(completes, reply=reply))

    with pytest.raises(RuntimeError, match="SystemExit"):
        sends(world)


def test_a_reply_must_not_be_async() -> None:
    async def reply(_: InboundMessage) -> str:
        return "later"

    world = World(agent_that(completes, reply=reply))  # type: ignore[arg-type]  # what an author may write all the same

    with pytest.raises(InvalidAgentResponse):
        sends(world)


# Refused whole


def test_l03_a_task_id_that_nobody_gave_out_makes_no_task() -> None:
    world = World()

    with pytest.raises(TaskNotFound):
        sends(world, task="11111111-2222-3333-4444-555555555555")

    assert world.tasks.keys() == ()


def test_a01_a_foreign_task_is_like_one_that_is_not_there_and_stays_as_it_is() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=HOOK)
    world.settle()
    before = world.record(task)

    with pytest.raises(TaskNotFound) as foreign:
        sends(world, "evil", BOB, task=task)
    with pytest.raises(TaskNotFound) as unknown:
        sends(world, "evil", BOB, task="nowhere")

    assert (foreign.value.message, foreign.value.metadata) == (unknown.value.message, unknown.value.metadata)
    assert world.record(task) == before


def test_a05_an_equal_id_in_another_tenant_is_another_task() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    other_tenant = Caller(Owner("alice", "t2"))

    with pytest.raises(TaskNotFound):
        sends(world, "hi", other_tenant, task=task)


def test_a03_there_is_no_owner_without_a_name() -> None:
    with pytest.raises(ValueError, match="subject"):
        Owner("")


@pytest.mark.parametrize("end", ["completed", "failed", "canceled", "rejected"])
def test_l01_a_message_to_a_task_that_has_ended_is_refused_and_changes_nothing(end: str) -> None:
    endings: dict[str, Callable[[Turn], None]] = {
        "completed": completes,
        "failed": lambda turn: turn.fail("no"),
        "canceled": completes,
        "rejected": lambda turn: turn.reject("no"),
    }
    world = World(agent_that(endings[end]))
    task = world.send()
    if end == "canceled":
        cancel(world.host, ALICE, task.id)
    world.settle()
    before, told = world.record(task), len(world.tasks.changes)

    with pytest.raises(UnsupportedOperation, match=end.upper()):
        sends(world, "more", task=task)

    assert world.record(task) == before
    assert len(world.tasks.changes) == told


def test_another_context_than_the_tasks_is_refused() -> None:
    world = World(agent_that(asks_once))
    task = world.send(context_id="mine")
    world.settle()
    before = world.record(task)

    with pytest.raises(InvalidParams, match="contextId"):
        sends(world, "42", task=task, context_id="another")

    assert world.record(task) == before


def test_the_same_context_or_none_is_fine() -> None:
    world = World(agent_that(asks_once))
    task = world.send(context_id="mine")

    world.send("a", task=task, context_id="mine")
    world.send("b", task=task)

    assert [message.context_id for message in world.task(task).history] == ["mine"] * 3


def test_a_new_conversation_keeps_the_context_it_names_and_gets_one_if_it_names_none() -> None:
    world = World()

    tasks = [world.send("a", context_id="mine"), world.send("b"), world.send("c")]

    assert tasks[0].context_id == "mine"
    assert tasks[1].context_id
    assert tasks[1].context_id != tasks[2].context_id


BAD: dict[str, tuple[dict[str, Any], type[A2AError]]] = {
    "a caller who speaks as the agent": ({"role": Role.AGENT}, InvalidParams),
    "a negative history length": ({"history_length": -1}, InvalidParams),
    "an unsupported media type": (
        {"parts": (Part(text="x"), Part(raw="aGk=", media_type="application/x-unknown"))},
        ContentTypeNotSupported,
    ),
    "a webhook that cannot be delivered to": ({"hook": "ftp://partner.example"}, InvalidParams),
    "a webhook with an id that cannot be in a path": ({"hook": webhook(id="a/b")}, InvalidParams),
    "a webhook with a token that fits no header": ({"hook": webhook(token="a\r\nb")}, InvalidParams),
    "a webhook with an unknown scheme": (
        {"hook": webhook(authentication={"scheme": "Digest", "credentials": "x"})},
        InvalidParams,
    ),
}


@pytest.mark.parametrize(("how", "error"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("to_a_task", [False, True], ids=["first message", "to a task"])
def test_l05_a_send_that_is_refused_changes_nothing(
    how: dict[str, Any], error: type[A2AError], to_a_task: bool
) -> None:
    world = World(agent_that(asks_once))
    task = world.send("start")
    world.settle()
    before, told = world.record(task), len(world.tasks.changes)

    with pytest.raises(error):
        sends(world, "bad", task=task if to_a_task else "", **how)

    assert world.record(task) == before
    assert len(world.tasks.changes) == told
    assert world.tasks.configs(world.key(task)) == ()


def test_p05_where_there_are_no_webhooks_an_inline_one_is_refused_before_there_is_a_task() -> None:
    world = World(push_supported=False)

    with pytest.raises(PushNotificationNotSupported):
        sends(world, hook=HOOK)

    assert world.tasks.keys() == ()


@pytest.mark.parametrize(
    ("mode", "given"),
    [
        ("image/*", "image/png"),
        ("*/*", "application/x-anything"),
        ("text/plain", "TEXT/Plain; charset=utf-8"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("application/json", ""),
    ],
)
def test_a_media_type_that_the_card_names_passes(mode: str, given: str) -> None:
    world = World()
    world.agent.card = world.agent.card.but(default_input_modes=(mode,))  # type: ignore[misc]  # for this instance

    answer = sends(world, parts=(Part(text="x", media_type=given),), return_immediately=True)

    assert isinstance(answer, Task)


def test_a_media_type_that_only_a_skill_names_passes() -> None:
    world = World()
    card = world.agent.card
    skill = card.skills[0].but(input_modes=("audio/*",))
    world.agent.card = card.but(skills=(skill,))  # type: ignore[misc]  # for this instance

    answer = sends(world, parts=(Part(raw="aGk=", media_type="audio/ogg"),), return_immediately=True)

    assert isinstance(answer, Task)


# Retry or reuse


def test_i01_a_repeated_first_send_gets_the_same_task_and_one_run() -> None:
    ran: list[str] = []

    def run(turn: Turn) -> None:
        ran.append(turn.task.id)
        turn.complete()

    world = World(agent_that(run))
    first = world.send(message_id="m1")
    again = world.send(message_id="m1")
    world.settle()

    after_the_end = world.send(message_id="m1")

    assert {first.id, again.id, after_the_end.id} == {first.id}
    assert after_the_end.status.state is TaskState.COMPLETED
    assert ran == [first.id]
    assert len(world.task(first).history) == 1


def test_i01_twenty_repeats_at_once_make_one_task_whoever_is_between_claim_and_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    create = world.tasks.create
    answers: list[None] = []

    def create_late(change: Change) -> Head:
        if len(answers) < 20:
            answers.append(None)
            world.send(message_id="m1", hook=HOOK)
        return create(change)

    monkeypatch.setattr(world.tasks, "create", create_late)

    task = world.send(message_id="m1", hook=HOOK)

    assert world.tasks.keys() == (world.key(task),)
    assert len(push_configs.list_all(world.host, ALICE, task.id)) == 1


def test_a_send_that_died_between_claim_and_task_is_taken_up_by_its_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def crash(_: Change) -> Head:
        raise OSError("the process is gone")

    with monkeypatch.context() as dying:
        dying.setattr(world.tasks, "create", crash)
        with pytest.raises(OSError, match="gone"):
            world.send(message_id="m1", hook=HOOK)

    task = world.send(message_id="m1", hook=HOOK)

    assert world.tasks.keys() == (world.key(task),)
    assert [config.url for config in push_configs.list_all(world.host, ALICE, task.id)] == [HOOK]
    assert len(world.tasks.configs(world.key(task))) == 1, "a webhook that its task does not name lies about"


def test_the_webhook_of_an_answer_that_died_before_its_write_is_taken_up_by_its_repeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()

    def crash(_: Change) -> Head:
        raise OSError("the process is gone")

    with monkeypatch.context() as dying:
        dying.setattr(world.tasks, "commit", crash)
        with pytest.raises(OSError, match="gone"):
            world.send("42", task=task, hook=HOOK)

    world.send("42", task=task, hook=HOOK)

    assert [config.id for config in world.tasks.configs(world.key(task))] == list(world.head(task).push)


def test_i03_the_same_message_of_another_owner_makes_his_own_task() -> None:
    world = World()

    alice, bob = world.send("secret", message_id="m1"), world.send("secret", message_id="m1", caller=BOB)

    assert alice.id != bob.id


def test_other_content_under_the_same_message_id_is_another_message() -> None:
    world = World()

    tasks = {world.send(text, message_id="m1").id for text in ("a", "b", "a")}

    assert len(tasks) == 2


def test_the_same_message_in_another_context_is_another_message() -> None:
    world = World()

    tasks = {world.send("a", context_id=context).id for context in ("one", "two", "one")}

    assert len(tasks) == 2


@pytest.mark.parametrize(("later", "same"), [(timedelta(minutes=59), True), (timedelta(hours=1), False)])
def test_a_repeat_is_a_retry_only_within_the_window(later: timedelta, same: bool) -> None:
    world = World()
    first = world.send(message_id="m1")
    world.clock.advance(later)

    again = world.send(message_id="m1")

    assert (again.id == first.id) is same


def test_a_repeat_is_no_retry_once_a_later_message_was_accepted() -> None:
    world = World(agent_that(asks_once))
    first = world.send(message_id="m1")
    world.send("and this", task=first)

    again = world.send(message_id="m1")

    assert again.id != first.id


def test_a_repeat_is_no_retry_once_the_task_was_canceled_and_its_own_repeat_is_one() -> None:
    world = World()
    first = world.send(message_id="m1")
    cancel(world.host, ALICE, first.id)

    second, third = world.send(message_id="m1"), world.send(message_id="m1")

    assert first.id != second.id == third.id


def test_a_repeated_answer_is_heard_once_and_gets_the_task_as_it_is() -> None:
    heard: list[str] = []

    def run(turn: Turn) -> None:
        heard.append(turn.message.text)
        turn.ask("well?") if len(heard) == 1 else turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    world.send("42", task=task)
    world.send("42", task=task)
    world.settle()

    after_the_end = world.send("42", task=task)

    assert heard == ["hello", "42"]
    assert after_the_end.status.state is TaskState.COMPLETED
    assert [message.text for message in after_the_end.history] == ["hello", "well?", "42"]


def test_the_same_word_as_an_answer_to_two_questions_counts_twice_under_two_message_ids() -> None:
    def run(turn: Turn) -> None:
        turn.state["n"] = turn.state.get("n", 0) + 1
        turn.ask("sure?") if turn.state["n"] < 3 else turn.complete()

    world = World(agent_that(run))
    task = world.send()
    for number in (1, 2):
        world.settle()
        world.send("yes", task=task, message_id=f"yes-{number}")
    world.settle()

    assert [message.text for message in world.task(task).history] == ["hello", "sure?", "yes", "sure?", "yes"]


def test_an_answer_to_a_question_that_was_answered_is_one_more_message() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    world.send("first", task=task)

    late = world.send("second", task=task)

    assert [message.text for message in late.history] == ["hello", "What is the answer?", "first", "second"]


def test_a_write_that_lost_its_race_is_decided_again_on_what_is_there_now(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    commit = world.tasks.commit
    raced: list[bool] = []

    def commit_late(change: Change) -> Head:
        if not raced:
            raced.append(True)
            world.send("theirs", task=task)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", commit_late)

    world.send("mine", task=task)

    assert [message.text for message in world.task(task).history][-2:] == ["theirs", "mine"]


def test_thirty_messages_at_once_all_get_through(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()
    commit = world.tasks.commit
    others = [f"theirs {number}" for number in range(29)]

    def another_first(change: Change) -> Head:
        if others:
            with monkeypatch.context() as inner:
                inner.setattr(world.tasks, "commit", commit)
                world.send(others.pop(), task=task)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", another_first)

    world.send("mine", task=task)

    assert world.task(task).history[-1].text == "mine"


def test_a_write_that_loses_every_race_gives_up_after_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    tried: list[Change] = []

    def never(change: Change) -> Head:
        tried.append(change)
        raise Conflict("somebody was faster")

    monkeypatch.setattr(world.tasks, "commit", never)

    with pytest.raises(Conflict):
        world.send("mine", task=task)

    assert len(tried) < 50


# Webhooks that come along


def test_p01_an_inline_webhook_is_stored_before_the_answer_and_named_by_the_server() -> None:
    world = World()

    task = world.send(hook=webhook(token="t", authentication={"scheme": "bearer", "credentials": "tok-A"}))

    (config,) = push_configs.list_all(world.host, ALICE, task.id)
    assert (bool(config.id), config.task_id, config.url) == (True, task.id, HOOK)
    assert "tok-A" not in config.to_json()
    assert world.head(task).push == (config.id,)


def test_p01_a_task_that_completes_within_its_send_is_nudged_all_the_same() -> None:
    world = World()
    world.meanwhile = [world.settle]

    answer = sends(world, hook=HOOK)

    assert isinstance(answer, Task)
    world.notify()
    assert [nudge.head.state for nudge in world.post.came] == [TaskState.COMPLETED]


def test_a_webhook_may_come_along_with_an_answer() -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    world.settle()

    world.send("42", task=task, hook=HOOK)

    assert [config.url for config in push_configs.list_all(world.host, ALICE, task.id)] == [HOOK]


def full_of_webhooks(world: World) -> Task:
    task = world.send("start", hook=webhook(id="hook-0"))
    for number in range(1, world.rules.push_configs):
        push_configs.create(world.host, ALICE, task.id, webhook(id=f"hook-{number}"), WireVersion.V1_0)
    return task


def test_p09_one_webhook_more_than_a_task_may_have_is_refused_with_its_message() -> None:
    world = World(rules=Rules(push_configs=3))
    task = full_of_webhooks(world)
    before = world.record(task)

    with pytest.raises(InvalidParams, match="at most 3 webhooks"):
        sends(world, "one more", task=task, hook=webhook(id="hook-3"))

    assert world.record(task) == before
    assert len(push_configs.list_all(world.host, ALICE, task.id)) == 3


def test_a_repeat_of_the_send_that_brought_the_last_webhook_is_still_a_retry() -> None:
    world = World(rules=Rules(push_configs=2))
    task = world.send("start", hook=HOOK)
    world.send("more", task=task, hook=HOOK)

    again = world.send("more", task=task, hook=HOOK)

    assert again.id == task.id
    assert len(push_configs.list_all(world.host, ALICE, task.id)) == 2


def test_a_full_task_that_has_ended_is_refused_because_it_has_ended() -> None:
    world = World(rules=Rules(push_configs=1))
    task = full_of_webhooks(world)
    world.settle()

    with pytest.raises(UnsupportedOperation):
        sends(world, "more", task=task, hook=webhook(id="another"))


def test_a_webhook_of_a_message_that_was_refused_in_a_race_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(agent_that(asks_once))
    task = world.send()
    commit = world.tasks.commit

    def canceled_first(change: Change) -> Head:
        monkeypatch.setattr(world.tasks, "commit", commit)
        cancel(world.host, ALICE, task.id)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", canceled_first)

    with pytest.raises(UnsupportedOperation):
        sends(world, "more", task=task, hook=HOOK)

    assert push_configs.list_all(world.host, ALICE, task.id) == ()


def test_a_task_remembers_whose_authority_its_newest_message_carries() -> None:
    world = World(agent_that(asks_once))
    first = Caller(Owner("alice"), actors=("agent-a",), scopes=frozenset({"read"}))
    task = send(world.host, first, request(return_immediately=True))
    assert isinstance(task, Task)
    world.settle()
    second = Caller(Owner("alice"), actors=("agent-b",))

    send(world.host, second, request("42", task=task, return_immediately=True))

    assert world.head(task).caller == second


def test_i07_what_was_accepted_is_read_by_a_process_that_knows_only_the_store() -> None:
    world = World(agent_that(asks_once))
    task = world.send(hook=HOOK)
    world.settle()
    restarted = World(agent_that(asks_once))
    restarted.tasks, restarted.ids, restarted.clock = world.tasks, world.ids, world.clock
    restarted.relayed = len(world.tasks.changes)

    restarted.send("42", task=task)
    restarted.settle()

    assert restarted.task(task).status.state is TaskState.COMPLETED
    assert len(push_configs.list_all(restarted.host, ALICE, task.id)) == 1


def test_a_streamed_send_is_the_same_send() -> None:
    world = World()
    first = world.send(message_id="m1")

    events = subscribe.stream(world.host, ALICE, SendRequest(message=request(message_id="m1").message))

    task = next(events)
    assert isinstance(task, Task)
    assert task.id == first.id


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_w11_a_task_goes_on_under_the_trace_of_its_newest_message() -> None:
    world = World(agent_that(asks_once))
    asked = send(world.host, ALICE, replace(request("ask", hook=HOOK, return_immediately=True), trace=TRACE))
    assert isinstance(asked, Task)
    world.settle()
    world.notify()
    first = [nudge.head.trace for nudge in world.post.came]
    world.send("an answer", task=asked)
    world.settle()

    assert set(first) == {TRACE}
    assert world.head(asked).trace == ""
