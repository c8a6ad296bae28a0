"""The composition root: what the hops have in common, built once per process and only when it is asked for.

Each hop adds its own in `functions/<hop>/parts.py`, so that no function imports what another needs. What not every hop
needs, or only few of its calls, is imported where it is made.
"""

import importlib
import os
import secrets
import uuid
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from a2a_serverless.agent import Agent
from a2a_serverless.aws.bucket import Bucket
from a2a_serverless.aws.clients import Clients
from a2a_serverless.aws.part_store import S3Parts
from a2a_serverless.aws.settings import Settings
from a2a_serverless.aws.table import Table
from a2a_serverless.aws.task_table import TaskTable
from a2a_serverless.core.head import Rules

if TYPE_CHECKING:
    from a2a_serverless.app.evidence import Recorder
    from a2a_serverless.aws.push_table import PushTable
    from a2a_serverless.webhook.policy import WebhookPolicy

USER_AGENT: Final = "a2a-serverless/0.1"
"""What receivers see of us, whether they are told something or asked."""

clients: Final = Clients(connections=32)


def clock() -> datetime:
    """The time: this is the one place that looks at it."""
    return datetime.now(tz=UTC)  # noqa: TID251 (as said)


def ids() -> str:
    """A new id: this is the one place that makes them."""
    return str(uuid.uuid4())  # noqa: TID251 (as said)


def secret() -> str:
    """A new secret of 256 bits."""
    return secrets.token_urlsafe(32)


@cache
def settings() -> Settings:
    """What the stack told this function."""
    return Settings.from_env(os.environ)


@cache
def rules() -> Rules:
    """The times that decisions keep to in this deployment."""
    told = settings()
    return Rules(
        lease=told.lease,
        retention=told.retention,
        retry_window=told.retry_window,
        longest_wait=told.longest_wait,
    )


@cache
def table() -> Table:
    """The one table."""
    return Table(clients.dynamodb, settings().table)


@cache
def tasks() -> TaskTable:
    """The tasks in it."""
    return TaskTable(table(), ids=ids, parts=parts())


@cache
def bucket() -> Bucket:
    """The one bucket."""
    return Bucket(lambda: clients.s3, settings().bucket)


@cache
def parts() -> S3Parts:
    """The content in it that is too large for the table."""
    return S3Parts(bucket())


@cache
def recorder() -> "Recorder | None":
    """What writes exchanges down; None if this deployment keeps none."""
    lifetime = settings().evidence
    if not lifetime:
        return None
    from a2a_serverless.app.evidence import Recorder
    from a2a_serverless.aws.evidence_table import EvidenceTable

    return Recorder(EvidenceTable(table(), bucket(), ids=ids, lifetime=lifetime))


@cache
def push() -> "PushTable":
    """The webhooks in it, with their nudges."""
    from a2a_serverless.aws.push_table import PushTable

    return PushTable(table(), ids=ids)


@cache
def webhook_policy() -> "WebhookPolicy":
    """Where webhooks may lead; never back to this deployment."""
    from a2a_serverless.webhook.policy import WebhookPolicy

    told = settings()
    own = urlsplit(told.public_url).hostname
    return WebhookPolicy(allow_private=told.allow_private_webhooks, own_hosts=frozenset([own] if own else []))


def agent_sources() -> dict[str, str]:
    """Import string of each agent by its name, in the order of the deployment: the first is the default."""
    entries = [entry.partition("=") for entry in settings().agents.split(",") if entry]
    return {name.strip(): source.strip() for name, _, source in entries}


@cache
def agent(name: str) -> Agent:
    """The agent of that name.

    Raises:
        LookupError: the deployment has none, or its import string leads nowhere: which one is said.
        TypeError: it leads to something that is no agent.
    """
    source = agent_sources().get(name)
    if source is None:
        raise LookupError(f"no agent {name!r} in this deployment; there are {', '.join(agent_sources())}")
    module, _, attribute = source.partition(":")
    found = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(found, Agent):
        raise TypeError(f"{source} is {type(found).__name__}, and should be an instance of a2a_serverless.Agent")
    return found
