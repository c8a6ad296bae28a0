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
