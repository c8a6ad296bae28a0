"""Callback addresses: single use, bound to one wait of one task, void once the task moved on."""

from datetime import timedelta

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app import callbacks
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.expire import expire
from a2a_serverless.app.run_turn import run_turn
from a2a_serverless.core.head import Change, Head
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Role, Task, TaskState
from tests.unit.app.world import ALICE, WorkerDied, World, agent_that

WITHIN = timedelta(hours=2)


class Approval:
    """An agent that asks for an approval at an address, and keeps what came of it."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.came: list[object] = []

    def run(self, turn: Turn) -> None:
        if not self.addresses:
            self.addresses.append(turn.callback_url())
            return turn.require_auth("approve it", within=WITHIN)
        self.came.append(turn.message.parts[0].data if turn.message.parts[0].has_data else turn.message.text)
        return turn.complete()

    @property
    def address(self) -> str:
        (address,) = self.addresses
        return address


def parked() -> tuple[World, Task, Approval]:
    approval = Approval()
    world = World(agent_that(approval.run))
    task = world.send()
    world.settle()
    return world, task, approval


def is_open(world: World, address: str) -> bool:
    grant_id, _, secret = address.rpartition("/")[2].partition("?key=")
    grant = callbacks.find(world.grants, grant_id, secret, now=world.clock())
    return grant is not None and callbacks.is_open(grant, world.tasks, now=world.clock())


def test_a_post_to_the_address_resumes_the_task_with_what_was_posted() -> None:
    world, task, approval = parked()

    resumed = world.post_callback(approval.address, {"approved": True})
    world.settle()

    assert resumed
    assert approval.came == [{"approved": True}]
    assert world.head(task).state is TaskState.COMPLETED


def test_what_was_posted_is_a_message_of_the_task() -> None:
    world, task, approval = parked()

    world.post_callback(approval.address, {"approved": True})

    posted = world.task(task).history[-1]
    assert (posted.role, posted.task_id, posted.context_id) == (Role.USER, task.id, task.context_id)
    assert [part.data for part in posted.parts] == [{"approved": True}]


def test_the_address_is_public_and_says_nothing_of_the_task() -> None:
    _, task, approval = parked()

    assert approval.address.startswith("https://agent.example/callbacks/")
    assert task.id not in approval.address.removeprefix("https://agent.example/callbacks/").split("?")[0]


def test_the_secret_is_not_what_is_stored() -> None:
    world, _, approval = parked()
    grant_id, _, secret = approval.address.rpartition("/")[2].partition("?key=")

    grant = world.grants.grant(grant_id, now=world.clock())

    assert grant is not None
    assert secret not in repr(grant)


def test_an_address_works_once() -> None:
    world, _, approval = parked()
    world.post_callback(approval.address, {"approved": True})

    again = world.post_callback(approval.address, {"approved": True})
    world.settle()

    assert not again
    assert approval.came == [{"approved": True}]


def test_looking_at_an_address_does_not_use_it_up() -> None:
    world, _, approval = parked()

    assert is_open(world, approval.address)
    assert is_open(world, approval.address)
    assert world.post_callback(approval.address, {})
    assert not is_open(world, approval.address)


def test_an_address_is_void_once_the_caller_answered() -> None:
    world, task, approval = parked()
    world.send("approved by mail", task=task)

    assert not world.post_callback(approval.address, {"approved": False})
    world.settle()
    assert approval.came == ["approved by mail"]


def test_an_address_is_void_once_the_task_was_canceled() -> None:
    world, task, approval = parked()
    cancel(world.host, ALICE, task.id)

    assert not is_open(world, approval.address)
    assert not world.post_callback(approval.address, {})
    assert world.head(task).state is TaskState.CANCELED


def test_an_address_is_void_once_the_wait_expired() -> None:
    world, task, approval = parked()
    expire(world.expiry, world.key(task), 1)

    assert not world.post_callback(approval.address, {})


def test_an_address_is_void_from_the_deadline_on_even_if_nobody_expired_the_wait_yet() -> None:
    world, _, approval = parked()
    world.clock.advance(WITHIN - timedelta(seconds=1))
    assert is_open(world, approval.address)

    world.clock.advance(1)

    assert not is_open(world, approval.address)
    assert not world.post_callback(approval.address, {})


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "?key=",
        "nothing",
        "{id}",
        "{id}?key=",
        "?key={secret}",
        "{id}?key=wrong",
        "{id}?key={secret}x",
        "{secret}?key={id}",
        "{id}.{secret}",
        "{id}?key=ü",
        "{id}?key=\ud800",
        "other?key={secret}",
    ],
)
def test_any_other_address_opens_nothing_and_all_of_them_alike(wrong: str) -> None:
    world, task, approval = parked()
    grant_id, _, secret = approval.address.rpartition("/")[2].partition("?key=")
    before = world.record(task)

    token = wrong.replace("{id}", grant_id).replace("{secret}", secret)

    assert not world.post_callback(f"https://agent.example/callbacks/{token}", {})
    assert world.record(task) == before


def test_an_address_of_one_task_does_not_open_another() -> None:
    world, first, approval = parked()
    approval.addresses.clear()
    second = world.send("again")
    world.settle()

    world.post_callback(approval.address, {})

    assert (world.head(first).wait is None, world.head(second).wait is None) == (False, True)


def test_an_address_of_a_question_that_a_message_overtook_does_not_open_the_next_question() -> None:
    addresses: list[str] = []

    def run(turn: Turn) -> None:
        if not addresses:
            addresses.append(turn.callback_url())
            world.send("by the way", task=turn.task)
            return turn.require_auth("approve 5 EUR")
        return turn.require_auth("approve 5,000 EUR")

    world = World(agent_that(run))
    task = world.send()
    world.settle()
    wait = world.head(task).wait
    assert wait is not None

    resumed = world.post_callback(addresses[0], {"approved": True})

    assert not resumed
    assert world.head(task).wait == wait


def test_an_address_of_a_run_that_died_does_not_open_what_the_next_one_asked() -> None:
    addresses: list[str] = []

    def run(turn: Turn) -> None:
        addresses.append(turn.callback_url())
        if turn.attempt == 1:
            raise WorkerDied
        return turn.require_auth("approve 5,000 EUR")

    world = World(agent_that(run))
    task = world.send()
    world.relay()
    (turn,) = world.queues.turns
    with pytest.raises(WorkerDied):
        world.run()
    world.clock.advance(world.rules.lease)
    run_turn(world.runner, turn.key, turn.turn, redelivered=True)

    assert not world.post_callback(addresses[0], {"approved": True})
    assert world.head(task).state is TaskState.AUTH_REQUIRED
    assert world.post_callback(addresses[1], {"approved": True})


def test_two_posts_at_once_resume_the_task_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _, approval = parked()
    commit = world.tasks.commit

    def another_first(change: Change) -> Head:
        monkeypatch.setattr(world.tasks, "commit", commit)
        assert world.post_callback(approval.address, {"by": "the other"})
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", another_first)

    resumed = world.post_callback(approval.address, {"by": "me"})
    world.settle()

    assert not resumed
    assert approval.came == [{"by": "the other"}]


def test_a_reminder_at_the_same_moment_does_not_cost_the_post(monkeypatch: pytest.MonkeyPatch) -> None:
    world, task, approval = parked()
    commit = world.tasks.commit

    def reminded_first(change: Change) -> Head:
        monkeypatch.setattr(world.tasks, "commit", commit)
        world.tasks.remind(world.key(task), 1)
        return commit(change)

    monkeypatch.setattr(world.tasks, "commit", reminded_first)

    assert world.post_callback(approval.address, {})


def test_a_post_that_loses_every_race_says_so_and_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _, approval = parked()

    def never(_: Change) -> Head:
        raise Conflict("somebody was faster")

    with monkeypatch.context() as racing:
        racing.setattr(world.tasks, "commit", never)
        with pytest.raises(Conflict):
            world.post_callback(approval.address, {})

    assert world.post_callback(approval.address, {})


def test_a_question_for_input_may_have_an_address_too() -> None:
    addresses: list[str] = []

    def run(turn: Turn) -> None:
        if not addresses:
            addresses.append(turn.callback_url())
            return turn.ask("scan the code")
        return turn.complete()

    world = World(agent_that(run))
    task = world.send()
    world.settle()

    world.post_callback(addresses[0], {"scanned": "123"})
    world.settle()

    assert world.head(task).state is TaskState.COMPLETED
