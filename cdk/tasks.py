"""Tasks: the table, the queue of turns, and the hops that follow from what is stored (`run_turn`, `relay`, `sweep`)."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import (
    Duration,
    aws_dynamodb,
    aws_events,
    aws_events_targets,
    aws_lambda,
    aws_lambda_event_sources,
    aws_sqs,
    aws_stepfunctions,
)
from constructs import Construct

from a2a_serverless.aws.settings import (
    DUE_INDEX,
    DUE_INDEX_PARTITION,
    DUE_INDEX_SORT,
    HEAD,
    OWNER_INDEX,
    OWNER_INDEX_PARTITION,
    OWNER_INDEX_PROJECTS,
    OWNER_INDEX_SORT,
    PARTITION_KEY,
    SORT_KEY,
    TTL_ATTRIBUTE,
    Variable,
)

from .function import HopFunction, Host, accept, removal, rules
from .queues import dead_letters, feed, work_queue
from .sealing import Sealing

TURN_TIMEOUT = Duration.minutes(15)
"""Lambda's limit: a turn may take as long as a function may run."""


class Tasks(Construct):
    """The table of tasks; its stream is the outbox."""

    def __init__(self, scope: Construct, name: str, *, host: Host) -> None:
        super().__init__(scope, name)
        self.table = aws_dynamodb.Table(
            self,
            "Table",
            partition_key=_text(PARTITION_KEY),
            sort_key=_text(SORT_KEY),
            billing_mode=aws_dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=aws_dynamodb.TableEncryption.DEFAULT,
            point_in_time_recovery_specification=aws_dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            stream=aws_dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            time_to_live_attribute=TTL_ATTRIBUTE,
            deletion_protection=not host.choices.is_local,
            removal_policy=removal(host.choices),
        )
        self.table.add_global_secondary_index(
            index_name=OWNER_INDEX,
            partition_key=_text(OWNER_INDEX_PARTITION),
            sort_key=_text(OWNER_INDEX_SORT),
            projection_type=aws_dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=list(OWNER_INDEX_PROJECTS),
        )
        self.table.add_global_secondary_index(
            index_name=DUE_INDEX,
            partition_key=_text(DUE_INDEX_PARTITION),
            sort_key=_text(DUE_INDEX_SORT),
            projection_type=aws_dynamodb.ProjectionType.KEYS_ONLY,
        )

    @property
    def arn(self) -> str:
        """The table, without its indexes."""
        return self.table.table_arn

    @property
    def owner_index_arn(self) -> str:
        """The list of an owner's tasks."""
        return f"{self.table.table_arn}/index/{OWNER_INDEX}"

    @property
    def due_index_arn(self) -> str:
        """What should have happened by now."""
        return f"{self.table.table_arn}/index/{DUE_INDEX}"

    @property
    def stream_arn(self) -> str:
        """The outbox."""
        return self.table.table_stream_arn or ""  # never empty: the table was made with a stream


class RunTurn(Construct):
    """The queue of turns, and the function that runs one turn of an agent."""

    def __init__(self, scope: Construct, name: str, *, host: Host, tasks: Tasks) -> None:
        super().__init__(scope, name)
        self.dead_letters = dead_letters(self, "DeadLetters", host=host)
        # A message is hidden for as long as a turn may take; the worker shortens that to its lease at once, so that
        # a dead worker's turn comes back after half a minute.
        self.queue = work_queue(self, "Turns", host=host, visibility=TURN_TIMEOUT, dead=self.dead_letters)
        self.function = HopFunction(
            self,
            "run_turn",
            host=host,
            timeout=TURN_TIMEOUT,
            memory=512,
            environment={
                Variable.AGENTS: host.agents.value_as_string,
                Variable.PUBLIC_URL: host.public_url,
                Variable.TABLE: tasks.table.table_name,
                Variable.TURNS_QUEUE: self.queue.queue_url,
                Variable.TURNS_DEAD_LETTERS: self.dead_letters.queue_url,
                **rules(host.choices),
            },
        )
        may = self.function.may
        may("dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", on=tasks.arn)
        may("sqs:ChangeMessageVisibility", on=self.queue.queue_arn)
        may("sqs:SendMessage", on=self.dead_letters.queue_arn)
        feed(self.function, self.queue, batch_size=1, concurrency=host.choices.turn_concurrency)


class Relay(Construct):
    """Every committed change leaves the table here, and what follows from it is started."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        host: Host,
        tasks: Tasks,
        turns: aws_sqs.Queue,
        nudges: aws_sqs.Queue,
        machine: aws_stepfunctions.StateMachine,
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
                Variable.TURNS_QUEUE: turns.queue_url,
                Variable.NUDGES_QUEUE: nudges.queue_url,
                Variable.WAIT_MACHINE: machine.state_machine_arn,
            },
        )
        may = self.function.may
        may("dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem", on=tasks.arn)
        may("sqs:SendMessage", on=turns.queue_arn)
        may("sqs:SendMessage", on=nudges.queue_arn)
        may("states:StartExecution", "states:SendTaskSuccess", on=machine.state_machine_arn)
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
            filters=[_head_was_written()],
            batch_size=25,
            parallelization_factor=4,  # order is kept per partition key, and a task is one
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
            retry_attempts=10,
            max_record_age=Duration.hours(20),  # a stream forgets after 24
            on_failure=aws_lambda_event_sources.SqsDlq(self.dead_letters),
        )


class Sweep(Construct):
    """Once a minute, find by the index `due` what the stream, a queue or a crash dropped, and put it back."""

    def __init__(self, scope: Construct, name: str, *, host: Host, tasks: Tasks, sealing: Sealing) -> None:
        super().__init__(scope, name)
        self.dead_letters = dead_letters(self, "DeadLetters", host=host)
        self.function = HopFunction(
            self,
            "sweep",
            host=host,
            timeout=Duration.minutes(1),
            memory=256,
            environment={
                Variable.TABLE: tasks.table.table_name,
                Variable.SEALING_KEY: sealing.key.key_arn,
            },
            dead_letters=self.dead_letters,
        )
        may = self.function.may
        may("dynamodb:Query", on=tasks.due_index_arn)
        may("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", on=tasks.arn)
        sealing.allow_making_signing_keys(self.function)
        aws_events.Rule(
            self,
            "EveryMinute",
            schedule=aws_events.Schedule.rate(Duration.minutes(1)),
            targets=[
                aws_events_targets.LambdaFunction(
                    self.function,
                    dead_letter_queue=self.dead_letters,
                    max_event_age=Duration.minutes(1),  # the next one does the same work
                )
            ],
        )


def _head_was_written() -> Mapping[str, Any]:
    """The stream's filter: a task's head was created or changed; other items say nothing to anybody."""
    return aws_lambda.FilterCriteria.filter(
        {
            "eventName": aws_lambda.FilterRule.or_("INSERT", "MODIFY"),
            "dynamodb": {"Keys": {SORT_KEY: {"S": aws_lambda.FilterRule.is_equal(HEAD)}}},
        }
    )


def _text(name: str) -> aws_dynamodb.Attribute:
    return aws_dynamodb.Attribute(name=name, type=aws_dynamodb.AttributeType.STRING)
