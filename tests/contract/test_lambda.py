"""Lambda: what a handler gets, and what its caller learns when it fails."""

import json
import time

from .conftest import Cloud, zipped


def test_a_handler_gets_the_context_and_the_environment_of_the_runtime(cloud: Cloud) -> None:
    function = cloud.function(
        "import os\n"
        "def handler(event, context):\n"
        "    return [event, context.function_name, context.memory_limit_in_mb, context.invoked_function_arn,\n"
        "            context.get_remaining_time_in_millis() > 4000, bool(context.aws_request_id),\n"
        "            os.environ['AWS_LAMBDA_FUNCTION_NAME'], os.environ['COLOUR'], os.environ['AWS_REGION']]\n",
        env={"COLOUR": "blue"},
        timeout=5,
        MemorySize=256,
    )

    failed, found = cloud.invoke(function, {"n": 1})

    assert failed is None
    assert found == [{"n": 1}, function.name, "256", function.arn, True, True, function.name, "blue", "us-east-1"]


def test_a_handler_sees_nothing_of_the_host_s_environment_or_source_folders(cloud: Cloud) -> None:
    function = cloud.function(
        "import os, sys\n"
        "def handler(event, context):\n"
        "    return [sorted(os.environ), [p for p in sys.path if p.endswith(('/shared', '/local'))]]\n"
    )

    _, (names, paths) = cloud.invoke(function)

    assert "HOME" not in names
    assert "PWD" not in names
    assert [name for name in names if name.startswith("GATEWAY")] == []
    assert paths == []


def test_a_raising_handler_is_reported_with_its_type_and_stack_and_keeps_its_process(cloud: Cloud) -> None:
    function = cloud.function(
        "import os\n"
        "class Mine(Exception): pass\n"
        "def handler(event, context):\n"
        "    if event == 'pid': return os.getpid()\n"
        "    raise Mine('it broke')\n"
    )
    _, before = cloud.invoke(function, "pid")

    failed, error = cloud.invoke(function, "break")

    assert failed == "Unhandled"
    assert (error["errorType"], error["errorMessage"]) == ("Mine", "it broke")
    assert "code.py" in error["stackTrace"][0]
    assert cloud.invoke(function, "pid") == (None, before)


def test_a_handler_that_takes_too_long_is_killed_at_its_timeout(cloud: Cloud) -> None:
    function = cloud.function("import time\ndef handler(event, context): time.sleep(20)\n", timeout=1)
    started = time.monotonic()

    failed, error = cloud.invoke(function)

    assert failed == "Unhandled"
    assert "Task timed out after 1.00 seconds" in error["errorMessage"]
    assert time.monotonic() - started < 5


def test_a_process_that_dies_fails_the_invocation_and_the_next_one_gets_a_new_process(cloud: Cloud) -> None:
    function = cloud.function(
        "import os\ndef handler(event, context):\n    if event == 'die': os._exit(3)\n    return 'alive'\n"
    )

    failed, error = cloud.invoke(function, "die")

    assert failed == "Unhandled"
    assert error["errorType"] == "Runtime.ExitError"
    assert error["errorMessage"].endswith("Runtime exited with error: exit status 3")
    assert cloud.invoke(function, "live") == (None, "alive")


def test_a_module_that_cannot_be_imported_is_named(cloud: Cloud) -> None:
    function = cloud.function("import not_there\ndef handler(event, context): pass\n")

    failed, error = cloud.invoke(function)

    assert failed == "Unhandled"
    assert error["errorType"] == "Runtime.ImportModuleError"
    assert error["errorMessage"] == "Unable to import module 'code': No module named 'not_there'"


def test_a_result_that_is_no_json_is_a_marshal_error(cloud: Cloud) -> None:
    function = cloud.function("def handler(event, context): return object()\n")

    failed, error = cloud.invoke(function)

    assert failed == "Unhandled"
    assert error["errorType"] == "Runtime.MarshalError"


def test_what_a_handler_logs_is_in_its_log_group(cloud: Cloud) -> None:
    function = cloud.function("def handler(event, context): print('hello log')\n")

    cloud.invoke(function)

    events = cloud.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{function.name}")["events"]
    assert "hello log" in [event["message"] for event in events]


def test_an_asynchronous_invocation_that_keeps_failing_ends_in_the_dead_letters(cloud: Cloud) -> None:
    dead = cloud.queue()
    function = cloud.function(
        "def handler(event, context):\n    report(event)\n    raise ValueError('no')\n",
        DeadLetterConfig={"TargetArn": dead.arn},
    )
    cloud.functions.put_function_event_invoke_config(FunctionName=function.name, MaximumRetryAttempts=1)

    cloud.functions.invoke(FunctionName=function.name, InvocationType="Event", Payload=b'{"n": 1}')

    assert json.loads(cloud.receive(dead)["Body"])["requestPayload"] == {"n": 1}
    assert cloud.reports.take(2) == [{"n": 1}, {"n": 1}]


def test_changed_code_is_what_the_next_invocation_runs(cloud: Cloud) -> None:
    function = cloud.function("def handler(event, context): return 1\n")
    cloud.invoke(function)

    cloud.functions.update_function_code(
        FunctionName=function.name, ZipFile=zipped("def handler(event, context): return 2\n")
    )

    assert cloud.invoke(function) == (None, 2)
