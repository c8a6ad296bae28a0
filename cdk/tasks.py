"""Tasks: the table, the queue of turns, and the hop `run_turn` that works it off."""

from aws_cdk import Duration, aws_dynamodb
from constructs import Construct

from a2a_serverless.aws.settings import (
    DUE_INDEX,
    DUE_INDEX_PARTITION,
    DUE_INDEX_SORT,
    OWNER_INDEX,
    OWNER_INDEX_PARTITION,
    OWNER_INDEX_PROJECTS,
    OWNER_INDEX_SORT,
    PARTITION_KEY,
    SORT_KEY,
    TTL_ATTRIBUTE,
    WEBHOOK_INDEX,
    WEBHOOK_INDEX_PARTITION,
    Variable,
)

from .function import HopFunction, Host, removal, rules
from .queues import dead_letters, feed, work_queue

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
        self.table.add_global_secondary_index(  # for the operator's command line: no function may read it
            index_name=WEBHOOK_INDEX,
            partition_key=_text(WEBHOOK_INDEX_PARTITION),
            sort_key=_text(SORT_KEY),
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


def _text(name: str) -> aws_dynamodb.Attribute:
    return aws_dynamodb.Attribute(name=name, type=aws_dynamodb.AttributeType.STRING)
