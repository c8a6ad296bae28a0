"""notify: claim, sign, post, record; whatever dies in between, nothing is lost and nothing is told for ever."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from a2a_serverless.agent import Turn
from a2a_serverless.app import push_configs
from a2a_serverless.app.attempt import endpoint_of
from a2a_serverless.app.notify import notify
from a2a_serverless.app.read import get
from a2a_serverless.app.sweep import sweep
from a2a_serverless.core.delivery import CLAIM
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer
from a2a_serverless.core.delivery_schedule import ATTEMPTS, STEPS
from a2a_serverless.core.delivery_state import DeliveryState
from a2a_serverless.core.push import PushSecrets, WireVersion
from a2a_serverless.types import Task, TaskKey, TaskState
from tests.fakes import QueuedNudge
from tests.unit.app.world import ALICE, World, agent_that, asks_once, webhook

OK = Answer(status=200)
HOOK_ID = "mine"
SECRET = "tok-A"


def asked() -> tuple[World, Task]:
    """A task that waits, its nudge queued."""
    world = World(agent_that(asks_once))
    config = webhook(id=HOOK_ID, token="t-1", authentication={"scheme": "Bearer", "credentials": SECRET})
    task = world.send(hook=config)
    world.settle()
    return world, task


def state_of(world: World, task: Task) -> DeliveryState:
    return world.tasks.delivery(world.key(task), HOOK_ID)


def results(world: World, task: Task) -> list[str]:
    return [line.result for line in world.tasks.attempts(world.key(task), HOOK_ID)]


def come_back(world: World) -> list[str]:
    """Let the delay of the queue, or else of a schedule, pass, and work off what comes."""
    world.clock.advance(max((nudge.delay_seconds for nudge in world.queues.nudges), default=0))
    if not world.queues.nudges:
        world.clock.now = max([world.clock(), *(at for _, at in world.later.coming.values())])
    return world.notify()


def until_settled(world: World, most: int = 2_000) -> list[str]:
    came: list[str] = []
    while (world.queues.nudges or world.later.coming) and len(came) < most:
        came += come_back(world)
    return came


# Delivered


def test_a_nudge_goes_out_with_the_secrets_of_its_webhook_and_the_task_as_it_stands() -> None:
    world, task = asked()

    assert world.notify() == ["delivered"]

    (sent,) = world.post.came
    assert sent.secrets == PushSecrets(credentials=SECRET, token="t-1")
    assert (sent.head.state, sent.nudge.seq) == (TaskState.INPUT_REQUIRED, world.head(task).nudge_seq)
    assert world.queues.nudges == []


def test_p19_an_attempt_is_logged_with_everything_but_secrets_and_content() -> None:
    world, task = asked()

    world.notify()

    (line,) = world.tasks.attempts(world.key(task), HOOK_ID)
    assert (line.result, line.status, line.attempt, line.seq) == ("delivered", 200, 1, world.head(task).nudge_seq)
    assert (line.milliseconds, line.key_id, line.next_at) == (12, "key-1", None)
    assert SECRET not in repr(line)


def test_a_duplicate_of_a_nudge_that_was_delivered_costs_a_look() -> None:
    world, task = asked()
    world.notify()

    assert notify(world.notifier, world.key(task), HOOK_ID, world.head(task).nudge_seq) == "settled"
    assert len(world.post.came) == 1


# Failed, and tried again


def test_p15_three_failures_and_a_success_are_four_posts_of_one_nudge_at_growing_distance() -> None:
    world, task = asked()
    world.post.answers = [Answer(status=503)] * 3
    began = world.clock()
    times: list[timedelta] = []
    world.post.meanwhile = lambda: times.append(world.clock() - began)

    until_settled(world)

    assert len({sent.nudge.message_id for sent in world.post.came}) == 1
    assert [sent.nudge.attempts for sent in world.post.came] == [1, 2, 3, 4]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == list(STEPS[1:4])
    assert results(world, task) == ["throttled", "throttled", "throttled", "delivered"]
    assert world.head(task).state is TaskState.INPUT_REQUIRED


def test_p15_a_receiver_that_asks_for_a_pause_gets_it() -> None:
    world, _ = asked()
    world.post.answers = [Answer(status=503, retry_after="7")]
    world.notify()

    assert [nudge.delay_seconds for nudge in world.queues.nudges] == [7]


def test_p17_a_redirect_is_a_failure_that_is_tried_again() -> None:
    world, task = asked()
    world.post.answers = [Answer(status=302)]

    until_settled(world)

    assert results(world, task) == ["moved", "delivered"]


def test_a_nudge_is_with_the_dead_letters_before_it_counts_as_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    world, task = asked()
    world.post.answers = [NoAnswer(Fault.TIMEOUT)] * 99
    save = world.tasks.save_delivery

    def die_of_the_end(key: TaskKey, config_id: str, state: DeliveryState) -> None:
        if state.pending is None:
            raise OSError("the process is gone")
        save(key, config_id, state)

    monkeypatch.setattr(world.tasks, "save_delivery", die_of_the_end)

    with pytest.raises(OSError, match="gone"):
        until_settled(world)

    assert [nudge for nudge, _ in world.queues.buried] == [
        QueuedNudge(world.key(task), HOOK_ID, world.head(task).nudge_seq)
    ]


def test_a_nudge_that_fails_to_the_end_of_its_schedule_is_given_up_loudly_and_only_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world, task = asked()
    world.post.answers = [NoAnswer(Fault.TIMEOUT)] * 99

    until_settled(world)

    assert len(world.post.came) == ATTEMPTS
    ((buried, reason),) = world.queues.buried
    assert buried == QueuedNudge(world.key(task), HOOK_ID, world.head(task).nudge_seq)
    assert reason == "exhausted after 13 attempts"
    assert "exhausted" in caplog.text


def test_a_receiver_that_says_gone_is_told_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    world, task = asked()
    world.post.answers = [Answer(status=410)]
    world.notify()
    world.send("42", task=task)
    world.settle()

    assert set(world.notify()) == {"disabled"}
    assert len(world.post.came) == 1
    assert "webhook disabled" in caplog.text


# Newer news


def test_p21_a_newer_state_supersedes_a_nudge_that_waits_for_its_next_attempt() -> None:
    world, task = asked()
    world.post.answers = [Answer(status=500)]
    world.notify()
    world.send("42", task=task)
    world.settle()

    until_settled(world)

    assert [sent.head.state for sent in world.post.came] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert [sent.nudge.seq for sent in world.post.came] == sorted(sent.nudge.seq for sent in world.post.came)
    assert results(world, task) == ["server_error", "superseded", "delivered"]


def test_a_receiver_that_was_away_for_two_days_gets_one_nudge_for_fifty_changes() -> None:
    def run(turn: Turn) -> None:
        turn.ask(f"question {len(turn.history)}")

    world = World(agent_that(run))
    task = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.post.answers = [NoAnswer(Fault.CONNECT)]
    world.notify()
    for number in range(50):
        world.send(f"answer {number}", task=task)
        world.settle()
    world.queues.nudges.reverse()

    until_settled(world)

    assert len(world.post.came) == 2
    assert world.post.came[-1].nudge.seq == world.head(task).nudge_seq


def test_an_end_is_told_at_once_while_an_older_attempt_is_still_under_way() -> None:
    world, task = asked()
    inner: list[str] = []

    def ends_meanwhile() -> None:
        world.post.meanwhile = lambda: None
        world.send("42", task=task)
        world.settle()
        inner.extend(world.notify())

    world.post.meanwhile = ends_meanwhile

    outcomes = world.notify()

    assert (inner, outcomes) == (["delivered", "settled"], ["overtaken"])
    assert state_of(world, task).delivered_seq == world.head(task).nudge_seq


def test_a_sender_that_stalled_does_not_undo_what_a_newer_one_found() -> None:
    world, task = asked()

    def stalls() -> None:
        world.post.meanwhile = lambda: None
        world.clock.advance(CLAIM)
        notify(world.notifier, world.key(task), HOOK_ID, world.head(task).nudge_seq)

    world.post.meanwhile = stalls
    world.post.answers = [OK, Answer(status=500)]

    outcomes = world.notify()

    assert outcomes == ["overtaken"]
    assert state_of(world, task).delivered_seq == world.head(task).nudge_seq
    assert results(world, task) == ["delivered", "server_error"]


def test_a_fetch_stops_the_retries_but_not_the_first_attempt() -> None:
    world, task = asked()
    get(world.host, ALICE, task.id)
    world.post.answers = [Answer(status=500)]
    world.notify()

    came = until_settled(world)

    assert len(world.post.came) == 1
    assert came == ["acked_by_fetch"]


# Faults of ours


def test_a_sender_that_died_with_its_claim_is_relieved_once_the_claim_is_over() -> None:
    world, _ = asked()

    def dies() -> None:
        world.post.meanwhile = lambda: None
        raise OSError("the process is gone")

    world.post.meanwhile = dies
    (arrival,) = world.queues.nudges
    with pytest.raises(OSError, match="gone"):
        world.notify()

    early = notify(world.notifier, arrival.key, arrival.config_id, arrival.seq)
    world.clock.advance(CLAIM)
    outcomes = world.notify()

    assert (early, outcomes) == ("claimed", ["delivered"])
    assert [sent.nudge.attempts for sent in world.post.came] == [1, 2]
    assert len({sent.nudge.message_id for sent in world.post.came}) == 1


def test_a_crash_between_the_record_of_a_failure_and_the_retry_loses_no_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _ = asked()
    world.post.answers = [Answer(status=500)]
    (arrival,) = world.queues.nudges

    def broken(*_: object, **__: object) -> None:
        raise OSError("the process is gone")

    with monkeypatch.context() as dying:
        dying.setattr(world.queues, "enqueue_nudge", broken)
        with pytest.raises(OSError, match="gone"):
            world.notify()
    redelivered = notify(world.notifier, arrival.key, arrival.config_id, arrival.seq)

    assert redelivered == "not_due"
    assert until_settled(world) == ["delivered"]


def test_secrets_that_cannot_be_opened_are_ours_and_cost_no_nudge(monkeypatch: pytest.MonkeyPatch) -> None:
    world, task = asked()

    def broken(*_: object) -> PushSecrets:
        raise OSError("no KMS")

    (arrival,) = world.queues.nudges
    with monkeypatch.context() as failing:
        failing.setattr(world.sealer, "open", broken)
        with pytest.raises(OSError, match="no KMS"):
            world.notify()
    world.clock.advance(CLAIM)
    notify(world.notifier, arrival.key, arrival.config_id, arrival.seq)

    assert state_of(world, task).delivered_seq == world.head(task).nudge_seq


def test_a_log_that_cannot_be_written_does_not_make_a_delivered_nudge_come_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, _ = asked()

    def broken(*_: object) -> None:
        raise OSError("throttled")

    (arrival,) = world.queues.nudges
    with monkeypatch.context() as failing:
        failing.setattr(world.tasks, "log_attempt", broken)
        with pytest.raises(OSError, match="throttled"):
            world.notify()

    assert notify(world.notifier, arrival.key, arrival.config_id, arrival.seq) == "claimed"
    assert len(world.post.came) == 1


def test_a_nudge_that_overtakes_the_change_it_speaks_of_waits_for_it() -> None:
    world, task = asked()
    ahead = world.head(task).nudge_seq + 1

    outcome = notify(world.notifier, world.key(task), HOOK_ID, ahead)

    assert outcome == "behind"
    assert world.queues.nudges[-1] == QueuedNudge(world.key(task), HOOK_ID, ahead, 1)


def test_a_webhook_or_task_that_is_gone_costs_a_look() -> None:
    world, task = asked()
    push_configs.delete(world.host, ALICE, task.id, HOOK_ID)

    assert world.notify() == ["config_gone"]
    assert notify(world.notifier, world.key("gone"), HOOK_ID, 1) == "config_gone"


def test_a_webhook_that_was_replaced_during_an_attempt_is_told_at_its_new_address() -> None:
    world, task = asked()
    new = "https://new.example/hook"

    def replaced() -> None:
        world.post.meanwhile = lambda: None
        push_configs.create(world.host, ALICE, task.id, webhook(new, id=HOOK_ID), WireVersion.V1_0)
        world.relay()

    world.post.meanwhile = replaced

    outcomes = world.notify()

    assert outcomes == ["overtaken"]
    assert until_settled(world) == ["delivered"]
    assert world.post.came[-1].config.url == new


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://partner.example/a", "partner.example:443"),
        ("https://partner.example:8443/b", "partner.example:8443"),
        ("http://127.0.0.1/c", "127.0.0.1:80"),
        ("https://PARTNER.example/", "partner.example:443"),
    ],
)
def test_webhooks_of_one_host_and_port_share_an_endpoint(url: str, endpoint: str) -> None:
    assert endpoint_of(url) == endpoint


def test_an_endpoint_that_is_down_costs_its_nudges_no_attempt_while_nobody_tries() -> None:
    world = World(agent_that(asks_once))
    tasks = [world.send(f"m{number}", hook=webhook(id=HOOK_ID)) for number in range(30)]
    world.settle()
    world.post.answers = [NoAnswer(Fault.CONNECT)] * 1_000

    for _ in range(40):
        come_back(world)

    sent = len(world.post.came)
    assert sent < 30 * 4
    states = [state_of(world, task) for task in tasks]
    spent = [state.pending.spent if state.pending else ATTEMPTS for state in states]
    assert sum(spent) == sent


def test_a_message_for_older_news_does_not_go_round_beside_the_one_for_what_is_pending() -> None:
    def run(turn: Turn) -> None:
        turn.ask(f"question {len(turn.history)}")

    world = World(agent_that(run))
    task = world.send(hook=webhook(id=HOOK_ID))
    world.settle()
    world.post.answers = [NoAnswer(Fault.CONNECT)] * 1_000
    for number in range(50):
        world.send(f"answer {number}", task=task)
        world.settle()

    for _ in range(5):
        come_back(world)

    assert len(world.queues.nudges) <= 2


def test_while_an_endpoint_is_left_alone_the_sweep_sends_no_more_messages_on_their_way() -> None:
    world = World(agent_that(asks_once))
    tasks = [world.send(f"m{number}", hook=webhook(id=HOOK_ID)) for number in range(20)]
    world.settle()
    for task in tasks:
        world.tasks.store_token(world.key(task), 1, "token")
    world.post.answers = [NoAnswer(Fault.CONNECT)] * 1_000
    queue = Delayed(world)

    for _ in range(30):
        queue.advance(timedelta(minutes=1))
        sweep(world.sweeper)

    assert queue.waiting() <= len(tasks)


class Delayed:
    """A queue that keeps to its delays."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._due: list[tuple[datetime, QueuedNudge]] = []

    def waiting(self) -> int:
        """How many messages are in the queue."""
        self._take()
        return len(self._due)

    def advance(self, by: timedelta) -> None:
        """Let time pass, and work off each message when its delay is over."""
        until = self._world.clock() + by
        self._take()
        while self._due and min(at for at, _ in self._due) <= until:
            at, nudge = min(self._due, key=lambda due: due[0])
            self._due.remove((at, nudge))
            self._world.clock.now = max(self._world.clock(), at)
            notify(self._world.notifier, nudge.key, nudge.config_id, nudge.seq)
            self._take()
        self._world.clock.now = until

    def _take(self) -> None:
        queued, self._world.queues.nudges = self._world.queues.nudges, []
        now = self._world.clock()
        self._due += [(now + timedelta(seconds=nudge.delay_seconds), nudge) for nudge in queued]
