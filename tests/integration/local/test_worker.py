"""One execution environment, whatever becomes of its process."""

import threading
import time
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from a2a_serverless.local.worker import Failed, Host, PythonWorker

SLOW = "import time\ntime.sleep(60)\n\ndef handler(event, context):\n    return event\n"
CONFIG = {
    "FunctionName": "slow",
    "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:slow",
    "Handler": "slow.handler",
    "Timeout": 3,
}


@pytest.fixture
def worker(tmp_path: Path) -> PythonWorker:
    code = BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("slow.py", SLOW)
    host = Host(endpoint="http://127.0.0.1:9", folder=tmp_path, logs=tmp_path, credentials=lambda _: {})
    return PythonWorker(host, CONFIG, code.getvalue())


def test_an_environment_that_is_ended_while_it_starts_has_failed_and_nothing_else(worker: PythonWorker) -> None:
    outcomes: list[Failed | None] = []
    starting = threading.Thread(target=lambda: outcomes.append(worker.start("r-1")))
    starting.start()
    until = time.monotonic() + 20
    while worker.pid is None and time.monotonic() < until:
        time.sleep(0.01)

    worker.kill()
    starting.join()

    (outcome,) = outcomes
    assert isinstance(outcome, Failed)
    assert outcome.error["errorType"] == "Runtime.ExitError"
    assert worker.pid is None
