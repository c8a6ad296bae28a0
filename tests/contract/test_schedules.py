"""EventBridge: one-time schedules that reach a queue, and rules that call a function."""

import time

from .conftest import Cloud, eventually


def test_a_one_time_schedule_reaches_its_queue_and_is_gone(cloud: Cloud) -> None:
    queue, scheduler = cloud.queue(), cloud.client("scheduler")
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 1))
    name = f"once-{time.monotonic_ns()}"
    scheduler.create_schedule(
        Name=name,
        ScheduleExpression=f"at({at})",
        FlexibleTimeWindow={"Mode": "OFF"},
        ActionAfterCompletion="DELETE",
        Target={"Arn": queue.arn, "RoleArn": cloud.role(service="scheduler"), "Input": '{"nudge": 1}'},
    )

    assert cloud.receive(queue)["Body"] == '{"nudge": 1}'
    listed = eventually(
        lambda: [s["Name"] for s in scheduler.list_schedules()["Schedules"] if s["Name"] == name] or ["gone"]
    )
    assert listed == ["gone"]


def test_a_schedule_whose_role_may_not_send_reaches_nothing(cloud: Cloud) -> None:
    queue, scheduler = cloud.queue(), cloud.client("scheduler")
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time()))
    powerless = cloud.role(
        {"Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": queue.arn}, service="scheduler"
    )

    scheduler.create_schedule(
        Name=f"denied-{time.monotonic_ns()}",
        ScheduleExpression=f"at({at})",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": queue.arn, "RoleArn": powerless, "Input": "{}"},
    )

    assert cloud.peek(queue, seconds=2) is None


CALLS_SCHEDULER = """
import boto3
from botocore.exceptions import ClientError
def handler(event, context):
    try:
        boto3.client("scheduler").__getattribute__(event["call"])(**event["with"])
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "allowed"
"""


def test_a_schedule_is_made_and_cancelled_by_whoever_may_write_in_its_group_and_pass_its_role(cloud: Cloud) -> None:
    queue, group = cloud.queue(), f"group-{time.monotonic_ns()}"
    cloud.client("scheduler").create_schedule_group(Name=group)
    sends = cloud.role(service="scheduler")
    arn = f"arn:aws:scheduler:us-east-1:000000000000:schedule/{group}/*"
    writes = allow(["scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule"], arn)
    passes = allow("iam:PassRole", sends, to="scheduler.amazonaws.com")
    elsewhere = allow("iam:PassRole", sends, to="lambda.amazonaws.com")
    schedule = {
        "Name": "later",
        "GroupName": group,
        "ScheduleExpression": "at(2099-01-01T00:00:00)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": queue.arn, "RoleArn": sends, "Input": "{}"},
    }

    def outcome(*statements: dict[str, object], call: str = "create_schedule") -> object:
        function = cloud.function(CALLS_SCHEDULER, role=cloud.role(*statements))
        named = {"Name": "later", "GroupName": group}
        return cloud.invoke(function, {"call": call, "with": named if call == "delete_schedule" else schedule})[1]

    assert outcome(writes) == "AccessDeniedException"
    assert outcome(passes) == "AccessDeniedException"
    assert outcome(writes, elsewhere) == "AccessDeniedException"
    assert outcome(writes, passes) == "allowed"
    assert outcome(writes, passes, call="update_schedule") == "allowed"
    assert outcome(passes, call="delete_schedule") == "AccessDeniedException"
    assert outcome(writes, call="delete_schedule") == "allowed"


def allow(action: object, resource: str, *, to: str = "") -> dict[str, object]:
    """A statement that allows something; `to` names the service a role may be passed to."""
    bound = {"Condition": {"StringEquals": {"iam:PassedToService": to}}} if to else {}
    return {"Effect": "Allow", "Action": action, "Resource": resource, **bound}
