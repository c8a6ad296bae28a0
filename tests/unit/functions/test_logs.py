"""What a function writes: a line of JSON for each event, whoever in the kit said it."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from functions.logs import JsonLines, log_as


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    kept = [(each, each.handlers[:], each.propagate, each.level) for each in map(logging.getLogger, _OURS)]
    yield
    for each, handlers, propagate, level in kept:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)


_OURS = ("a2a_serverless", "functions")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_event_is_one_line_with_what_was_given_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    log_as("notify").info("nudge\nof %s", "frete é", extra={"task_id": "t-1", "at": datetime(2026, 1, 1, tzinfo=UTC)})

    (line,) = lines(capsys)
    assert datetime.fromisoformat(line.pop("timestamp")).tzinfo is not None
    assert line.pop("location").startswith("test_an_event_is_one_line_with_what_was_given_with_it:")
    assert line == {
        "level": "INFO",
        "message": "nudge\nof frete é",
        "service": "notify",
        "task_id": "t-1",
        "at": "2026-01-01 00:00:00+00:00",
    }


def test_the_kit_s_own_loggers_write_the_same_lines_once(capsys: pytest.CaptureFixture[str]) -> None:
    log_as("api")
    log_as("relay")

    logging.getLogger("a2a_serverless.app.send").warning("late")
    logging.getLogger("functions.run_turn.pulse").error("stopped")

    assert [(line["service"], line["message"]) for line in lines(capsys)] == [("relay", "late"), ("relay", "stopped")]


def test_an_exception_is_in_its_line_with_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    log = log_as("sweep")
    try:
        _ = vars(log)["agent"]
    except KeyError:
        log.exception("a sweep failed")

    (line,) = lines(capsys)
    assert line["exception_name"] == "KeyError"
    assert line["exception"].startswith("Traceback")
    assert line["exception"].rstrip().endswith("KeyError: 'agent'")


@pytest.mark.parametrize(
    ("told", "level"), [("", "INFO"), ("ERROR", "ERROR"), ("warn", "WARNING"), ("TRACE", "DEBUG"), ("loud", "INFO")]
)
def test_the_level_is_what_lambda_was_told(told: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", told)

    assert logging.getLevelName(log_as("api").getEffectiveLevel()) == level


def test_milliseconds_never_make_a_second_of_their_own() -> None:
    record = logging.makeLogRecord({"msg": "late", "created": 1.9996, "msecs": 999.6})

    assert json.loads(JsonLines("api").format(record))["timestamp"] == "1970-01-01T00:00:01.999Z"
