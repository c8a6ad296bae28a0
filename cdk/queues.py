"""Queues as every hop wants them: encrypted, TLS only, and with dead letters that are kept for two weeks."""

from aws_cdk import Duration, aws_lambda, aws_sqs
from constructs import Construct

from .function import HopFunction, Host, removal

ATTEMPTS = 5
"""Deliveries before SQS itself gives a message up; the hops give up earlier and say why."""
KEPT = Duration.days(14)
"""The longest that SQS keeps a message."""


def dead_letters(scope: Construct, name: str, *, host: Host) -> aws_sqs.Queue:
    """A queue for what could not be done."""
    return aws_sqs.Queue(
        scope,
        name,
        encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=KEPT,
        removal_policy=removal(host.choices),
    )


def work_queue(scope: Construct, name: str, *, host: Host, visibility: Duration, dead: aws_sqs.Queue) -> aws_sqs.Queue:
    """A queue of work; what was tried too often goes to `dead`."""
    return aws_sqs.Queue(
        scope,
        name,
        encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        visibility_timeout=visibility,
        dead_letter_queue=aws_sqs.DeadLetterQueue(queue=dead, max_receive_count=ATTEMPTS),
        removal_policy=removal(host.choices),
    )


def feed(function: HopFunction, queue: aws_sqs.Queue, *, batch_size: int, concurrency: int) -> None:
    """Give the messages of a queue to a function, at most `concurrency` batches at a time."""
    function.may("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", on=queue.queue_arn)
    aws_lambda.EventSourceMapping(
        function,
        "FromQueue",
        target=function,
        event_source_arn=queue.queue_arn,
        batch_size=batch_size,
        max_concurrency=concurrency,
        report_batch_item_failures=True,
    )
