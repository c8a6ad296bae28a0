"""The lifecycle, proved by trying: whatever happens in whatever order, the rules of a task (DESIGN 3) hold.

Callers, workers, timers, the stream, the queues, the sweep, partners and people with callback addresses act in an order
that Hypothesis chooses and shrinks. Workers die and stall between any two writes; the stream replays, delays and loses;
deliveries come twice and out of order; writes fail before and after they were carried out. `invariants` looks at every
committed change, and `callers` at what is shown of the tasks. At the end everything is worked off: no task is stuck, no
message is lost, and nobody is uninformed.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from a2a_serverless.agent import Turn
from a2a_serverless.app import push_configs
from a2a_serverless.app.cancel import cancel
from a2a_serverless.app.expire import expire
from a2a_serverless.app.notify import notify
from a2a_serverless.app.read import ListRequest, get, list_tasks
from a2a_serverless.app.send import SendRequest, send
from a2a_serverless.app.sweep import sweep
from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer, Outcome
from a2a_serverless.core.delivery_state import DeliveryState
from a2a_serverless.core.head import Change, Head, Record, Rules
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import (
    LeaseLost,
)
from a2a_serverless.types import Caller, JsonObject, Task, TaskKey, TaskPushNotificationConfig
from tests.fakes import QueuedNudge
from tests.unit.app.world import AGENT, ALICE, BOB, HOOK, WorkerDied, World, agent_that, completes
from tests.unit.core.callers import Callers, indexes
from tests.unit.core.invariants import Watched
from tests.unit.core.stepped import Delivery, Stream, TurnQueue, Worker

CHAOS = os.environ.get("HYPOTHESIS_PROFILE") == "chaos"
RULES = Rules(retention=timedelta(days=3650))
WAIT = timedelta(days=2)
MINUTE = timedelta(minutes=1)

times = st.sampled_from([0.1, 1.0, 5.0, 31.0, 61.0, 900.0, 3_700.0, 90_000.0])
outcomes = st.sampled_from(
    [
        Answer(status=200),
        Answer(status=200),
        Answer(status=500),
        Answer(status=302),
        Answer(status=503, retry_after="120"),
        Answer(status=410),
        NoAnswer(Fault.TIMEOUT),
        None,
    ]
)
"""None: the sender dies with its claim."""


class StoreFailed(OSError):
    """The network between a worker and the store."""


class Deployment(Callers):
    """What may happen, and what must hold then."""

    agent = AGENT
    people = (ALICE, BOB)
    hook = HOOK
    retry_window = RULES.retry_window

    def __init__(self) -> None:
        super().__init__()
        self.world = World(rules=RULES)
        self.world.tasks.on_commit = self.committed
        self.watched = Watched()
        self.queue = TurnQueue()
        self.stream = Stream(self.world)
        self.workers: list[Worker] = []
        self.decides_on_expiry = False
        self.holder: dict[TaskKey, Worker] = {}
        """Who took the newest lease of each task."""
        self.said: dict[tuple[TaskKey, int, int], list[str]] = defaultdict(list)
        self.given: dict[tuple[TaskKey, int], tuple[int, list[str]]] = {}
        """The messages that the newest attempt of each turn was given, with the attempt."""
        self.finished: set[tuple[TaskKey, int, int]] = set()
        """Turns that ended with what their attempt said."""
        self.addresses: list[tuple[Worker, str]] = []
        """Callback addresses, with the run that each was made by."""
        self.waits_ended: set[tuple[TaskKey, int]] = set()
        self.at_commit: list[Callable[[], object]] = []
        self.failures: list[bool] = []
        """Writes of workers that will fail: after (True) or before they were carried out."""
        self._commit = self.world.tasks.commit
        self.world.tasks.commit = self.commit  # type: ignore[method-assign]  # the store, with others in between
        self.world.post.meanwhile = self.dies_if_told
        self.sender_dies = False
        self.beating: Worker | None = None
        self.in_between = 0

    @initialize(
        decides=st.booleans(),
        tasks=st.lists(st.sampled_from(["queued", "stay", "ask", "auth", "die"]), min_size=1, max_size=3),
    )
    def begin(self, decides: bool, tasks: list[str]) -> None:
        """An agent that decides on deadlines itself or does not; tasks that are queued, running or waiting."""
        self.decides_on_expiry = decides
        self.world.agent = agent_that(completes, on_expire=completes if decides else None)
        for number, how in enumerate(tasks):
            self.send(ALICE, self.wanted(hook=number % 2 == 0))
            if how != "queued":
                self._move_on(list(self.accepted)[-1], how)

    def teardown(self) -> None:
        """Work everything off, and see that nothing was lost."""
        try:
            if self.watched.wrong:
                return  # an invariant has said so
            self.settle_everything()
            self.nobody_is_stuck()
            self.every_message_was_read_or_its_task_ended()
            self.every_partner_knows_or_will()
            self.deadlines_pass()
            self.rules_hold()
        finally:
            for worker in self.workers:
                if worker.is_running:
                    worker.die()

    # What may happen. Few rules with many faces: Hypothesis leaves out some rules in each run, and most faults need a
    # bit of everything.

    @precondition(lambda self: len(self.accepted) < 4)
    @rule(caller=st.sampled_from([ALICE, BOB]), hook=st.booleans())
    def begins_a_task(self, caller: Caller, hook: bool) -> None:
        """A first message."""
        self.send(caller, self.wanted(hook=hook))

    @rule(which=indexes, what=st.sampled_from(["token", "remind", "deadline", "callback", "callback"]))
    def something_outside_acts(self, which: int, what: str) -> None:
        """An execution stores its token, reminds, or reaches its deadline: in time, early, late, again, or when nobody
        waits. Somebody uses a callback address: fresh, used, of a wait that never was, or of one that is over."""
        self._act(which, what)

    @rule(seconds=times, swept=st.booleans())
    def time_passes(self, seconds: float, swept: bool) -> None:
        """Leases, claims and windows run out, and the sweep may look."""
        self.world.clock.advance(seconds)
        if swept:
            sweep(self.world.sweeper)

    @precondition(lambda self: not self.at_commit)
    @rule(
        task=indexes,
        what=st.sampled_from(["answer", "answer", "cancel", "callback", "token", "remind", "deadline", "webhook"]),
    )
    def somebody_will_be_faster(self, task: int, what: str) -> None:
        """Whoever commits next finds that another came between its look and its write."""
        key = self.task(task)
        match what:
            case "answer":
                sent = self.wanted(task=key.task_id)
                self.at_commit.append(lambda: self.send(self.owner(key), sent))
            case "cancel":
                self.at_commit.append(lambda: self.cancel(key))
            case "webhook":
                self.at_commit.append(lambda: self.a_webhook_changes(task=task, name="a", delete=False))
            case _:
                self.at_commit.append(lambda: self._act(task, what))

    @rule(task=indexes, how=st.sampled_from(["ask", "ask", "auth", "auth", "complete", "die", "stay", "stay"]))
    def a_task_moves_on(self, task: int, how: str) -> None:
        """As it does nearly always: the stream and the queue bring its turn to a worker, who does it."""
        self._move_on(self.task(task), how)

    @precondition(lambda self: self._running())
    @rule(
        which=indexes,
        what=st.sampled_from(
            ["artifact", "much", "much", "working", "beat", "beat", "message", "fail before", "fail after"]
        ),
    )
    def an_agent_works(self, which: int, what: str) -> None:
        """It speaks, its pulse beats, the caller speaks to it, or a write of it will fail."""
        worker = self._worker(which)
        match what:
            case "beat":
                self._beat(worker)
            case "message":
                key = worker.delivery.key
                self.send(self.owner(key), self.wanted(task=key.task_id))
            case "fail before" | "fail after":
                self.failures = [what == "fail after"]
                self._do(worker, lambda turn: self._say(worker, turn, "much"))
            case _:
                self._do(worker, lambda turn: self._say(worker, turn, what))

    @precondition(lambda self: self._running())
    @rule(
        which=indexes,
        how=st.sampled_from(["complete", "ask", "ask", "auth", "raise", "forget", "reject", "die", "stall", "stall"]),
    )
    def an_agent_ends(self, which: int, how: str) -> None:
        """By an end, a question, a fault, or not at all; or it stalls, and another worker takes its task over."""
        worker = self._worker(which)
        match how:
            case "die":
                self._do(worker, None)
            case "stall":
                self.world.clock.advance(61)
                sweep(self.world.sweeper)
                self._move_on(worker.delivery.key, "stay")
            case _:
                self._do(worker, self._ending(worker, how))

    @rule(
        which=indexes,
        what=st.sampled_from(["deliver", "deliver", "repeat", "lose", "turn", "turn twice", "lose turn"]),
    )
    def something_is_carried(self, which: int, what: str) -> None:
        """The stream delivers, repeats or loses a change; the queue delivers a turn, delivers it twice, or loses it."""
        changed, turns = self.stream.changed(), self._deliveries()
        match what:
            case "deliver" if changed:
                self.stream.relay(changed[which % len(changed)])
            case "lose" if changed:
                self.stream.drop(changed[which % len(changed)])
            case "repeat" if self.stream.past:
                self.stream.replay(which)
            case "lose turn" if turns:
                turns.pop(which % len(turns))
            case "turn" | "turn twice" if turns:
                delivery = turns.pop(which % len(turns))
                if what == "turn twice":
                    turns.append(Delivery(delivery.key, delivery.turn, delivery.received))
                self._start(delivery)
            case _:
                pass

    @precondition(lambda self: self.world.queues.nudges)
    @rule(which=indexes, outcome=outcomes, twice=st.booleans())
    def a_nudge_is_delivered(self, which: int, outcome: Outcome | None, twice: bool) -> None:
        """To a partner who takes it, refuses it, or is not there; by a sender who may die."""
        nudges = self.world.queues.nudges
        nudge = nudges.pop(which % len(nudges))
        if twice:
            nudges.append(nudge)
        self._notify(nudge, outcome)

    # What must hold

    @invariant()
    def rules_hold(self) -> None:
        """Nothing that was committed broke a rule."""
        assert not self.watched.wrong, self.watched.wrong[0]

    @invariant()
    def what_dead_attempts_produced_does_not_count(self) -> None:
        """Each chunk is of the newest attempt of its turn, and those of a finished one are there once and in order."""
        for key in self.accepted:
            produced = self._produced(key)
            for (turn, attempt), texts in produced.items():
                assert self.given[key, turn][0] == attempt, f"attempt {attempt} of turn {turn} is dead"
                said = self.said[key, turn, attempt]
                assert texts == said[: len(texts)], f"said {said}, written {texts}"
            for task, turn, attempt in self.finished:
                whole = task != key or produced[turn, attempt] == self.said[key, turn, attempt]
                assert whole, f"said {self.said[key, turn, attempt]}, written {produced[turn, attempt]}"

    def _produced(self, key: TaskKey) -> dict[tuple[int, int], list[str]]:
        """The chunks of the task's artifact by the turn and attempt that said them."""
        produced: dict[tuple[int, int], list[str]] = defaultdict(list)
        for artifact in self._record(key).task().artifacts:
            for part in artifact.parts:
                turn, attempt, _ = (part.text or "").split(".", 2)
                produced[int(turn), int(attempt)].append(part.text or "")
        return produced

    # At the end

    def settle_everything(self) -> None:
        """The workers are gone, the faults are over: let everything run until nothing is left."""
        self.at_commit.clear()
        self.failures.clear()
        for worker in self._running():
            self._do(worker, None)
        for _ in range(500):
            did = self._one_round()
            if not did:
                return
        raise AssertionError(f"something goes round for ever: {did}")

    def _one_round(self) -> list[object]:
        """What a minute brings; answers what there was to do."""
        did: list[object] = []
        while keys := self.stream.changed():
            self.stream.relay(keys[0])
            did.append(keys[0])
        for delivery in tuple(self._deliveries()):
            self.queue.visible.remove(delivery)
            self._work_off(delivery)
            did.append(delivery)
        queued, self.world.queues.nudges = self.world.queues.nudges, []
        self.world.clock.advance(max([61.0, *(nudge.delay_seconds for nudge in queued)]))
        for nudge in queued:
            self._notify(nudge, Answer(status=200))
        swept = sweep(self.world.sweeper)
        for key, number in self.world.waits.held:
            if not self._head(key).wait_token:
                self.world.tasks.store_token(key, number, f"token-{number}")
        return [*did, *queued, *swept.repaired, *self.queue.visible]

    def _work_off(self, delivery: Delivery) -> None:
        worker = self._start(delivery)
        if worker.is_running:
            self._do(worker, self._ending(worker, "complete"))

    def nobody_is_stuck(self) -> None:
        """Each task has ended, or is parked with an open wait that somebody holds."""
        for key in self.accepted:
            head = self._head(key)
            assert head.is_over or (head.wait is not None and head.wait_token), f"{head}"
            assert head.is_over or self.world.tasks.due_at(key) is not None

    def every_message_was_read_or_its_task_ended(self) -> None:
        """By exactly one turn, in the order in which they were accepted."""
        for key, texts in self.accepted.items():
            head = self._head(key)
            turns = (self.given.get((key, turn), (0, []))[1] for turn in range(1, head.turn + 1))
            read = [text for turn in turns for text in turn]
            assert read == texts[: len(read)], f"accepted {texts}, read {read}"
            assert head.is_over or read == texts, f"accepted {texts}, read {read}"

    def every_partner_knows_or_will(self) -> None:
        """Where the task stands, unless he asked not to; a retry that is due later may have been lost until then."""
        for key, config, state, seq in self._uninformed():
            will = state.pending is not None and self.world.tasks.due_at(key) is not None
            assert will, f"{config} knows {state.settled_seq} of {seq}"

    def every_partner_knows(self) -> None:
        """Where the task stands."""
        assert not self._uninformed()

    def _uninformed(self) -> list[tuple[TaskKey, str, DeliveryState, int]]:
        states = [
            (key, config, self.world.tasks.delivery(key, config), self._head(key).nudge_seq)
            for key in self.accepted
            for config in self._head(key).push
        ]
        return [told for told in states if told[2].settled_seq < told[3] and told[2].disabled is None]

    def deadlines_pass(self) -> None:
        """No execution reached its deadline: the sweep alone ends every wait, and then every task has ended."""
        for _ in range(3):
            self.world.clock.advance(WAIT + 2 * MINUTE)
            self.settle_everything()
        for key in self.accepted:
            assert self._head(key).is_over
        self.every_message_was_read_or_its_task_ended()
        self.every_partner_knows()

    # How

    def _move_on(self, key: TaskKey, how: str) -> None:
        while key in self.stream.changed():
            self.stream.relay(key)
        for delivery in [delivery for delivery in self._deliveries() if delivery.key == key]:
            self.queue.visible.remove(delivery)
            worker = self._start(delivery)
            if worker.is_running and how == "die":
                self._do(worker, None)
            elif worker.is_running and how != "stay":
                self._do(worker, self._ending(worker, how))

    def committed(self, old: Head | None, new: Head) -> None:
        """Look at a change as it is committed, and at who did it."""
        self.watched.saw(old, new)
        record = self.world.tasks.read(new.key, now=self.world.clock())
        if record is not None:
            self.watched.journal_only_appended(record.head, record.entries)
        worker = self._actor()
        if old is not None and worker is not None:
            self._committed_by(worker, old, new)
        if old is not None and old.wait is not None and new.wait is None:
            ended = (new.key, old.wait.number)
            if ended in self.waits_ended:
                self.watched.wrong.append(f"each_question_is_answered_once: {ended}")
            self.waits_ended.add(ended)

    def _committed_by(self, worker: Worker, old: Head, new: Head) -> None:
        where = f"{new.key.task_id} at version {new.version}"
        if new.fence > old.fence:
            self.holder[new.key] = worker
            if old.lease is not None and old.lease.until > self.world.clock():
                self.watched.wrong.append(f"nobody_takes_what_is_held: {where}")
        elif worker.number and self.holder.get(new.key) is not worker:
            self.watched.wrong.append(f"only_one_runner_can_write: {where}")
        if worker.number and old.lease is not None and new.lease is None:
            self.finished.add((new.key, worker.number, worker.attempt))

    def commit(self, change: Change) -> Head:
        """The store's commit, with whoever is faster before it, and with a network."""
        if self.at_commit:
            self.in_between += 1
            self.at_commit.pop()()
            self.in_between -= 1
        if self._actor() is None or not self.failures:
            return self._commit(change)
        if self.failures.pop():
            self._commit(change)
        raise StoreFailed("no answer")

    def _actor(self) -> Worker | None:
        """The worker that acts at this moment, if one does."""
        if self.in_between:
            return None
        return self.beating or next((worker for worker in self.workers if worker.is_this_thread()), None)

    def dies_if_told(self) -> None:
        """A sender that dies with its claim."""
        if self.sender_dies:
            raise StoreFailed("the sender died")

    # How the deployment is spoken to

    def now(self) -> datetime:
        return self.world.clock()

    def somebody_may_be_faster(self) -> bool:
        return bool(self.at_commit)

    def call_send(self, caller: Caller, wanted: SendRequest) -> Task:
        answer = send(self.world.host, caller, wanted)
        assert isinstance(answer, Task)
        return answer

    def call_get(self, caller: Caller, task_id: str) -> Task:
        return get(self.world.host, caller, task_id)

    def call_list(self, caller: Caller) -> tuple[Sequence[Task], int]:
        whole = ListRequest(history_length=1_000, include_artifacts=True)
        page = list_tasks(self.world.host, caller, whole)
        return page.tasks, page.total

    def call_cancel(self, caller: Caller, task_id: str) -> Task:
        return cancel(self.world.host, caller, task_id)

    def call_create_webhook(self, caller: Caller, task_id: str, config: TaskPushNotificationConfig) -> None:
        push_configs.create(self.world.host, caller, task_id, config, WireVersion.V1_0)

    def call_delete_webhook(self, caller: Caller, task_id: str, config_id: str) -> None:
        push_configs.delete(self.world.host, caller, task_id, config_id)

    def call_post(self, address: str, posted: JsonObject) -> bool:
        return self.world.post_callback(address, posted)

    def look(self, key: TaskKey) -> Task:
        """As its owner would see it, but nobody has fetched anything."""
        return self._record(key).task()

    def _beat(self, worker: Worker) -> None:
        """What the pulse does, in its own thread in the product."""
        assert worker.writer is not None
        self.beating = worker
        try:
            worker.writer.tick()
        except (LeaseLost, StoreFailed):
            return
        finally:
            self.beating = None

    def _post(self, which: int) -> None:
        if not self.addresses:
            return
        worker, address = self.addresses[which % len(self.addresses)]
        key, asked = worker.delivery.key, self.holder.get(worker.delivery.key)
        if self.post(key, address, {"posted": which}):
            assert worker is asked, "an address opened the wait of another run"

    def _act(self, which: int, what: str) -> None:
        if what == "callback":
            return self._post(which)
        if not self.world.waits.held:
            return None
        key, number = list(self.world.waits.held)[which % len(self.world.waits.held)]
        match what:
            case "token":
                self.world.tasks.store_token(key, number, f"token-{number}")
            case "remind":
                self.world.tasks.remind(key, number)
            case _:
                expire(self.world.expiry, key, number)
        return None

    def _deliveries(self) -> list[Delivery]:
        self.queue.take_in(self.world)
        return self.queue.visible

    def _running(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.is_running]

    def _worker(self, which: int) -> Worker:
        running = self._running()
        return running[which % len(running)]

    def _start(self, delivery: Delivery) -> Worker:
        worker = Worker(self.world, delivery, decides_on_expiry=self.decides_on_expiry)
        self.workers.append(worker)
        worker.start()
        if worker.turn is not None:
            given = [message.message_id for message in worker.turn.messages]
            self.given[delivery.key, worker.number] = (worker.attempt, given)
        self._after(worker)
        return worker

    def _do(self, worker: Worker, step: Callable[[Turn], bool] | None) -> None:
        """Let the agent take a step, or kill its worker (None)."""
        if step is None:
            worker.die()
        else:
            worker.do(step)
        self._after(worker)

    def _after(self, worker: Worker) -> None:
        if worker.is_running:
            return
        if isinstance(worker.came, BaseException):
            assert isinstance(worker.came, WorkerDied | StoreFailed), repr(worker.came)
        self.queue.settle(worker)

    def _say(self, worker: Worker, turn: Turn, what: str) -> bool:
        if what == "working":
            turn.working("on it")
            return False
        said = self.said[worker.delivery.key, worker.number, worker.attempt]
        text = f"{worker.number}.{worker.attempt}.{len(said)}" + ("x" * 17_000 if what == "much" else "")
        turn.artifact("log", text=text, append=True)
        said.append(text)
        return False

    def _ending(self, worker: Worker, how: str) -> Callable[[Turn], bool]:
        return lambda turn: self._end(worker, turn, how)

    def _end(self, worker: Worker, turn: Turn, how: str) -> bool:
        match how:
            case "complete":
                turn.complete("done")
            case "reject":
                turn.reject("no")
            case "ask":
                turn.ask("well?", within=WAIT, remind=[timedelta(hours=4)])
            case "auth":
                self.addresses.append((worker, turn.callback_url()))
                turn.require_auth("approve", within=WAIT)
            case "raise":
                raise RuntimeError("no")
            case _:
                pass
        return True

    def _notify(self, nudge: QueuedNudge, outcome: Outcome | None) -> None:
        self.sender_dies = outcome is None
        self.world.post.answers = [outcome] if outcome is not None else []
        try:
            notify(self.world.notifier, nudge.key, nudge.config_id, nudge.seq)
        except StoreFailed:
            self.world.queues.nudges.append(nudge)
        finally:
            self.sender_dies = False
            self.world.post.answers = []

    def _record(self, key: TaskKey) -> Record:
        record = self.world.tasks.read(key, now=self.world.clock())
        assert record is not None
        return record

    def _head(self, key: TaskKey) -> Head:
        return self._record(key).head


TestDeployment = Deployment.TestCase
TestDeployment.settings = settings(
    max_examples=4_000 if CHAOS else 120,
    stateful_step_count=100 if CHAOS else 40,
    derandomize=not CHAOS,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
