"""Logs: one JSON line per event, under the name of its hop, with the task id where there is one.

Inside the kit everything logs to the standard library; only here is it known that CloudWatch reads JSON. The library
that writes it is loaded with the first line: most calls of `api` write none, and it is a tenth of a cold start.
"""

import logging
from functools import cache

_OURS = ("a2a_serverless", "functions")


def log_as(hop: str) -> logging.Logger:
    """The logger of a function; the kit's own loggers write through it from now on."""
    first = _FirstLine(hop)
    for name in _OURS:
        logger = logging.getLogger(name)
        logger.handlers[:], logger.propagate = [first], False
        logger.setLevel(logging.DEBUG)  # what is written from which level on, the library decides
    return logging.getLogger(f"functions.{hop}")


class _FirstLine(logging.Handler):
    """Gives its place to the library, and the line with it."""

    def __init__(self, hop: str) -> None:
        super().__init__()
        self._hop = hop

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the record on, as if the library had been there."""
        _load(self._hop)
        logger = logging.getLogger(record.name)
        if logger.isEnabledFor(record.levelno):
            logger.handle(record)


@cache
def _load(hop: str) -> None:
    from aws_lambda_powertools import Logger
    from aws_lambda_powertools.logging import utils

    library = Logger(service=hop, utc=True)
    utils.copy_config_to_registered_loggers(source_logger=library, include=set(_OURS))
