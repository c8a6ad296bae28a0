"""DynamoDB streams and their event source mapping: order, filters, retries, and nothing dropped in silence."""

import json

from .conftest import Cloud, item

SAYS_KEYS = """
def keys(event):
    return [record["dynamodb"]["Keys"]["pk"]["S"] for record in event["Records"]]
"""


def test_records_arrive_in_the_order_of_the_writes_with_both_images(cloud: Cloud) -> None:
    table = cloud.table()
    function = cloud.function(
        "def handler(event, context):\n"
        "    for r in event['Records']:\n"
        "        d = r['dynamodb']\n"
        "        report([r['eventName'], d.get('OldImage', {}).get('n', {}).get('N'), d['NewImage']['n']['N']])\n"
    )
    cloud.map_stream(table, function)

    for number in range(4):
        cloud.put(table, "a", n=number)

    expected = [["INSERT", None, "0"], ["MODIFY", "0", "1"], ["MODIFY", "1", "2"], ["MODIFY", "2", "3"]]
    assert cloud.reports.take(4) == expected


def test_only_records_that_match_the_filter_reach_the_function(cloud: Cloud) -> None:
    table = cloud.table()
    pattern = json.dumps({"eventName": ["INSERT", "MODIFY"], "dynamodb": {"Keys": {"sk": {"S": ["HEAD"]}}}})
    function = cloud.function(
        "def handler(event, context):\n    [report(r['dynamodb']['Keys']) for r in event['Records']]\n"
    )
    cloud.map_stream(table, function, FilterCriteria={"Filters": [{"Pattern": pattern}]})

    cloud.put(table, "a", "SEG#1")
    cloud.put(table, "a", "HEAD")
    cloud.dynamodb.delete_item(TableName=table.name, Key=item("a", "HEAD"))
    cloud.put(table, "b", "HEAD")

    assert cloud.reports.take(2) == [item("a", "HEAD"), item("b", "HEAD")]
    assert cloud.reports.none_within(0.2)


def test_a_failing_record_is_retried_from_there_and_what_came_before_is_not(cloud: Cloud) -> None:
    table = cloud.table()
    function = cloud.function(
        SAYS_KEYS + "tries = []\n"
        "def handler(event, context):\n"
        "    report(keys(event))\n"
        "    tries.append(1)\n"
        "    records = [r['dynamodb'] for r in event['Records']]\n"
        "    bad = [{'itemIdentifier': r['SequenceNumber']} for r in records if r['Keys']['pk']['S'] == 'bad']\n"
        "    return {'batchItemFailures': bad} if len(tries) < 3 else {}\n"
    )
    for key in ("a", "bad", "z"):
        cloud.put(table, key)

    cloud.map_stream(table, function, FunctionResponseTypes=["ReportBatchItemFailures"])

    assert cloud.reports.take(3) == [["a", "bad", "z"], ["bad", "z"], ["bad", "z"]]


def test_a_record_that_always_fails_is_given_up_after_its_attempts_and_told_to_the_destination(cloud: Cloud) -> None:
    table, gave_up = cloud.table(), cloud.queue()
    function = cloud.function(
        SAYS_KEYS + "def handler(event, context):\n"
        "    report(keys(event))\n"
        "    if 'bad' in keys(event): raise ValueError('no')\n"
    )
    for key in ("a", "bad", "z"):
        cloud.put(table, key)

    cloud.map_stream(
        table,
        function,
        MaximumRetryAttempts=1,
        BisectBatchOnFunctionError=True,
        DestinationConfig={"OnFailure": {"Destination": gave_up.arn}},
    )

    told = json.loads(cloud.receive(gave_up)["Body"])
    assert told["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert told["DDBStreamBatchInfo"]["batchSize"] == 1
    seen = cloud.reports.take(7)
    assert seen[:1] == [["a", "bad", "z"]]
    assert seen.count(["bad"]) == 2
    assert seen[-1] == ["z"]


def test_a_function_that_raises_gets_the_same_records_again(cloud: Cloud) -> None:
    table = cloud.table()
    function = cloud.function(
        SAYS_KEYS + "tries = []\n"
        "def handler(event, context):\n"
        "    report(keys(event))\n"
        "    tries.append(1)\n"
        "    if len(tries) == 1: raise ValueError('once')\n"
    )

    cloud.map_stream(table, function)
    cloud.put(table, "a")

    assert cloud.reports.take(2) == [["a"], ["a"]]
    cloud.put(table, "b")
    assert cloud.reports.next() == ["b"]


def test_a_slow_function_on_one_stream_does_not_hold_up_another(cloud: Cloud) -> None:
    slow, quick = cloud.table(), cloud.table()
    cloud.map_stream(
        slow, cloud.function("import time\ndef handler(event, context):\n    report('slow')\n    time.sleep(6)\n")
    )
    cloud.map_stream(quick, cloud.function("def handler(event, context):\n    report('quick')\n"))
    cloud.put(slow, "a")
    assert cloud.reports.next() == "slow"

    cloud.put(quick, "a")

    assert cloud.reports.next(seconds=4) == "quick"
