"""Logs: one JSON line per event, under the name of its hop, with the task id where there is one.

Inside the kit everything logs to the standard library; only here is it known that CloudWatch reads JSON. A library for
it would cost a tenth of a cold start.
"""

import json
import logging
import os
import sys
import time
import traceback
from typing import Final

from a2a_serverless.types.model import JsonObject

_OF_EVERY_RECORD: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
"""What the standard library keeps in a record; whatever else is there was given with the event."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON: what was said, where and when, and what was given with it."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """The line. A value that is no JSON is written as its text."""
        told: JsonObject = {
            "level": record.levelname,
            "location": f"{record.funcName}:{record.lineno}",
            "message": record.getMessage(),
            "timestamp": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "service": self._service,
            **{name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD},
        }
        if record.exc_info and record.exc_info[1] is not None:
            failure = record.exc_info[1]
            trace = "".join(traceback.format_exception(failure))
            told |= {"exception_name": type(failure).__name__, "exception": trace}
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"), default=str)


def log_as(hop: str) -> logging.Logger:
    """The logger of a function; the kit's own loggers write through it from now on.

    `AWS_LAMBDA_LOG_LEVEL`, as Lambda's logging configuration sets it, says from which level on; it is INFO without.
    """
    lines = logging.StreamHandler(sys.stdout)
    lines.setFormatter(JsonLines(hop))
    for name in ("a2a_serverless", "functions"):
        ours = logging.getLogger(name)
        ours.handlers[:], ours.propagate = [lines], False
        ours.setLevel(_level())
    return logging.getLogger(f"functions.{hop}")


def _level() -> int:
    wanted = os.environ.get("AWS_LAMBDA_LOG_LEVEL", "").upper()
    return {**logging.getLevelNamesMapping(), "TRACE": logging.DEBUG}.get(wanted, logging.INFO)
