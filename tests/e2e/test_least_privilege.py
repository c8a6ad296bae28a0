"""No role may do more than its hop needs: each permission is taken away on its own, and the flow notices.

The roles of the running stack are changed through IAM, one action on one resource at a time, and put back. What brings
the hop to use the permission runs meanwhile, and somewhere a call must be denied, by that action on that resource.
The stack runs with `STRICT_IAM`, so nothing but these policies lets any call through.
"""

import base64
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import Any, Final

import pytest

from a2a_serverless.local.stack import LocalStack

from .conftest import AGENTS, HOPS
from .hooks import Hook, Hooks, Said
from .wire import Object, RpcError, Wire, eventually

PATIENCE: Final = 30.0
"""Seconds until a denial must be seen: a mapping that was denied looks again after five, an RSA key takes a few."""
BY_LONG_WAIT: Final = Said(429, (("Retry-After", "1800"),))
"""Longer than a queue can hold a nudge back."""
LONG_AGO: Final = "2000-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Permission:
    """One action on one resource in one role."""

    role: str
    policy: str
    action: str
    resource: str
    condition: str
    """As JSON text; empty without."""

    @property
    def hop(self) -> str:
        """What the role belongs to, as the template calls it: `Api`, `RunTurn`, `AwaitInput`."""
        return self.role.split("-")[1].partition("Role")[0]

    def __str__(self) -> str:
        return f"{self.hop} {self.action} {self.resource.rpartition(':')[2]} {self.condition}".strip()


@dataclass(frozen=True)
class Roles:
    """The inline policies of the stack's roles."""

    iam: Any

    def permissions(self) -> list[Permission]:
        """All of them, one by one."""
        return [
            Permission(role, policy, action, resource, json.dumps(condition) if condition else "")
            for role, policy in self._policies()
            for statement in self._statements(role, policy)
            for action in _listed(statement["Action"])
            for resource in _listed(statement["Resource"])
            for condition in [statement.get("Condition")]
        ]

    @contextmanager
    def without(self, taken: Permission) -> Iterator[None]:
        """A while without one permission."""
        before = self._statements(taken.role, taken.policy)
        self._put(taken, [kept for one in before for kept in _less(one, taken)])
        try:
            yield
        finally:
            self._put(taken, before)

    def _put(self, about: Permission, statements: list[Object]) -> None:
        named = {"RoleName": about.role, "PolicyName": about.policy}
        if statements:
            document = json.dumps({"Version": "2012-10-17", "Statement": statements})
            self.iam.put_role_policy(**named, PolicyDocument=document)
        else:
            self.iam.delete_role_policy(**named)

    def _policies(self) -> list[tuple[str, str]]:
        roles = [role["RoleName"] for role in self.iam.list_roles()["Roles"]]
        return [(role, name) for role in roles for name in self.iam.list_role_policies(RoleName=role)["PolicyNames"]]

    def _statements(self, role: str, policy: str) -> list[Object]:
        document = self.iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
        statements: list[Object] = (json.loads(document) if isinstance(document, str) else document)["Statement"]
        return statements


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _less(statement: Object, taken: Permission) -> list[Object]:
    """A statement without one action on one resource; it may fall apart into several, or into none."""
    condition = json.dumps(statement["Condition"]) if statement.get("Condition") else ""
    actions, resources = _listed(statement["Action"]), _listed(statement["Resource"])
    if taken.action not in actions or taken.resource not in resources or condition != taken.condition:
        return [statement]
    others = {**statement, "Action": [action for action in actions if action != taken.action]}
    elsewhere = {
        **statement,
        "Action": [taken.action],
        "Resource": [resource for resource in resources if resource != taken.resource],
    }
    return [kept for kept in (others, elsewhere) if kept["Action"] and kept["Resource"]]


@dataclass
class Flow:
    """The stack at work: what brings each hop to use what it may do."""

    stack: LocalStack
    wire: Wire
    servers: list[Hooks] = field(default_factory=list)
    stuck: dict[str, Object] = field(default_factory=dict)
    """Tasks that do not go on by themselves, by what they lack."""

    @cached_property
    def functions(self) -> Any:
        """The API of the functions."""
        return self.stack.client("lambda")

    @cached_property
    def queues(self) -> Any:
        """The API of the queues."""
        return self.stack.client("sqs")

    @cached_property
    def items(self) -> Any:
        """The API of the table."""
        return self.stack.client("dynamodb")

    @cached_property
    def logs(self) -> Any:
        """The API of the logs."""
        return self.stack.client("logs")

    def out(self, name: str) -> str:
        """An output of the stack."""
        return self.stack.outputs[name]

    def hook(self, *answers: int | Said) -> Hook:
        """A partner on a port of its own: an endpoint that fails is left alone, whatever its path."""
        self.servers.append(Hooks())
        return self.servers[-1].hook(*answers)

    # What each hop is brought to do. Nothing here waits for what a missing permission would prevent.

    def api(self) -> None:
        """Every operation, on tasks that are long in every way."""
        asked = self.begin("ask", size=600_000, push=webhook(self.hook()))
        for method, params in (
            ("GetTask", {"id": "unknown"}),
            ("GetTask", {"id": asked["id"]}),
            ("ListTasks", {}),
            ("CreateTaskPushNotificationConfig", {"taskId": asked["id"], "id": "one", **webhook(self.hook())}),
            ("ListTaskPushNotificationConfigs", {"taskId": asked["id"]}),
            ("deliveries/ping", {"taskId": asked["id"], "id": "one"}),
            ("DeleteTaskPushNotificationConfig", {"taskId": asked["id"], "id": "one"}),
            ("CancelTask", {"id": asked["id"]}),
        ):
            self.wire.post(method, params)

    def list_long_statuses(self) -> None:
        """A list of tasks of which one has more to say than the index holds."""
        task = self.wire.begin(f"wait {'0' * 600}2")
        self.wire.until(task["id"], "WORKING")
        eventually(lambda: "0" * 600 in str(self.wire.get(task["id"])["status"]) or None)
        self.wire.post("ListTasks", {})

    def sign_card(self) -> None:
        """The card is signed with a new key, by a process that holds none."""
        key = {"pk": {"S": "KEYS"}, "sk": {"S": "CARD"}}
        self.items.delete_item(TableName=self.out("Table"), Key=key)
        self.end_processes("api")
        for _ in range(3):  # the first may meet a process on its way out
            self.wire.rest("GET", "/.well-known/agent-card.json")

    def run_turn(self) -> None:
        """Turns that read and write what is long, and what a context remembers."""
        asked = self.begin("ask", size=300_000)
        self.begin("42", task=asked["id"])
        self.begin("big 300000")
        kept = self.begin("remember the milk")
        self.begin("recall", context=kept["contextId"])
        self.begin("auth")

    def bury_turn(self) -> None:
        """A turn that kills its worker; its lease is a second, so that its message need not be waited for."""
        task = self.begin("crash")
        body = json.dumps({"pk": partition_of(task), "turn": 1})
        for _ in range(4):
            time.sleep(1.2)
            self.queues.send_message(QueueUrl=self.out("TurnsQueue"), MessageBody=body)

    def relay(self) -> None:
        """Turns, waits that begin and end, and nudges."""
        self.begin("ask", push=webhook(self.hook()))

    def end_wait(self) -> None:
        """A wait that is held, and answered."""
        asked = self.wire.send("ask")
        eventually(lambda: "wait_token" in self.head_of(asked) or None)
        self.begin("42", task=asked["id"])

    def forget_task(self) -> None:
        """A task whose time is over: its head is gone, and its segments and webhooks follow."""
        task = self.begin("echo x", size=300_000, push=webhook(self.hook()))
        key = {"pk": {"S": partition_of(task)}, "sk": {"S": "HEAD"}}
        self.items.delete_item(TableName=self.out("Table"), Key=key)

    def give_up_records(self) -> None:
        """A change that nobody can read."""
        (mapping,) = self.mappings("Relay")
        self.functions.update_event_source_mapping(UUID=mapping["UUID"], MaximumRetryAttempts=0)
        self.put(pk=f"no/task/{time.monotonic_ns()}", sk="HEAD")

    def notify(self) -> None:
        """Webhooks with secrets, to partners that answer and that fail."""
        for hook in (self.hook(200), self.hook(500)):
            self.begin("ask", push=webhook(hook))

    def sign_with_new_keys(self) -> None:
        """A process that has no key yet makes one, and opens it."""
        self.forget_keys()
        self.end_processes("notify")
        self.notify()

    def pause_long(self) -> None:
        """A webhook is put off, and then put off again."""
        task = self.wire.send("ask-twice", push=webhook(self.hook(BY_LONG_WAIT)))
        eventually(lambda: self.pending_config_of(task))
        self.begin("one", task=task["id"])

    def fetch_in_a_pause(self) -> None:
        """A webhook is put off, and its owner fetches the task meanwhile."""
        task = self.wire.send("ask", push=webhook(self.hook(BY_LONG_WAIT)))
        config = eventually(lambda: self.pending_config_of(task))
        self.wire.get(task["id"])
        self.nudge_again(config)

    def come_back(self) -> None:
        """A pause is over."""
        task = self.wire.send("ask", push=webhook(self.hook(BY_LONG_WAIT)))
        eventually(lambda: self.pending_config_of(task))
        schedules = self.stack.client("scheduler")
        found = eventually(lambda: schedules.list_schedules()["Schedules"])[-1]
        whole = schedules.get_schedule(GroupName=found["GroupName"], Name=found["Name"])
        soon = (datetime.now(tz=UTC) + timedelta(seconds=2)).strftime("at(%Y-%m-%dT%H:%M:%S)")
        kept = ("GroupName", "Name", "Target", "FlexibleTimeWindow", "ScheduleExpressionTimezone")
        schedules.update_schedule(**{name: whole[name] for name in kept}, ScheduleExpression=soon)

    def give_up_nudge(self) -> None:
        """A nudge that was tried as often as it may be."""
        task = self.wire.send("ask", push=webhook(self.hook(500)))
        config = eventually(lambda: self.pending_config_of(task))
        told = json.loads(config["delivery"]["S"])
        told["pending"] |= {"attempts": 12, "spent": 12, "next": 0}
        told.pop("claimed", None)
        self.change(config, "SET delivery = :value", {"S": json.dumps(told)})
        self.nudge_again(config)

    def nudge_again(self, config: Any) -> None:
        """Bring a webhook's nudge to the attention of notify."""
        seq = json.loads(config["delivery"]["S"])["pending"]["seq"]
        body = json.dumps({"pk": config["pk"]["S"], "config": config["sk"]["S"].partition("#")[2], "seq": seq})
        self.queues.send_message(QueueUrl=self.out("NudgesQueue"), MessageBody=body)

    def expire(self) -> None:
        """A deadline that passes over a journal of several segments."""
        with self.unfed("RunTurn"):
            task = self.begin("expire 1", size=20_000)
            for _ in range(2):
                self.begin("and another thing", task=task["id"], size=20_000)

    def expire_with_little_room(self) -> None:
        """Deadlines whose last word makes the head overflow, for one of them at least."""
        for size in range(3_200, 4_300, 100):
            self.begin("expire 1", size=size)

    def sweep(self, kind: str = "turn") -> None:
        """What is stuck in this way is due at once, and no key is there."""
        self.forget_keys()
        self.change(self.head_of(self.stuck[kind]), "SET due_at = :value", {"S": LONG_AGO})
        self.functions.invoke(FunctionName=self.function("Sweep"), Payload=b"{}")

    def sweep_in_vain(self) -> None:
        """A sweep that nobody waits for, and that fails for good."""
        name = self.function("Sweep")
        target = self.queue_arn("SweepDeadLetters")
        # The embedded CloudFormation leaves a function's DeadLetterConfig out.
        self.functions.update_function_configuration(FunctionName=name, DeadLetterConfig={"TargetArn": target})
        self.functions.put_function_event_invoke_config(FunctionName=name, MaximumRetryAttempts=0)
        self.put(pk="KEYS", sk="SIGN#ES256#000001")
        self.functions.invoke(FunctionName=name, InvocationType="Event", Payload=b"{}")

    def sweep_what_cannot_be_read(self) -> None:
        """A sweep that has something to say."""
        self.forget_keys()
        self.put(pk="scripted//anonymous/poison", sk="HEAD", due_shard="0", due_at=LONG_AGO)
        self.functions.invoke(FunctionName=self.function("Sweep"), Payload=b"{}")

    # The stack's insides, as its account's root sees them.

    def begin(self, text: str, *, size: int = 5_000, **told: Any) -> Object:
        """A task whose message has so many bytes that cannot be compressed; none if the api may not even begin it."""
        padding = base64.b64encode(os.urandom(size * 3 // 4)).decode()
        with suppress(RpcError, AssertionError):
            return self.wire.begin(text, parts=[{"text": text}, {"data": {"padding": padding}}], **told)
        return {"id": "none", "contextId": "none"}

    def end_processes(self, hop: str) -> None:
        """New ones begin with nothing."""
        for pid in self.stack.workers(hop):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def function(self, part: str) -> str:
        """The name of a part's function."""
        found = self.functions.list_functions()["Functions"]
        return next(str(one["FunctionName"]) for one in found if f"-{part}Function" in one["FunctionName"])

    def mappings(self, part: str) -> list[Any]:
        """What feeds a part's function."""
        name = self.function(part)
        found: list[Any] = self.functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
        return found

    def queue_arn(self, output: str) -> str:
        """The ARN of a queue."""
        names = ["QueueArn"]
        found = self.queues.get_queue_attributes(QueueUrl=self.out(output), AttributeNames=names)
        return str(found["Attributes"]["QueueArn"])

    def items_of(self, partition: str) -> list[Any]:
        """All items of a partition."""
        found: list[Any] = self.items.query(
            TableName=self.out("Table"),
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": partition}},
        )["Items"]
        return found

    def head_of(self, task: Object) -> Any:
        """The head of a task as it is stored."""
        return next(item for item in self.items_of(partition_of(task)) if item["sk"]["S"] == "HEAD")

    def pending_config_of(self, task: Object) -> Any:
        """The webhook of a task, once a nudge of it failed and nobody is at it."""
        return next((item for item in self.items_of(partition_of(task)) if _is_pending(item)), None)

    def forget_keys(self) -> None:
        """Whoever misses the signing keys first makes them anew."""
        for item in self.items_of("KEYS"):
            if item["sk"]["S"] == "CARD":
                continue
            self.items.delete_item(TableName=self.out("Table"), Key={"pk": item["pk"], "sk": item["sk"]})

    def put(self, **attributes: str) -> None:
        """Write an item behind the product's back."""
        item = {name: {"S": value} for name, value in attributes.items()}
        self.items.put_item(TableName=self.out("Table"), Item=item)

    def change(self, item: Any, update: str, value: Any = None) -> None:
        """Change a stored item behind the product's back."""
        values = {"ExpressionAttributeValues": {":value": value}} if value else {}
        key = {"pk": item["pk"], "sk": item["sk"]}
        self.items.update_item(TableName=self.out("Table"), Key=key, UpdateExpression=update, **values)

    @contextmanager
    def unfed(self, part: str) -> Iterator[None]:
        """A while in which a part's function gets nothing from its queue."""
        (mapping,) = self.mappings(part)
        self.functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
        try:
            yield
        finally:
            self.functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)

    def lose(self, queue: str, task: Object) -> None:
        """Take a message about a task out of a queue."""

        def look() -> Any:
            found = self.queues.receive_message(QueueUrl=self.out(queue), MaxNumberOfMessages=10, WaitTimeSeconds=1)
            for message in found.get("Messages", []):
                self.queues.delete_message(QueueUrl=self.out(queue), ReceiptHandle=message["ReceiptHandle"])
            return any(task["id"] in message["Body"] for message in found.get("Messages", [])) or None

        eventually(look)

    def make_stuck(self) -> None:
        """Tasks whose turn, nudge or wait was lost, long ago: the sweep leaves what is younger than a minute alone."""
        with self.unfed("RunTurn"):
            self.stuck["turn"] = self.begin("echo x")
            self.lose("TurnsQueue", self.stuck["turn"])
        with self.unfed("Notify"):
            self.stuck["nudge"] = self.wire.send("ask", push=webhook(self.hook()))
            self.lose("NudgesQueue", self.stuck["nudge"])
        self.stuck["wait"] = self.wire.send("ask")
        self.stuck["deadline"] = self.wire.send("expire 3")
        states = self.stack.client("stepfunctions")
        for kind in ("wait", "deadline"):
            task = self.stuck[kind]
            eventually(lambda task=task: "wait_token" in self.head_of(task) or None)  # type: ignore[misc]
            for execution in states.list_executions(stateMachineArn=self.out("WaitMachine"))["executions"]:
                if execution["name"].startswith(task["id"]):
                    states.stop_execution(executionArn=execution["executionArn"])
        self.change(self.head_of(self.stuck["wait"]), "REMOVE wait_token")
        for task in self.stuck.values():
            self.grow_old(task)

    def grow_old(self, task: Object) -> None:
        """A task that has stood where it stands for an hour; it is due when its test says so."""
        self.change(self.head_of(task), "SET listed = :value", {"S": f"{hour_ago()}#{task['id']}"})
        head = self.head_of(task)
        rest = json.loads(head["head"]["S"])
        if "wait" in rest:
            rest["wait"]["until"] -= 3_600_000
        self.change(head, "SET head = :value", {"S": json.dumps(rest)})
        self.change(head, "SET due_at = :value", {"S": "2999-01-01T00:00:00.000Z"})


def webhook(to: Hook) -> Object:
    """A webhook with a secret."""
    return {"url": to.url, "token": "t" * 24}


def hour_ago() -> str:
    """As the stored items write it."""
    return (datetime.now(tz=UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _is_pending(item: Any) -> bool:
    told = json.loads(item.get("delivery", {}).get("S", "{}"))
    return "pending" in told and "claimed" not in told


def partition_of(task: Object) -> str:
    """The partition key of a task of the anonymous caller."""
    return f"scripted//anonymous/{task['id']}"


USES: Final[tuple[tuple[str, Callable[[Flow], None]], ...]] = (
    ("Api dynamodb:BatchGetItem", Flow.list_long_statuses),
    ("Api .*card-key", Flow.sign_card),
    ("Api ", Flow.api),
    ("Expire dynamodb:PutItem", Flow.expire_with_little_room),
    ("AwaitInput |Expire ", Flow.expire),
    ("RunTurn sqs:SendMessage", Flow.bury_turn),
    ("RunTurn ", Flow.run_turn),
    ("Relay states:SendTaskSuccess", Flow.end_wait),
    ("Relay dynamodb:(Query|DeleteItem)", Flow.forget_task),
    ("Relay sqs:SendMessage .*DeadLetters", Flow.give_up_records),
    ("Relay ", Flow.relay),
    ("Notify sqs:SendMessage .*DeadLetters", Flow.give_up_nudge),
    ("Notify scheduler:DeleteSchedule", Flow.fetch_in_a_pause),
    ("Notify (scheduler|iam):", Flow.pause_long),
    ("Notify (.*signing-keys|dynamodb:Query)", Flow.sign_with_new_keys),
    ("Notify ", Flow.notify),
    ("NotifyLater ", Flow.come_back),
    ("Sweep sqs:SendMessage .*DeadLetters", Flow.sweep_in_vain),
    ("Sweep logs:", Flow.sweep_what_cannot_be_read),
    ("Sweep sqs:SendMessage .*Nudges", partial(Flow.sweep, kind="nudge")),
    ("Sweep states:", partial(Flow.sweep, kind="wait")),
    ("Sweep dynamodb:(GetItem|PutItem|Query)", partial(Flow.sweep, kind="deadline")),
    ("Sweep ", Flow.sweep),
)
"""What uses a permission: the first whose pattern fits."""


def bring_about(flow: Flow, taken: Permission) -> None:
    """Let the hop do what needs this permission."""
    use = next(use for pattern, use in USES if re.match(pattern, str(taken)))
    use(flow)


def said(flow: Flow) -> dict[str, int]:
    """How much was said so far, by whom."""
    return {"": len(flow.stack.stderr), **{hop: len(flow.stack.log_of(hop)) for hop in HOPS}}


def denied(flow: Flow, taken: Permission, since: dict[str, int]) -> bool:
    """Whether a call in this role was denied for want of this action: nothing else is missing from the role."""
    texts = [flow.stack.stderr[since[""] :], *(flow.stack.log_of(hop)[since[hop] :] for hop in HOPS)]
    if taken.hop == "AwaitInput":
        texts += histories(flow)
    sentence = re.compile(rf"assumed-role/{taken.role}/\S+ is not authorized to perform: {taken.action} ")
    return any(sentence.search(text) for text in texts)


def histories(flow: Flow) -> list[str]:
    """What befell the waits that are under way or have failed."""
    states = flow.stack.client("stepfunctions")
    found = states.list_executions(stateMachineArn=flow.out("WaitMachine"))["executions"]
    return [
        json.dumps(states.get_execution_history(executionArn=one["executionArn"])["events"], default=str)
        for one in found[:5]
        if one["status"] in ("RUNNING", "FAILED")
    ]


def is_missed(flow: Flow, taken: Permission, since: dict[str, int]) -> bool:
    """Whether the flow notices that this permission is gone. `since` is from before it went: a mapping that is denied
    says so once, and it may look at any time."""
    if taken.action.startswith("logs:"):
        return is_silent(flow, taken)
    bring_about(flow, taken)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if denied(flow, taken, since):
            return True
        time.sleep(0.05)
    return False


def is_silent(flow: Flow, taken: Permission) -> bool:
    """Whether a hop that works leaves nothing in its log group."""
    group = taken.resource.split(":log-group:")[1].removesuffix(":*")
    hop = next(hop for hop in HOPS if hop.replace("_", "") == taken.hop.lower())

    def lines() -> int:
        return len(flow.logs.filter_log_events(logGroupName=group)["events"])

    before, since = lines(), said(flow)[hop]
    bring_about(flow, taken)
    eventually(lambda: len(flow.stack.log_of(hop)) > since or None, PATIENCE)
    return lines() == before


@pytest.fixture(scope="module")
def flow() -> Iterator[Flow]:
    """A stack of its own: leases are short, and nothing sweeps but the test."""
    env = {"A2A_LEASE_SECONDS": "1"}
    with LocalStack(agents={"scripted": AGENTS["scripted"]}, strict_iam=True, env=env) as stack:
        events = stack.client("events")
        for rule in events.list_rules()["Rules"]:
            events.disable_rule(Name=rule["Name"])
        running = Flow(stack, Wire(stack.url))
        running.make_stuck()
        yield running
        running.wire.close()
        for server in running.servers:
            server.close()


ORDER: Final = ("Api", "AwaitInput", "Expire", "RunTurn", "Relay", "Notify", "Later", "Sweep")
"""The way that a task goes."""


def test_each_permission_is_missed_when_it_is_taken_away(flow: Flow, subtests: pytest.Subtests) -> None:
    roles = Roles(flow.stack.client("iam"))
    all_of_them = sorted(roles.permissions(), key=lambda permission: _place(permission.hop))

    assert len(all_of_them) > 50
    for permission in all_of_them:
        since = said(flow)
        with subtests.test(str(permission)), roles.without(permission):
            assert is_missed(flow, permission, since), f"nobody missed it: {permission}"


def _place(hop: str) -> int:
    return next((place for place, name in enumerate(ORDER) if name in hop), len(ORDER))
