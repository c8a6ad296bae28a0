"""SQS and its event source mapping: visibility, delay, dead letters, and what a failing batch leaves behind."""

import json
import time

import pytest
from botocore.exceptions import ClientError

from a2a_serverless.local.patches.queue_mapping import failures_of

from .conftest import Cloud, eventually

SAYS_BODY_AND_COUNT = """
def handler(event, context):
    for record in event["Records"]:
        report([record["body"], record["attributes"]["ApproximateReceiveCount"]])
"""


def test_a_received_message_comes_back_after_its_visibility_timeout_and_counts_its_receives(cloud: Cloud) -> None:
    queue = cloud.queue(VisibilityTimeout="1")
    cloud.send(queue, "a")
    cloud.peek(queue)

    hidden = cloud.peek(queue)
    again = cloud.receive(queue)

    assert hidden is None
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"


def test_a_delayed_message_is_hidden_for_its_delay_and_then_handled_at_once(cloud: Cloud) -> None:
    queue = cloud.queue()
    cloud.map_queue(queue, cloud.function(SAYS_BODY_AND_COUNT))
    cloud.send(queue, "warm")
    cloud.reports.next()
    started = time.monotonic()

    cloud.send(queue, "later", DelaySeconds=1)

    assert cloud.reports.next() == ["later", "1"]
    assert 0.95 < time.monotonic() - started < 1.6


def test_a_message_that_fails_too_often_moves_to_the_dead_letters(cloud: Cloud) -> None:
    queue, dead = cloud.queue_with_dead_letters(2, VisibilityTimeout="1")
    cloud.map_queue(queue, cloud.function("def handler(event, context):\n    report(1)\n    raise ValueError()\n"))

    cloud.send(queue, "poison")

    assert cloud.receive(dead)["Body"] == "poison"
    assert len(cloud.reports.take(2)) == 2
    assert cloud.reports.none_within(0.2)


def test_a_message_whose_worker_died_comes_back_and_its_attempts_are_counted(cloud: Cloud) -> None:
    queue, dead = cloud.queue_with_dead_letters(2, VisibilityTimeout="1")
    function = cloud.function(
        "def handler(event, context):\n"
        "    report(event['Records'][0]['attributes']['ApproximateReceiveCount'])\n"
        "    os._exit(1)\n"
    )
    cloud.map_queue(queue, function)

    cloud.send(queue, "crash")

    assert cloud.reports.take(2) == ["1", "2"]
    assert cloud.receive(dead)["Body"] == "crash"


def test_of_a_batch_only_the_named_failures_come_back(cloud: Cloud) -> None:
    queue, dead = cloud.queue_with_dead_letters(2, VisibilityTimeout="1")
    function = cloud.function(
        "def handler(event, context):\n"
        "    report(sorted(r['body'] for r in event['Records']))\n"
        "    bad = [r['messageId'] for r in event['Records'] if r['body'] == 'bad']\n"
        "    return {'batchItemFailures': [{'itemIdentifier': name} for name in bad]}\n"
    )
    entries = [{"Id": body, "MessageBody": body} for body in ("good", "bad")]
    cloud.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)

    cloud.map_queue(queue, function, BatchSize=5, FunctionResponseTypes=["ReportBatchItemFailures"])

    assert cloud.reports.take(2) == [["bad", "good"], ["bad"]]
    assert cloud.receive(dead)["Body"] == "bad"


def test_a_response_that_cannot_be_read_fails_the_whole_batch(cloud: Cloud) -> None:
    queue, dead = cloud.queue_with_dead_letters(1, VisibilityTimeout="1")
    cloud.send(queue, "a")

    cloud.map_queue(
        queue,
        cloud.function("def handler(event, context): return {'batchItemFailures': [{'itemIdentifier': ''}]}\n"),
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )

    assert cloud.receive(dead)["Body"] == "a"


@pytest.mark.parametrize(
    ("response", "failures"),
    [
        (None, set()),
        ({}, set()),
        ({"batchItemFailures": []}, set()),
        ({"batchItemFailures": None}, set()),
        ('{"batchItemFailures": [{"itemIdentifier": "1"}]}', {"1"}),
        ({"batchItemFailures": [{"itemIdentifier": "1"}, {"itemIdentifier": "2"}]}, {"1", "2"}),
        ({"batchItemFailures": [{"itemIdentifier": ""}]}, None),
        ({"batchItemFailures": [{"itemIdentifier": None}]}, None),
        ({"batchItemFailures": [{"name": "1"}]}, None),
        ({"batchItemFailures": 3}, None),
        ("no json", None),
        ([1], None),
    ],
)
def test_a_partial_batch_response_is_read_as_lambda_reads_it(response: object, failures: set[str] | None) -> None:
    assert failures_of(response) == failures


def test_a_handler_may_hide_its_message_longer_while_it_works_and_it_is_deleted_on_success(cloud: Cloud) -> None:
    queue = cloud.queue(VisibilityTimeout="2")
    function = cloud.function(
        "import boto3, time\n"
        "sqs = boto3.client('sqs')\n"
        "def handler(event, context):\n"
        "    record = event['Records'][0]\n"
        "    if record['body'] == 'warm': return report('warm')\n"
        "    sqs.change_message_visibility(\n"
        "        QueueUrl=os.environ['QUEUE'], ReceiptHandle=record['receiptHandle'], VisibilityTimeout=30)\n"
        "    report(record['attributes']['ApproximateReceiveCount'])\n"
        "    time.sleep(2.5)\n"
        "    report('done')\n",
        env={"QUEUE": queue.url},
    )
    cloud.send(queue, "warm")
    cloud.map_queue(queue, function)
    assert cloud.reports.next() == "warm"

    cloud.send(queue, "long work")

    assert cloud.reports.take(2) == ["1", "done"]
    counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    eventually(
        lambda: (
            set(cloud.sqs.get_queue_attributes(QueueUrl=queue.url, AttributeNames=counts)["Attributes"].values())
            == {"0"}
        )
    )


def test_a_handler_that_shortens_the_visibility_and_dies_gets_its_message_back_that_soon(cloud: Cloud) -> None:
    queue = cloud.queue(VisibilityTimeout="600")
    function = cloud.function(
        "import boto3\n"
        "def handler(event, context):\n"
        "    record = event['Records'][0]\n"
        "    count = record['attributes']['ApproximateReceiveCount']\n"
        "    report(count)\n"
        "    if count == '1':\n"
        "        boto3.client('sqs').change_message_visibility(\n"
        "            QueueUrl=os.environ['QUEUE'], ReceiptHandle=record['receiptHandle'], VisibilityTimeout=1)\n"
        "        os._exit(1)\n",
        env={"QUEUE": queue.url},
    )
    cloud.map_queue(queue, function)

    cloud.send(queue, "turn")

    assert cloud.reports.take(2) == ["1", "2"]


def test_a_slow_batch_does_not_hold_up_other_messages_or_other_queues(cloud: Cloud) -> None:
    slow, quick = cloud.queue(), cloud.queue()
    sleeps = cloud.function(
        "import time\n"
        "def handler(event, context):\n"
        "    body = event['Records'][0]['body']\n"
        "    if body == 'slow': time.sleep(5)\n"
        "    report(body)\n"
    )
    cloud.map_queue(slow, sleeps)
    cloud.map_queue(quick, cloud.function(SAYS_BODY_AND_COUNT))

    cloud.send(slow, "slow")
    cloud.send(slow, "behind it")
    cloud.send(quick, "elsewhere")

    assert sorted(map(str, cloud.reports.take(2, seconds=4))) == ["['elsewhere', '1']", "behind it"]


def test_long_work_gets_more_environments_than_the_usual_few(cloud: Cloud) -> None:
    queue = cloud.queue()
    sleeps = "import time\ndef handler(event, context):\n    report('started')\n    time.sleep(8)\n"
    cloud.map_queue(queue, cloud.function(sleeps, timeout=20))

    for number in range(6):
        cloud.send(queue, str(number))

    assert len(cloud.reports.take(6, seconds=7)) == 6


def test_a_standard_queue_takes_message_groups_and_hands_them_on(cloud: Cloud) -> None:
    queue = cloud.queue()
    function = cloud.function(
        "def handler(event, context):\n    report(event['Records'][0]['attributes'].get('MessageGroupId'))\n"
    )
    cloud.map_queue(queue, function)

    cloud.send(queue, "a", MessageGroupId="partner.example")

    assert cloud.reports.next() == "partner.example"


def test_at_most_so_many_batches_of_a_mapping_run_at_once(cloud: Cloud) -> None:
    queue = cloud.queue()
    function = cloud.function(
        "import time\n"
        "def handler(event, context):\n"
        "    started = time.time()\n"
        "    time.sleep(0.3)\n"
        "    report([started, time.time()])\n"
    )
    for number in range(6):
        cloud.send(queue, str(number))

    cloud.map_queue(queue, function, ScalingConfig={"MaximumConcurrency": 2})

    spans = cloud.reports.take(6)
    assert max(sum(a <= start < b for a, b in spans) for start, _ in spans) == 2


def test_no_message_is_lost_between_many_senders_and_a_mapping(cloud: Cloud) -> None:
    queue = cloud.queue()
    cloud.map_queue(
        queue,
        cloud.function("def handler(event, context):\n    [report(r['body']) for r in event['Records']]\n"),
        BatchSize=10,
    )

    for number in range(30):
        entries = [{"Id": str(i), "MessageBody": f"{number}-{i}"} for i in range(10)]
        cloud.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)

    assert sorted(cloud.reports.take(300)) == sorted(f"{n}-{i}" for n in range(30) for i in range(10))


def test_a_message_above_one_megabyte_is_refused(cloud: Cloud) -> None:
    with pytest.raises(ClientError) as caught:
        cloud.send(cloud.queue(), "x" * (1024 * 1024 + 1))

    assert caught.value.response["Error"]["Code"] == "InvalidParameterValue"


def test_a_filtered_message_is_deleted_without_reaching_the_function(cloud: Cloud) -> None:
    queue = cloud.queue()
    pattern = json.dumps({"body": {"kind": ["turn"]}})
    function = cloud.function("def handler(event, context):\n    report(event['Records'][0]['body'])\n")
    cloud.map_queue(queue, function, FilterCriteria={"Filters": [{"Pattern": pattern}]})

    cloud.send(queue, '{"kind": "other"}')
    cloud.send(queue, '{"kind": "turn"}')

    assert cloud.reports.next() == '{"kind": "turn"}'
    assert cloud.reports.none_within(0.2)
