"""Tasks: the table, the queue of turns, and the hop `run_turn` that works it off."""

from aws_cdk import Duration, RemovalPolicy, Stack, aws_dynamodb, aws_s3
from constructs import Construct

from a2a_serverless.aws.settings import (
    DUE_INDEX,
    DUE_INDEX_PARTITION,
    DUE_INDEX_SORT,
    EVIDENCE_PREFIX,
    OWNER_INDEX,
    OWNER_INDEX_PARTITION,
    OWNER_INDEX_PROJECTS,
    OWNER_INDEX_SORT,
    PARTITION_KEY,
    PARTS_PREFIX,
    SORT_KEY,
    TTL_ATTRIBUTE,
    WEBHOOK_INDEX,
    WEBHOOK_INDEX_PARTITION,
    Variable,
)

from .function import HopFunction, Host, accept, let_agents_run, removal, rules
from .queues import dead_letters, feed, work_queue

TURN_TIMEOUT = Duration.minutes(15)
"""Lambda's limit: a turn may take as long as a function may run."""


SPARE = Duration.days(365)
"""How long large content may outlive the waits and the retention of one turn: a task may have many turns."""


class Tasks(Construct):
    """The table of tasks, whose stream is the outbox, and the bucket of what is too large for it."""

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
            # Not even a rollback of a first deployment could delete what is protected: it would get stuck.
            removal_policy=RemovalPolicy.DESTROY if host.choices.is_local else RemovalPolicy.RETAIN,
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

        self.bucket = self._bucket(host)

    def _bucket(self, host: Host) -> aws_s3.Bucket:
        """Objects go with their task; that they end by themselves is for those that were lost on the way."""
        choices = host.choices
        longest = (choices.retention + choices.longest_wait).days + SPARE.to_days()
        bucket = aws_s3.Bucket(
            self,
            "Bucket",
            encryption=aws_s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            block_public_access=aws_s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=aws_s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            versioned=False,
            lifecycle_rules=[
                aws_s3.LifecycleRule(prefix=PARTS_PREFIX, expiration=Duration.days(longest)),
                aws_s3.LifecycleRule(
                    prefix=EVIDENCE_PREFIX, expiration=Duration.days(max(1, choices.evidence.days) + 1)
                ),
            ],
            removal_policy=removal(choices),
        )
        accept(bucket, "S1", because="the exchange log says who read what; S3's own would need a second bucket")
        return bucket

    @property
    def parts_arn(self) -> str:
        """The large content of tasks."""
        return f"{self.bucket.bucket_arn}/{PARTS_PREFIX}*"

    @property
    def evidence_arn(self) -> str:
        """The large bodies of exchanges."""
        return f"{self.bucket.bucket_arn}/{EVIDENCE_PREFIX}*"

    def allow_keeping_parts(self, function: HopFunction) -> None:
        """Write and read the large content of tasks."""
        function.add_environment(Variable.BUCKET, self.bucket.bucket_name)
        function.may("s3:GetObject", "s3:PutObject", on=self.parts_arn)
        self._accept_many(function, PARTS_PREFIX, "each task has objects of its own, under names that begin so")

    def allow_forgetting_parts(self, function: HopFunction) -> None:
        """Find and delete the large content of a task that is over."""
        function.add_environment(Variable.BUCKET, self.bucket.bucket_name)
        function.may("s3:ListBucket", on=self.bucket.bucket_arn)
        function.may("s3:DeleteObject", on=self.parts_arn)
        self._accept_many(function, PARTS_PREFIX, "each task has objects of its own, under names that begin so")

    def allow_keeping_evidence(self, function: HopFunction) -> None:
        """Write the large bodies of exchanges; `dynamodb:PutItem` on the table is granted with everything else."""
        if function.choices.evidence:
            function.may("s3:PutObject", on=self.evidence_arn)
            self._accept_many(function, EVIDENCE_PREFIX, "each task has records of its own, under names that begin so")

    def _accept_many(self, function: HopFunction, prefix: str, because: str) -> None:
        bucket = Stack.of(self).get_logical_id(self.bucket.node.default_child)  # type: ignore[arg-type] # its Cfn half
        accept(function.own_role, f"IAM5[Resource::<{bucket}.Arn>/{prefix}*]", because=because)

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
            memory=host.choices.turn_memory,
            environment={
                Variable.AGENTS: host.agents,
                Variable.PUBLIC_URL: host.public_url,
                Variable.TABLE: tasks.table.table_name,
                Variable.TURNS_QUEUE: self.queue.queue_url,
                Variable.TURNS_DEAD_LETTERS: self.dead_letters.queue_url,
                **rules(host.choices),
            },
        )
        let_agents_run(self.function)
        may = self.function.may
        may("dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", on=tasks.arn)
        tasks.allow_keeping_parts(self.function)
        may("sqs:ChangeMessageVisibility", on=self.queue.queue_arn)
        may("sqs:SendMessage", on=self.dead_letters.queue_arn)
        feed(self.function, self.queue, batch_size=1, concurrency=host.choices.turn_concurrency)


def _text(name: str) -> aws_dynamodb.Attribute:
    return aws_dynamodb.Attribute(name=name, type=aws_dynamodb.AttributeType.STRING)
