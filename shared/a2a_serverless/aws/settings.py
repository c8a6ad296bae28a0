"""The names that the stack and the functions agree on: environment variables, table attributes, indexes.

The stack writes them, the functions read them, and nothing else of the kit is visible to the stack.
This module imports nothing of AWS.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

PARTITION_KEY = "pk"
SORT_KEY = "sk"
HEAD = "HEAD"

OWNER_INDEX = "by_owner"
OWNER_INDEX_PARTITION = "owner"
OWNER_INDEX_SORT = "listed"
OWNER_INDEX_PROJECTS = ("state", "context_id", "status", "expires_at")

DUE_INDEX = "due"
DUE_INDEX_PARTITION = "due_shard"
DUE_INDEX_SORT = "due_at"
DUE_SHARDS = 4
"""Over how many partitions the index `due` is spread: each takes 1,000 writes a second."""

WEBHOOK_INDEX = "webhooks"
WEBHOOK_INDEX_PARTITION = "webhook_of"
"""The id of the task a webhook belongs to: how an operator finds it who knows nothing else."""

TTL_ATTRIBUTE = "expires_at"

PARTS_PREFIX = "parts/"
"""Where the bucket has what is too large for the journal of a task."""
EVIDENCE_PREFIX = "evidence/"
"""Where the bucket has what is too large for a record of an exchange."""

# What the state machine writes and checks in the head of a task: see cdk/await_input.asl.json.
WAIT_NUMBER = "wait_number"
WAIT_TOKEN = "wait_token"  # noqa: S105 (an attribute's name)
WAIT_REMINDED = "wait_reminded"
VERSION = "version"
NUDGE_SEQ = "nudge_seq"

SECRET_CONTEXT = "push-secrets"  # noqa: S105 (an encryption context, not a secret)
SIGNING_CONTEXT = "signing-keys"
CARD_CONTEXT = "card-key"


class Variable(StrEnum):
    """One environment variable of one or more functions."""

    STAGE = "A2A_STAGE"
    AGENTS = "A2A_AGENTS"
    """`name=import.path:attribute`, comma separated; the first is the default agent."""
    PUBLIC_URL = "A2A_PUBLIC_URL"
    """The address that partners use, never taken from a request's Host header."""
    ISSUERS = "A2A_ISSUERS"
    """JSON list of trusted issuers (`[{"issuer", "audience", "jwks_uri"}]`); empty: no authentication."""
    TABLE = "A2A_TABLE"
    BUCKET = "A2A_BUCKET"
    """Where content is that is too large for the table."""
    EVIDENCE_DAYS = "A2A_EVIDENCE_DAYS"
    """How long both sides of every exchange are kept; `0` keeps none."""
    TURNS_QUEUE = "A2A_TURNS_QUEUE"
    TURNS_DEAD_LETTERS = "A2A_TURNS_DEAD_LETTERS"
    NUDGES_QUEUE = "A2A_NUDGES_QUEUE"
    NUDGES_DEAD_LETTERS = "A2A_NUDGES_DEAD_LETTERS"
    NUDGES_QUEUE_ARN = "A2A_NUDGES_QUEUE_ARN"
    SCHEDULE_GROUP = "A2A_SCHEDULE_GROUP"
    """Where nudges are kept that come back later than the queue can hold them."""
    SCHEDULE_ROLE = "A2A_SCHEDULE_ROLE"
    """Whom EventBridge Scheduler sends to the queue as."""
    WAIT_MACHINE = "A2A_WAIT_MACHINE"
    SEALING_KEY = "A2A_SEALING_KEY"
    ALLOW_PRIVATE_WEBHOOKS = "A2A_ALLOW_PRIVATE_WEBHOOKS"
    """`1` lets webhooks use plain http and loopback addresses; the stack refuses it outside `local`."""
    WEBHOOK_OWNERSHIP = "A2A_WEBHOOK_OWNERSHIP"
    """How an address is asked whether it wants webhooks before it is registered: `token`, `options`; else not."""
    LEASE_SECONDS = "A2A_LEASE_SECONDS"
    """How long a runner may be silent before another takes over."""
    RETENTION_SECONDS = "A2A_RETENTION_SECONDS"
    """How long a task is kept after its terminal state."""
    LONGEST_WAIT_SECONDS = "A2A_LONGEST_WAIT_SECONDS"
    """How long an agent may wait for an answer; the stack never lets this be longer than the retention."""
    RETRY_WINDOW_SECONDS = "A2A_RETRY_WINDOW_SECONDS"
    """How long a repeated send is taken for a retry of the first."""


@dataclass(frozen=True)
class Settings:
    """What a function was told by its stack; a value that the function has no use for is empty.

    Raises:
        KeyError: `A2A_STAGE` is missing, so this is no function of ours.
    """

    stage: str
    agents: str
    public_url: str
    issuers: str
    table: str
    bucket: str
    evidence: timedelta
    turns_queue: str
    turns_dead_letters: str
    nudges_queue: str
    nudges_dead_letters: str
    nudges_queue_arn: str
    schedule_group: str
    schedule_role: str
    wait_machine: str
    sealing_key: str
    allow_private_webhooks: bool
    webhook_ownership: str
    lease: timedelta
    retention: timedelta
    longest_wait: timedelta
    retry_window: timedelta

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Settings":
        """Read the settings from a function's environment."""

        def text(name: Variable) -> str:
            return env.get(name, "")

        return cls(
            stage=env[Variable.STAGE],
            agents=text(Variable.AGENTS),
            public_url=text(Variable.PUBLIC_URL).rstrip("/"),
            issuers=text(Variable.ISSUERS),
            table=text(Variable.TABLE),
            bucket=text(Variable.BUCKET),
            evidence=timedelta(days=int(env.get(Variable.EVIDENCE_DAYS, 0))),
            turns_queue=text(Variable.TURNS_QUEUE),
            turns_dead_letters=text(Variable.TURNS_DEAD_LETTERS),
            nudges_queue=text(Variable.NUDGES_QUEUE),
            nudges_dead_letters=text(Variable.NUDGES_DEAD_LETTERS),
            nudges_queue_arn=text(Variable.NUDGES_QUEUE_ARN),
            schedule_group=text(Variable.SCHEDULE_GROUP),
            schedule_role=text(Variable.SCHEDULE_ROLE),
            wait_machine=text(Variable.WAIT_MACHINE),
            sealing_key=text(Variable.SEALING_KEY),
            allow_private_webhooks=text(Variable.ALLOW_PRIVATE_WEBHOOKS) == "1",
            webhook_ownership=text(Variable.WEBHOOK_OWNERSHIP),
            lease=timedelta(seconds=int(env.get(Variable.LEASE_SECONDS, 30))),
            retention=timedelta(seconds=int(env.get(Variable.RETENTION_SECONDS, 30 * 86400))),
            longest_wait=timedelta(seconds=int(env.get(Variable.LONGEST_WAIT_SECONDS, 30 * 86400))),
            retry_window=timedelta(seconds=int(env.get(Variable.RETRY_WINDOW_SECONDS, 3600))),
        )
