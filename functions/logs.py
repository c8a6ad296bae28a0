"""Logs: one JSON line per event, under the name of its hop, with the task id where there is one.

Inside the kit everything logs to the standard library; only here is it known that CloudWatch reads JSON.
"""

import logging

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils


def log_as(hop: str) -> Logger:
    """The logger of a function; the kit's own loggers write through it from now on."""
    for name in ("a2a_serverless", "functions"):
        logging.getLogger(name)
    logger = Logger(service=hop, utc=True)
    utils.copy_config_to_registered_loggers(source_logger=logger, include={"a2a_serverless", "functions"})
    return logger
