"""Nudges: the queue of webhooks to send, and the hop `notify` that signs and sends them."""

from aws_cdk import Duration
from constructs import Construct

from a2a_serverless.aws.settings import Variable

from .function import HopFunction, Host
from .queues import dead_letters, feed, work_queue
from .sealing import Sealing
from .tasks import Tasks

NOTIFY_TIMEOUT = Duration.minutes(2)
BATCH = 10
"""Nudges sent at the same time by one invocation."""


class Notify(Construct):
    """Sign, POST, record; a nudge that must come later goes back into the queue with a delay."""

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
        self.function = HopFunction(
            self,
            "notify",
            host=host,
            timeout=NOTIFY_TIMEOUT,
            memory=256,
            environment={
                Variable.PUBLIC_URL: host.public_url,
                Variable.TABLE: tasks.table.table_name,
                Variable.NUDGES_QUEUE: self.queue.queue_url,
                Variable.NUDGES_DEAD_LETTERS: self.dead_letters.queue_url,
                Variable.SEALING_KEY: sealing.key.key_arn,
                Variable.ALLOW_PRIVATE_WEBHOOKS: "1" if host.choices.allow_private_webhooks else "",
            },
        )
        may = self.function.may
        may("dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", on=tasks.arn)
        may("sqs:SendMessage", on=self.queue.queue_arn)
        may("sqs:SendMessage", on=self.dead_letters.queue_arn)
        sealing.allow_opening_secrets(self.function)
        sealing.allow_signing(self.function)
        sealing.allow_making_signing_keys(self.function)
        feed(self.function, self.queue, batch_size=BATCH, concurrency=host.choices.nudge_concurrency)
