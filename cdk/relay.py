"""Relay: every committed change leaves the table here, and what must follow from it is carried out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsii
from aws_cdk import Duration, aws_lambda, aws_sqs, aws_stepfunctions
from constructs import Construct

from a2a_serverless.aws.settings import HEAD, SORT_KEY, Variable

from .function import HopFunction, Host, accept
from .queues import dead_letters
from .tasks import Tasks


@dataclass(frozen=True)
class Effects:
    """Where that goes which must follow from a change."""

    turns: aws_sqs.Queue
    nudges: aws_sqs.Queue
    machine: aws_stepfunctions.StateMachine

    @property
    def environment(self) -> Mapping[Variable, str]:
        """What a function that carries out effects is told."""
        return {
            Variable.TURNS_QUEUE: self.turns.queue_url,
            Variable.NUDGES_QUEUE: self.nudges.queue_url,
            Variable.WAIT_MACHINE: self.machine.state_machine_arn,
        }

    def allow_carrying_out(self, function: HopFunction) -> None:
        """Turns and nudges are queued, waits are started."""
        function.may("sqs:SendMessage", on=self.turns.queue_arn)
        function.may("sqs:SendMessage", on=self.nudges.queue_arn)
        function.may("states:StartExecution", on=self.machine.state_machine_arn)

    def allow_ending_waits(self, function: HopFunction) -> None:
        """A wait that was answered is let go of."""
        function.may("states:SendTaskSuccess", on=self.machine.state_machine_arn)


class Relay(Construct):
    """Every committed change leaves the table here, and what follows from it is started."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        host: Host,
        tasks: Tasks,
        effects: Effects,
    ) -> None:
        super().__init__(scope, name)
        self.dead_letters = dead_letters(self, "DeadLetters", host=host)
        accept(self.dead_letters, "SQS3", because="it holds the dead letters of a stream, not of another queue")
        self.function = HopFunction(
            self,
            "relay",
            host=host,
            timeout=Duration.minutes(1),
            memory=256,
            environment={
                Variable.TABLE: tasks.table.table_name,
                **effects.environment,
            },
        )
        self.function.may("dynamodb:Query", "dynamodb:DeleteItem", on=tasks.arn)
        tasks.allow_forgetting_parts(self.function)
        effects.allow_carrying_out(self.function)
        effects.allow_ending_waits(self.function)
        self.function.may("sqs:SendMessage", on=self.dead_letters.queue_arn)
        self._follow(tasks)

    def _follow(self, tasks: Tasks) -> None:
        """Hand every change of a task's head to the function, and what it cannot do to the dead letters."""
        self.function.may(
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
            on=tasks.stream_arn,
        )
        aws_lambda.EventSourceMapping(
            self,
            "FromTable",
            target=self.function,
            event_source_arn=tasks.stream_arn,
            starting_position=aws_lambda.StartingPosition.TRIM_HORIZON,
            filters=[_head_changed()],
            batch_size=25,
            parallelization_factor=4,  # order is kept per partition key, and a task is one
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
            retry_attempts=10,
            max_record_age=Duration.hours(20),  # a stream forgets after 24
            on_failure=_Failed(self.dead_letters),
        )


@jsii.implements(aws_lambda.IEventSourceDlq)
class _Failed:
    """Where records go that could not be relayed. Lambda sends as the function, which may do that and no more."""

    def __init__(self, queue: aws_sqs.Queue) -> None:
        self._queue = queue

    def bind(
        self, target: aws_lambda.IEventSourceMapping, target_handler: aws_lambda.IFunction
    ) -> aws_lambda.DlqDestinationConfig:
        del target, target_handler
        return aws_lambda.DlqDestinationConfig(destination=self._queue.queue_arn)


def _head_changed() -> Mapping[str, Any]:
    """The stream's filter: a task's head was created, changed or deleted; other items say nothing to anybody."""
    return aws_lambda.FilterCriteria.filter(
        {
            "dynamodb": {"Keys": {SORT_KEY: {"S": aws_lambda.FilterRule.is_equal(HEAD)}}},
        }
    )
