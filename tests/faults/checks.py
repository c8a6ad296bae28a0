"""What must be so once everything is over, whatever went wrong on the way."""

from collections import Counter
from datetime import timedelta
from typing import Any

from a2a_serverless.aws.endpoint_table import ENDPOINT, PLACES
from a2a_serverless.aws.keys import task_text
from a2a_serverless.aws.push_table import FETCHED, LOG, PUSH
from a2a_serverless.aws.settings import EVIDENCE_PREFIX, HEAD, PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE
from a2a_serverless.aws.stream_images import changed_heads
from a2a_serverless.aws.task_table import JOURNAL
from a2a_serverless.core.head import Head
from functions import wiring

from .scripts import Script
from .world import World

Object = dict[str, Any]


def everything(world: World, script: Script, task_id: str) -> None:
    """Every check; an AssertionError says which failed."""
    heads = world.heads()
    assert list(heads) == [task_id], f"one send makes one task: {list(heads)}"
    head = heads[task_id]
    with world.uncounted():
        task = world.partner.get(task_id)
    ends_as_it_should(world, script, head, task)
    nothing_follows_the_end(world)
    nothing_is_lost_or_doubled(world, script, task)
    turns_take_effect_once(world, head)
    everybody_is_informed(world, script, head)
    nothing_is_held(world, head)
    nothing_lies_about(world, head)
    dead_letters_are_right(world, script)


def ends_as_it_should(world: World, script: Script, head: Head, task: Object) -> None:
    assert head.state.name in script.ends, f"ended {head.state.name}, should be {sorted(script.ends)}"
    if head.state.name != "COMPLETED":
        return
    answers = [artifact for artifact in task.get("artifacts", ()) if artifact["name"] == "answer"]
    assert len(answers) == 1, f"one answer: {answers}"
    names = [artifact["name"] for artifact in task["artifacts"]]
    assert len(names) == len(set(names)), f"an artifact is there twice: {names}"
    assert len(answers[0]["parts"]) == script.parts, f"{script.parts} parts: {len(answers[0]['parts'])}"
    if script.answer:
        text = answers[0]["parts"][0]["text"]
        assert text.endswith(script.answer), f"the answer ends with {script.answer!r}: {text[-80:]!r}"


def nothing_follows_the_end(world: World) -> None:
    """One terminal state, and no entry behind it; versions rise one by one."""
    version, ended = 0, None
    for record in world.table.records:
        if record["eventName"] == "REMOVE":
            continue
        _, new = changed_heads(record)
        assert new.version in {version, version + 1}, f"version {new.version} follows {version}"
        version = new.version
        if ended is not None:
            assert (new.state, new.entries) == (ended.state, ended.entries), f"{ended.state} was not the end"
        ended = new if new.is_over else None


def nothing_is_lost_or_doubled(world: World, script: Script, task: Object) -> None:
    everything_said = [message["messageId"] for message in task["history"]]
    assert Counter(everything_said).most_common(1)[0][1] == 1, f"a message is there twice: {everything_said}"
    said = [message["messageId"] for message in task["history"] if message["role"] == "ROLE_USER"]
    lost = set(world.accepted.get(task["id"], ())) - set(said)
    assert not lost, f"accepted and lost: {lost}"
    if task["status"]["state"] != "TASK_STATE_CANCELED":
        assert len(said) == script.messages, f"{script.messages} messages: {said}"


def turns_take_effect_once(world: World, head: Head) -> None:
    """No attempt of a turn ran twice, and the numbers of its attempts rise."""
    attempts: dict[str, list[int]] = {}
    for _, answered, attempt in world.ledger.began:
        attempts.setdefault(answered, []).append(attempt)
    for answered, numbers in attempts.items():
        assert numbers == sorted(set(numbers)), f"attempts at {answered}: {numbers}"
    if head.state.name == "CANCELED":
        assert head.key.task_id in world.ledger.cleaned, "the agent was never told of the cancel"


def everybody_is_informed(world: World, script: Script, head: Head) -> None:
    if not script.has_hook or script.given_up:
        return
    told = [heard for heard in world.partner.heard if heard.task_id == head.key.task_id]
    newest = max((heard.seq for heard in told), default=0)
    assert newest == head.nudge_seq, f"told up to {newest}, the task is at {head.nudge_seq}"
    assert world.partner.knows(head.key.task_id, head.state.name), "the partner does not know how it ended"
    late = next(heard.at for heard in told if heard.seq == newest) - (head.status.timestamp or head.created_at)
    assert late <= script.told_within, f"told {late} after the end"
    for state in script.heard:
        assert world.partner.knows(head.key.task_id, state), f"the partner was never told of {state}"


def nothing_is_held(world: World, head: Head) -> None:
    assert head.lease is None, f"leased: {head.lease}"
    assert head.wait is None, f"waits: {head.wait}"
    assert not head.wait_token, "a token is left"
    assert not world.turns.messages, f"turns queued: {world.turns.messages}"
    assert not world.nudges.messages, f"nudges queued: {world.nudges.messages}"
    assert not world.scheduler.kept, f"schedules: {world.scheduler.kept}"
    assert not world.machine.running, f"still waiting: {list(world.machine.running)}"
    assert not world.machine.failed, f"executions failed: {world.machine.failed}"
    assert not world.lost_records, "the stream gave up on a record"
    now = world.clock()
    with world.uncounted():
        for config in head.push:
            state = wiring.push().delivery(head.key, config)
            assert state.pending is None, f"pending for ever: {state}"
            assert state.claimed_until is None or state.claimed_until <= now, f"claimed: {state}"
    for item in world.table.items():
        if item[PARTITION_KEY]["S"].startswith(ENDPOINT):
            taken = [place for place in item.get(PLACES, {"SS": []})["SS"] if _free_at(place) > now.timestamp()]
            assert not taken, f"places held: {taken}"


def _free_at(place: str) -> float:
    return int(place.partition("-")[0]) / 1000


def nothing_lies_about(world: World, head: Head) -> None:
    """Whatever has no end of its own belongs to the task, and goes with it."""
    partition = task_text(head.key)
    mine = [item for item in world.table.items() if item[PARTITION_KEY]["S"] == partition]
    known = (HEAD, JOURNAL, PUSH, LOG, FETCHED)
    strange = [item[SORT_KEY]["S"] for item in mine if not item[SORT_KEY]["S"].startswith(known)]
    assert not strange, f"strange items: {strange}"
    for item in world.table.items():
        if item not in mine:
            assert TTL_ATTRIBUTE in item, f"never forgotten: {item[PARTITION_KEY]['S']} {item[SORT_KEY]['S']}"
    orphans = {item[SORT_KEY]["S"].removeprefix(PUSH) for item in mine if item[SORT_KEY]["S"].startswith(PUSH)}
    orphans -= set(head.push)
    assert not orphans, f"webhooks that the task does not name, with their secrets: {orphans}"


def dead_letters_are_right(world: World, script: Script) -> None:
    assert bool(world.nudges_dead.messages) is script.given_up, f"dead nudges: {world.nudges_dead.messages}"
    assert not world.nudges.dead, f"SQS gave up on {world.nudges.dead}"
    assert not world.turns.dead, f"SQS gave up on {world.turns.dead}"
    assert bool(world.turns_dead.messages) is script.buried, f"dead turns: {world.turns_dead.messages}"


def forgotten(world: World) -> None:
    """The TTL takes the head, and everything of the task goes with it."""
    (head,) = world.heads().values()
    assert head.expires_at is not None
    world.clock.now = head.expires_at + timedelta(hours=1)
    key = {name: {"S": value} for name, value in ((PARTITION_KEY, _partition(world)), (SORT_KEY, HEAD))}
    world.table.ask("delete_item", {"TableName": "faults", "Key": key})
    world.drain()
    left = [item for item in world.table.items() if TTL_ATTRIBUTE not in item]
    assert not left, f"left behind: {left}"
    kept = [name for name in world.s3.kept if not name.startswith(EVIDENCE_PREFIX)]
    assert not kept, f"left behind in the bucket: {kept}"


def _partition(world: World) -> str:
    partition: str = next(i[PARTITION_KEY]["S"] for i in world.table.items() if i[SORT_KEY]["S"] == HEAD)
    return partition
