"""Nudges, from arrival to the end."""

import datetime as dt
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.core.delivery import (
    CLAIM,
    PROGRESS_PAUSE,
    AfterAttempt,
    Decision,
    Deliver,
    Drop,
    DropReason,
    Postpone,
    PostponeReason,
    Settle,
    after_attempt,
    decide_on_arrival,
)
from a2a_serverless.core.delivery_endpoint import EndpointHealth, HoldReason, OpenBreaker, after_try
from a2a_serverless.core.delivery_health import Alert, ConfigHealth
from a2a_serverless.core.delivery_outcome import Answer, DisableReason, Fault, NoAnswer, Outcome
from a2a_serverless.core.delivery_schedule import ATTEMPTS, LONGEST_PENDING, PROGRESS_LIFETIME, STEPS
from a2a_serverless.core.delivery_state import (
    Closed,
    Closing,
    DeliveryState,
    Disabled,
    Finished,
    GiveUp,
    RetryAt,
    SwitchOff,
    redeliver,
    switch_on,
)
from a2a_serverless.core.head import Head
from a2a_serverless.types import Caller, Owner, Scope, TaskKey, TaskState, TaskStatus

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
OK, ILL = Answer(status=202), Answer(status=500)
OPEN = EndpointHealth(breaker=OpenBreaker(NOW + 30 * SECOND, 30 * SECOND))


def _head(seq: int, state: TaskState = TaskState.COMPLETED) -> Head:
    owner = Owner("alice")
    return Head(
        key=TaskKey(Scope("freight", owner), "task-1"),
        context_id="ctx-1",
        caller=Caller(owner),
        status=TaskStatus(state=state, timestamp=NOW),
        created_at=NOW,
        nudge_seq=seq,
    )


def _arrive(
    state: DeliveryState,
    seq: int = 1,
    *,
    head: Head | None = None,
    acked: int = 0,
    endpoint: EndpointHealth = EndpointHealth(),  # noqa: B008 (frozen)
    message_id: str = "",
    now: dt.datetime = NOW,
) -> Decision:
    return decide_on_arrival(
        state,
        seq=seq,
        head=head or _head(seq),
        acked_seq=acked,
        endpoint=endpoint,
        message_id=message_id or f"msg_{seq}",
        now=now,
        jitter=1.0,
    )


def _delivering(state: DeliveryState, seq: int = 1, **more: object) -> Deliver:
    decision = _arrive(state, seq, **more)  # type: ignore[arg-type]  # passed through
    assert isinstance(decision, Deliver), decision
    return decision


def _attempted(state: DeliveryState, outcome: Outcome, *, now: dt.datetime = NOW) -> AfterAttempt:
    return after_attempt(state, outcome, now=now, jitter=1.0)


def _failed_once(seq: int = 1, **more: object) -> DeliveryState:
    return _attempted(_delivering(DeliveryState(), seq, **more).state, ILL).state


def test_a_first_arrival_is_claimed_and_delivered() -> None:
    decision = _delivering(DeliveryState())

    assert decision.state.generation == 1
    assert decision.state.claimed_until == NOW + CLAIM
    assert (decision.nudge.seq, decision.nudge.message_id, decision.nudge.attempts) == (1, "msg_1", 1)
    assert decision.nudge is decision.state.pending
    assert decision.superseded is None


def test_a_delivered_nudge_is_over_and_its_duplicates_mean_nothing() -> None:
    after = _attempted(_delivering(DeliveryState()).state, OK)

    assert after.step == Finished(Closed("msg_1", 1, 1, Closing.DELIVERED))
    assert (after.state.pending, after.state.delivered_seq, after.state.claimed_until) == (None, 1, None)
    assert _arrive(after.state) == Drop(DropReason.SETTLED)


def test_where_the_task_stands_is_told_whatever_the_message_says() -> None:
    decision = _delivering(DeliveryState(), 1, head=_head(5))

    assert decision.nudge.seq == 5
    assert _arrive(_attempted(decision.state, OK).state, 3, head=_head(5)) == Drop(DropReason.SETTLED)


def test_a_head_that_is_behind_the_message_is_read_again() -> None:
    decision = _arrive(DeliveryState(), 5, head=_head(4))

    assert isinstance(decision, Postpone)
    assert decision.reason is PostponeReason.BEHIND


def test_a_task_that_is_gone_and_one_that_has_nothing_to_tell_are_dropped() -> None:
    gone = decide_on_arrival(
        DeliveryState(), seq=1, head=None, acked_seq=0, endpoint=EndpointHealth(), message_id="m", now=NOW, jitter=1.0
    )

    assert gone == Drop(DropReason.TASK_GONE)
    assert _arrive(DeliveryState(), 0) == Drop(DropReason.SETTLED)


def test_a_failure_is_tried_again_under_the_same_id() -> None:
    after = _attempted(_delivering(DeliveryState()).state, ILL)

    assert after.step == RetryAt(NOW + 5 * SECOND)
    retried = _delivering(after.state, message_id="msg_other", now=NOW + 5 * SECOND)
    assert (retried.nudge.message_id, retried.nudge.attempts) == ("msg_1", 2)
    assert retried.superseded is None


def test_a_retry_that_comes_too_soon_waits_and_one_a_second_early_does_not() -> None:
    state = _failed_once()

    early = _arrive(state, now=NOW + 3 * SECOND)
    assert early == Postpone(until=NOW + 5 * SECOND, reason=PostponeReason.NOT_DUE, state=state)
    assert _delivering(state, now=NOW + 4 * SECOND).nudge.attempts == 2


def test_the_thirteenth_failure_gives_the_nudge_up() -> None:
    state, now, delays = DeliveryState(), NOW, []
    for _ in range(ATTEMPTS - 1):
        after = _attempted(_delivering(state, now=now).state, ILL, now=now)
        assert isinstance(after.step, RetryAt)
        delays.append(after.step.at - now)
        state, now = after.state, after.step.at
    last = _attempted(_delivering(state, now=now).state, ILL, now=now)

    assert delays == list(STEPS[1:])
    assert last.step == GiveUp(Closed("msg_1", 1, 13, Closing.EXHAUSTED))
    assert Alert.EXHAUSTED in last.alerts
    assert _arrive(last.state, now=now) == Drop(DropReason.SETTLED)


def test_a_longer_pause_is_kept() -> None:
    after = _attempted(_delivering(DeliveryState()).state, Answer(status=429, retry_after="600"))

    assert after.step == RetryAt(NOW + 600 * SECOND)


def test_long_pauses_do_not_carry_a_nudge_beyond_five_days() -> None:
    state, now = DeliveryState(), NOW
    for _ in range(ATTEMPTS):
        after = _attempted(_delivering(state, now=now).state, Answer(status=503, retry_after="86400"), now=now)
        if not isinstance(after.step, RetryAt):
            break
        state, now = after.state, after.step.at

    assert isinstance(after.step, GiveUp | SwitchOff)
    assert now - NOW < LONGEST_PENDING


def test_a_newer_change_takes_the_place_of_one_that_waits() -> None:
    decision = _delivering(_failed_once(), 2, now=NOW + SECOND)

    assert decision.superseded == Closed("msg_1", 1, 1, Closing.SUPERSEDED)
    assert (decision.nudge.message_id, decision.nudge.seq, decision.nudge.attempts) == ("msg_2", 2, 1)


def test_the_retry_of_a_superseded_nudge_tells_the_newer_one() -> None:
    decision = _delivering(_failed_once(), 1, head=_head(9), message_id="msg_9", now=NOW + 5 * SECOND)

    assert (decision.nudge.seq, decision.nudge.message_id) == (9, "msg_9")


def test_fifty_changes_during_an_outage_leave_one_nudge() -> None:
    state = DeliveryState()
    for seq in range(1, 51):
        decision = _arrive(state, seq, endpoint=OPEN, now=NOW + seq * dt.timedelta(milliseconds=100))
        assert isinstance(decision, Postpone)
        state = decision.state

    back = [_arrive(state, seq, head=_head(50), now=NOW + 60 * SECOND) for seq in range(1, 51)]
    deliveries = [each for each in back if isinstance(each, Deliver)]
    assert {each.nudge.message_id for each in deliveries} == {"msg_50"}
    after = _attempted(deliveries[0].state, OK, now=NOW + 61 * SECOND)
    assert all(_arrive(after.state, seq, head=_head(50)) == Drop(DropReason.SETTLED) for seq in range(1, 51))


def test_a_fetch_stops_the_retries() -> None:
    state = _failed_once(3)

    decision = _arrive(state, 3, acked=3, now=NOW + 5 * SECOND)

    assert isinstance(decision, Settle)
    assert decision.step == Finished(Closed("msg_3", 3, 1, Closing.ACKED_BY_FETCH))
    assert _arrive(decision.state, 3) == Drop(DropReason.SETTLED)


def test_a_fetch_does_not_stop_the_first_attempt_nor_a_newer_change() -> None:
    assert _delivering(DeliveryState(), 3, acked=3).nudge.seq == 3
    assert _delivering(_failed_once(3), 3, acked=2, now=NOW + 5 * SECOND).nudge.seq == 3


@pytest.mark.parametrize(
    ("task_state", "expires"),
    [
        (TaskState.SUBMITTED, True),
        (TaskState.WORKING, True),
        (TaskState.INPUT_REQUIRED, False),
        (TaskState.AUTH_REQUIRED, False),
        (TaskState.COMPLETED, False),
        (TaskState.FAILED, False),
        (TaskState.CANCELED, False),
        (TaskState.REJECTED, False),
    ],
)
def test_only_progress_expires(task_state: TaskState, expires: bool) -> None:
    head = _head(1, task_state)
    state = _failed_once(1, head=head)

    decision = _arrive(state, 1, head=head, now=NOW + PROGRESS_LIFETIME)

    assert isinstance(decision, Settle) is expires
    if isinstance(decision, Settle):
        assert decision.step == Finished(Closed("msg_1", 1, 1, Closing.EXPIRED))


def test_a_retry_that_progress_would_not_live_to_see_is_not_made() -> None:
    head = _head(1, TaskState.WORKING)
    state, now = DeliveryState(), NOW
    while isinstance((after := _attempted(_delivering(state, head=head, now=now).state, ILL, now=now)).step, RetryAt):
        state, now = after.state, after.step.at

    assert after.step == Finished(Closed("msg_1", 1, 4, Closing.EXPIRED))
    assert now - NOW == 155 * SECOND


def test_an_arrival_during_an_attempt_waits_for_it() -> None:
    claimed = _delivering(DeliveryState()).state

    decision = _arrive(claimed, now=NOW + SECOND)

    assert decision == Postpone(until=NOW + CLAIM, reason=PostponeReason.CLAIMED, state=claimed)


def test_a_sender_that_died_is_taken_over_and_its_attempt_counts() -> None:
    claimed = _delivering(DeliveryState()).state

    taken = _delivering(claimed, now=NOW + CLAIM)

    assert (taken.nudge.message_id, taken.nudge.attempts, taken.state.generation) == ("msg_1", 2, 2)


def test_news_that_lasts_overtakes_an_attempt_and_fences_it_off() -> None:
    head = _head(1, TaskState.WORKING)
    slow = _delivering(DeliveryState(), 1, head=head)

    newer = _delivering(slow.state, 2, now=NOW + SECOND)
    late = _attempted(slow.state, OK, now=NOW + 2 * SECOND)

    assert newer.nudge.seq == 2
    assert newer.superseded == Closed("msg_1", 1, 1, Closing.SUPERSEDED)
    assert late.state.generation == newer.state.generation, "the late result must fail the store's condition"


def test_progress_does_not_overtake_an_attempt() -> None:
    slow = _delivering(DeliveryState(), 1, head=_head(1, TaskState.WORKING))

    decision = _arrive(slow.state, 2, head=_head(2, TaskState.WORKING), now=NOW + SECOND)

    until = NOW + SECOND + PROGRESS_PAUSE
    assert decision == Postpone(until=until, reason=PostponeReason.CLAIMED, state=slow.state)


def test_the_message_of_an_older_change_is_not_carried_beside_that_of_the_pending_one() -> None:
    waits = _failed_once(5)
    at_work = _delivering(DeliveryState(), 5).state

    assert _arrive(waits, 4, head=_head(5), now=NOW + SECOND) == Drop(DropReason.CARRIED)
    assert _arrive(at_work, 4, head=_head(5), now=NOW + SECOND) == Drop(DropReason.CARRIED)
    assert isinstance(_arrive(waits, 5, now=NOW + SECOND), Postpone)
    assert isinstance(_arrive(at_work, 5, now=NOW + SECOND), Postpone)


def test_a_parked_nudge_spends_no_attempt_and_keeps_its_age() -> None:
    parked = _arrive(DeliveryState(), endpoint=OPEN)
    assert isinstance(parked, Postpone)

    again = _arrive(parked.state, endpoint=OPEN, message_id="msg_other", now=NOW + 10 * SECOND)
    through = _delivering(parked.state, now=NOW + 60 * SECOND)

    assert parked.reason is HoldReason.BREAKER_OPEN
    assert isinstance(again, Postpone)
    assert again.state is parked.state, "nothing to write"
    assert (through.nudge.message_id, through.nudge.attempts, through.nudge.since) == ("msg_1", 1, NOW)


def test_a_nudge_that_is_held_for_long_says_until_when() -> None:
    parked = _arrive(DeliveryState(), endpoint=OPEN)
    assert isinstance(parked, Postpone)

    now = parked.until
    brief = EndpointHealth(breaker=OpenBreaker(now + CLAIM / 1.2, 30 * SECOND))
    later = EndpointHealth(breaker=OpenBreaker(now + 900 * SECOND, 900 * SECOND))
    as_before = _arrive(parked.state, endpoint=brief, now=now)
    for_long = _arrive(parked.state, endpoint=later, now=now)

    assert isinstance(as_before, Postpone)
    assert isinstance(for_long, Postpone)
    assert as_before.state is parked.state
    assert for_long.state.pending is not None
    assert for_long.state.pending.next_at == for_long.until
    assert for_long.superseded is None


def test_a_busy_endpoint_is_looked_at_less_often_the_longer_it_is_busy() -> None:
    busy = EndpointHealth(limit=1, leases=(NOW + dt.timedelta(days=9),))
    parked = _arrive(DeliveryState(), endpoint=busy)
    assert isinstance(parked, Postpone)

    pauses = []
    for waited in (2, 60, 600, 1800, 36_000):
        now = NOW + waited * SECOND
        again = _arrive(parked.state, endpoint=busy, now=now)
        assert isinstance(again, Postpone)
        assert again.reason is HoldReason.BUSY
        pauses.append((again.until - now).total_seconds())

    assert pauses == [2, 30, 300, 900, 900]


def test_three_refusals_in_a_row_are_told_the_owner() -> None:
    state, now, told = DeliveryState(), NOW, []
    for status in (401, 403, 404, 500):
        after = _attempted(_delivering(state, now=now).state, Answer(status=status), now=now)
        assert isinstance(after.step, RetryAt)
        told.append(after.alerts)
        state, now = after.state, after.step.at

    assert told == [(), (), (Alert.MISCONFIGURED,), ()]


def test_a_nudge_parked_for_five_days_is_given_up_aloud() -> None:
    parked = _arrive(DeliveryState(), endpoint=OPEN)
    assert isinstance(parked, Postpone)

    decision = _arrive(parked.state, now=NOW + LONGEST_PENDING)

    assert isinstance(decision, Settle)
    assert decision.step == GiveUp(Closed("msg_1", 1, 0, Closing.EXHAUSTED))
    assert decision.alerts == (Alert.EXHAUSTED,)


def test_a_nudge_that_kills_its_senders_is_given_up_after_thirteen() -> None:
    state, now = DeliveryState(), NOW
    for _ in range(ATTEMPTS):
        state, now = _delivering(state, now=now).state, now + CLAIM

    decision = _arrive(state, now=now)

    assert isinstance(decision, Settle)
    assert isinstance(decision.step, GiveUp)


def test_415_is_sent_again_at_once_as_json_and_costs_no_attempt() -> None:
    after = _attempted(_delivering(DeliveryState()).state, Answer(status=415))
    again = _delivering(after.state)
    later = _attempted(again.state, ILL)

    assert after.step == RetryAt(NOW)
    assert again.state.plain_json
    assert (again.nudge.attempts, again.nudge.spent) == (2, 1)
    assert later.step == RetryAt(NOW + 5 * SECOND)


def test_an_aborted_message_is_over_and_the_config_is_not() -> None:
    after = _attempted(_delivering(DeliveryState()).state, Answer(status=500, control="abort-message"))

    assert after.step == Finished(Closed("msg_1", 1, 1, Closing.ABORTED))
    assert _arrive(after.state) == Drop(DropReason.SETTLED)
    assert _delivering(after.state, 2).nudge.seq == 2


@pytest.mark.parametrize(
    ("outcome", "reason", "alerts"),
    [
        (Answer(status=410), DisableReason.GONE, (Alert.DISABLED,)),
        (Answer(status=500, control="disable"), DisableReason.ASKED, (Alert.DISABLED,)),
        (
            NoAnswer(Fault.BLOCKED_ADDRESS),
            DisableReason.BLOCKED_ADDRESS,
            (Alert.BLOCKED_ADDRESS, Alert.DISABLED),
        ),
    ],
)
def test_a_config_is_switched_off(outcome: Outcome, reason: DisableReason, alerts: tuple[Alert, ...]) -> None:
    after = _attempted(_delivering(DeliveryState()).state, outcome)

    assert after.step == SwitchOff(Closed("msg_1", 1, 1, Closing.DISABLED), reason)
    assert after.state.disabled == Disabled(reason, NOW)
    assert after.state.delivered_seq == 0
    assert after.alerts == alerts
    assert _arrive(after.state, 2) == Drop(DropReason.DISABLED)


def test_a_receiver_may_take_a_nudge_and_ask_for_no_more() -> None:
    after = _attempted(_delivering(DeliveryState()).state, Answer(status=200, control="disable"))

    assert after.step == SwitchOff(Closed("msg_1", 1, 1, Closing.DELIVERED), DisableReason.ASKED)
    assert after.state.delivered_seq == 1


def test_a_config_that_is_switched_on_again_hears_of_what_it_missed_and_only_that() -> None:
    missed = _attempted(_delivering(DeliveryState()).state, Answer(status=410)).state
    taken = _attempted(_delivering(DeliveryState()).state, Answer(status=200, control="disable")).state

    assert _delivering(switch_on(missed)).nudge.seq == 1
    assert _arrive(switch_on(taken)) == Drop(DropReason.SETTLED)
    assert switch_on(missed).health == ConfigHealth()


def test_five_days_without_success_switch_a_config_off() -> None:
    old = ConfigHealth(failures=40, first_failure_at=NOW - dt.timedelta(days=5), warned=80)

    after = _attempted(_delivering(DeliveryState(health=old)).state, ILL)

    assert after.state.disabled == Disabled(DisableReason.FAILING, NOW)
    assert after.alerts == (Alert.DISABLED,)


def test_a_refusal_of_240_bytes_is_ours_to_look_at() -> None:
    after = _attempted(_delivering(DeliveryState()).state, Answer(status=413))

    assert after.alerts == (Alert.TOO_LARGE,)
    assert isinstance(after.step, RetryAt)


def test_a_nudge_is_delivered_again_under_its_old_id() -> None:
    done = _attempted(_delivering(DeliveryState(), 3).state, OK).state

    again = _delivering(redeliver(done, message_id="msg_3", seq=3, now=NOW), 3, acked=3, message_id="msg_new")

    assert (again.nudge.message_id, again.nudge.attempts) == ("msg_3", 1)


def test_a_result_without_a_claim_is_our_fault() -> None:
    with pytest.raises(ValueError, match="the state that claimed it"):
        _attempted(DeliveryState(), OK)


_OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(
        Answer,
        status=st.sampled_from([200, 202, 302, 400, 401, 404, 413, 415, 429, 500, 502, 503]),
        retry_after=st.sampled_from([None, "1", "120", "86400", "soon"]),
        control=st.sampled_from([None, None, None, "abort-message"]),
    ),
    st.builds(NoAnswer, st.sampled_from([fault for fault in Fault if fault is not Fault.BLOCKED_ADDRESS])),
)
_EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.sampled_from(TaskState)),
        st.tuples(st.just("work"), st.just("answered") | st.just("stalls") | st.just("dies")),
        st.tuples(st.just("result"), _OUTCOMES),
        st.tuples(st.just("duplicate"), st.none()),
        st.tuples(st.just("pass"), st.sampled_from([1, 5, 30, 120, 700, 90_000])),
    ),
    max_size=60,
)


@given(_EVENTS)
def test_whatever_happens_the_newest_change_is_told(events: list[tuple[str, object]]) -> None:
    """Play a queue, a store and senders that stall and die; then let everything work, and look who was told what."""
    world = _World()
    for kind, value in events:
        world.play[kind](value)

    world.come_to_rest()

    state, newest = world.stored, world.head.nudge_seq
    assert state.pending is None
    assert state.settled_seq == newest
    assert newest in world.told or world.closed[-1].how is not Closing.SUPERSEDED


class _World:
    """One config: its task, its queue, its store, and the senders that are at work on it."""

    def __init__(self) -> None:
        self.stored = DeliveryState()
        self.endpoint = EndpointHealth()
        self.now = NOW
        self.head = _head(1)
        self.queue: list[tuple[dt.datetime, int]] = [(NOW, 1)]
        self.stalled: list[DeliveryState] = []
        self.told: set[int] = set()
        self.closed: list[Closed] = []
        self.ids = 0
        self.play: dict[str, Callable[[object], None]] = {
            "change": self.change,
            "work": self.work,
            "result": self.result,
            "duplicate": self.duplicate,
            "pass": self.pass_time,
        }

    def change(self, state: object) -> None:
        """The task moves on, and the relay says so."""
        assert isinstance(state, TaskState)
        self.head = _head(self.head.nudge_seq + 1, state)
        self.queue.append((self.now, self.head.nudge_seq))

    def duplicate(self, _: object) -> None:
        """The queue delivers twice."""
        self.queue += self.queue[:1]

    def pass_time(self, seconds: object) -> None:
        assert isinstance(seconds, int)
        self.now += seconds * SECOND

    def work(self, how: object) -> None:
        """Take the next message; if it leads to an attempt, its sender is answered, stalls, or dies on the spot."""
        due = sorted(message for message in self.queue if message[0] <= self.now)
        if due:
            self.queue.remove(due[0])
            self.ids += 1
            self.work_off(due[0][1], how)

    def work_off(self, seq: int, how: object) -> None:
        decision = _arrive(
            self.stored, seq, head=self.head, endpoint=self.endpoint, message_id=f"m{self.ids}", now=self.now
        )
        match decision:
            case Drop():
                return
            case Postpone(until=until):
                self.save(decision.state)
                pending = decision.state.pending
                self.queue.append((until, max(seq, pending.seq if pending else 0)))
            case Settle():
                self.save(decision.state)
                self.closed.append(decision.step.closed)
            case Deliver():
                self.save(decision.state)
                self.send(decision.state, seq, how)

    def send(self, claimed: DeliveryState, seq: int, how: object) -> None:
        if how == "answered":
            self.finish(claimed, OK)
            return
        # The queue shows the message again once its visibility times out; a stalled sender may answer yet.
        self.queue.append((self.now + 60 * SECOND, seq))
        if how == "stalls":
            self.stalled.append(claimed)

    def result(self, outcome: object) -> None:
        """A stalled sender comes back with an answer."""
        assert isinstance(outcome, Answer | NoAnswer)
        if self.stalled:
            self.finish(self.stalled.pop(0), outcome)

    def finish(self, claimed: DeliveryState, outcome: Outcome) -> None:
        after = _attempted(claimed, outcome, now=self.now)
        self.endpoint = after_try(self.endpoint, outcome, after.verdict, now=self.now)
        if claimed.pending is not None and isinstance(outcome, Answer) and outcome.status < 300:
            self.told.add(claimed.pending.seq)
        if after.state.generation != self.stored.generation + 1:
            return
        self.stored = after.state
        match after.step:
            case RetryAt(at):
                assert claimed.pending is not None
                self.queue.append((at, claimed.pending.seq))
            case Finished(closed) | GiveUp(closed) | SwitchOff(closed, _):
                self.closed.append(closed)

    def save(self, state: DeliveryState) -> None:
        """The store's condition; a state that is the stored one is not written."""
        if state != self.stored:
            assert state.generation == self.stored.generation + 1
            self.stored = state

    def come_to_rest(self) -> None:
        """Everybody works from now on."""
        for _ in range(1000):
            if not self.queue:
                return
            self.now = max(self.now, min(self.queue)[0])
            self.work("answered")
        raise AssertionError("the queue never runs dry")
