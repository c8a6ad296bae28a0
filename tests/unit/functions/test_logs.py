"""What a function writes: a line of JSON for each event, whoever in the kit said it."""

import json
import logging
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.logs import log_as

ROOT = Path(__file__).parents[3]
_OURS = ("a2a_serverless", "functions")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    kept = [(each, each.handlers[:], each.propagate, each.level) for each in map(logging.getLogger, _OURS)]
    yield
    for each, handlers, propagate, level in kept:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)


@pytest.fixture
def hop() -> str:
    """The library keeps a logger by its name for as long as the process lives: each test has its own."""
    return f"hop-{uuid.uuid4()}"


Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_event_is_one_line_with_what_was_given_with_it(hop: str, lines: Lines) -> None:
    log_as(hop).info("nudge\nof frete é", extra={"task_id": "t-1"})

    (line,) = lines()
    assert (line["level"], line["service"], line["message"]) == ("INFO", hop, "nudge\nof frete é")
    assert line["task_id"] == "t-1"


def test_the_kit_s_own_loggers_write_the_same_lines(hop: str, lines: Lines) -> None:
    log_as(hop)

    logging.getLogger("a2a_serverless.app.send").warning("late", extra={"task_id": "t-1"})
    logging.getLogger("functions.run_turn.pulse").error("stopped")

    assert [(line["service"], line["message"]) for line in lines()] == [(hop, "late"), (hop, "stopped")]


def test_an_exception_is_in_its_line_with_its_trace(hop: str, lines: Lines) -> None:
    log = log_as(hop)
    try:
        json.loads("{")
    except ValueError:
        log.exception("a sweep failed")

    (line,) = lines()
    assert line["exception_name"] == "JSONDecodeError"
    assert line["exception"].startswith("Traceback")


def test_the_level_is_the_one_that_lambda_was_told(hop: str, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", "ERROR")
    log = log_as(hop)

    log.warning("late")
    log.error("lost")

    assert [line["message"] for line in lines()] == ["lost"]


def test_every_line_is_written_once_whoever_comes_first(hop: str, lines: Lines) -> None:
    log = log_as(hop)
    threads = [threading.Thread(target=log.info, args=(f"line {at}",)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(line["message"] for line in lines()) == [f"line {at}" for at in range(8)]


def test_the_library_is_loaded_with_the_first_line() -> None:
    program = """
import sys
from functions.logs import log_as
log = log_as("api")
assert not [name for name in sys.modules if name.startswith("aws_lambda_powertools")]
log.info("hello")
assert "aws_lambda_powertools" in sys.modules
"""

    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert json.loads(ran.stdout)["message"] == "hello"
