"""Nudges: the queue of webhooks to send, the hop `notify` that signs and sends them, and what brings them back."""

from aws_cdk import Duration, Stack, aws_iam, aws_lambda, aws_scheduler, aws_sqs
from constructs import Construct

from a2a_serverless.aws.settings import Variable

from .function import HopFunction, Host, accept
from .queues import dead_letters, feed, work_queue
from .sealing import Sealing
from .tasks import Tasks

NOTIFY_TIMEOUT = Duration.minutes(2)
BATCH = 10
"""Nudges sent at the same time by one invocation."""


SCHEDULER = "scheduler.amazonaws.com"


class Notify(Construct):
    """Sign, POST, record; a nudge that must come later goes back into the queue, by a delay or by a schedule."""

    def __init__(self, scope: Construct, name: str, *, host: Host, tasks: Tasks, sealing: Sealing) -> None:
        super().__init__(scope, name)
        self.dead_letters = dead_letters(self, "DeadLetters", host=host)
        self.queue = work_queue(
            self,
            "Nudges",
            host=host,
            visibility=Duration.minutes(6 * NOTIFY_TIMEOUT.to_minutes()),  # what Lambda asks of its sources
            dead=self.dead_letters,
        )
        self.later = Later(self, "Later", queue=self.queue)
        self.function = HopFunction(
            self,
            "notify",
            host=host,
            timeout=NOTIFY_TIMEOUT,
            memory=512,  # ten at a time sign and call: with less of a processor, partners would look slow by our doing
            environment={
                Variable.PUBLIC_URL: host.public_url,
                Variable.TABLE: tasks.table.table_name,
                Variable.NUDGES_QUEUE: self.queue.queue_url,
                Variable.NUDGES_DEAD_LETTERS: self.dead_letters.queue_url,
                Variable.NUDGES_QUEUE_ARN: self.queue.queue_arn,
                Variable.SCHEDULE_GROUP: self.later.group.ref,
                Variable.SCHEDULE_ROLE: self.later.role.role_arn,
                Variable.SEALING_KEY: sealing.key.key_arn,
                Variable.ALLOW_PRIVATE_WEBHOOKS: "1" if host.choices.allow_private_webhooks else "",
                Variable.EVIDENCE_DAYS: str(host.choices.evidence.days),
            },
            # A nudge that must wait goes back into the queue it came from, time and again. That is the design, and the
            # schedule of attempts ends it; Lambda would take it for a runaway and bury it after about 16 rounds.
            loops=aws_lambda.RecursiveLoop.ALLOW,
        )
        may = self.function.may
        may("dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", on=tasks.arn)
        may("sqs:SendMessage", on=self.queue.queue_arn)
        may("sqs:SendMessage", on=self.dead_letters.queue_arn)
        self.later.allow_scheduling(self.function)
        sealing.allow_opening_secrets(self.function)
        sealing.allow_signing(self.function)
        sealing.allow_making_signing_keys(self.function)
        feed(self.function, self.queue, batch_size=BATCH, concurrency=host.choices.nudge_concurrency)

    def let_ask(self, function: HopFunction) -> None:
        """Let a function put nudges and tests into the queue that somebody asked for."""
        function.add_environment(Variable.NUDGES_QUEUE, self.queue.queue_url)
        function.may("sqs:SendMessage", on=self.queue.queue_arn)


class Later(Construct):
    """A group for the one-time schedules of nudges that come back later than the queue can hold them."""

    def __init__(self, scope: Construct, name: str, *, queue: aws_sqs.Queue) -> None:
        super().__init__(scope, name)
        # As the stack, whose name is one of a kind in a region of an account.
        self.group = aws_scheduler.CfnScheduleGroup(self, "Group", name=Stack.of(self).stack_name)
        self.role = aws_iam.Role(
            self,
            "Role",
            assumed_by=aws_iam.ServicePrincipal(
                SCHEDULER,
                conditions={
                    "StringEquals": {
                        "aws:SourceAccount": Stack.of(self).account,
                        "aws:SourceArn": self.group.attr_arn,
                    }
                },
            ),
            description="What a schedule may do: bring one nudge back into its queue",
        )
        self.role.add_to_policy(aws_iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn]))

    def allow_scheduling(self, function: HopFunction) -> None:
        """Schedules of this group are made, replaced and cancelled, to run in the role of this group alone."""
        stack, group = Stack.of(self), self.group
        function.may(
            "scheduler:CreateSchedule",
            "scheduler:UpdateSchedule",
            "scheduler:DeleteSchedule",
            on=f"arn:{stack.partition}:scheduler:{stack.region}:{stack.account}:schedule/{group.ref}/*",
        )
        function.may("iam:PassRole", on=self.role.role_arn, passed_to=SCHEDULER)
        named = f"<AWS::Region>:<AWS::AccountId>:schedule/<{stack.get_logical_id(group)}>/*"
        accept(
            function.own_role,
            f"IAM5[Resource::arn:<AWS::Partition>:scheduler:{named}]",
            because="each webhook has a schedule with a name of its own, in a group that holds nothing else",
        )
