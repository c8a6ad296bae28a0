"""Grants of callback addresses: `CALLBACK#id`, forgotten when they expire. Only the hash of the secret is kept."""

from datetime import datetime
from typing import Final

from a2a_serverless.app.callbacks import CallbackGrant
from a2a_serverless.aws.items import Attribute, number, number_in, text, text_in, ttl, ttl_in
from a2a_serverless.aws.keys import encoded, fits, task_key, task_text
from a2a_serverless.aws.settings import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE
from a2a_serverless.aws.table import Table

CALLBACK: Final = "CALLBACK#"
GRANT: Final = "GRANT"


class CallbackTable:
    """CallbackStore on DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def put_grant(self, grant_id: str, grant: CallbackGrant) -> None:
        """Keep a grant until it expires."""
        self._table.put(
            {
                **_key(grant_id),
                "task": text(task_text(grant.key)),
                "fence": number(grant.fence),
                "secret_hash": text(grant.secret_hash),
                TTL_ATTRIBUTE: ttl(grant.expires_at),
            }
        )

    def grant(self, grant_id: str, *, now: datetime) -> CallbackGrant | None:
        """The grant, if there is one that has not expired."""
        item = self._table.get(_key(grant_id)) if fits(_partition(grant_id)) else None
        expires_at = ttl_in(item, TTL_ATTRIBUTE) if item is not None else None
        if item is None or expires_at is None or expires_at <= now:
            return None
        key = task_key(text_in(item, "task"))
        return CallbackGrant(key, number_in(item, "fence"), text_in(item, "secret_hash"), expires_at)


def _key(grant_id: str) -> dict[str, Attribute]:
    return {PARTITION_KEY: text(_partition(grant_id)), SORT_KEY: text(GRANT)}


def _partition(grant_id: str) -> str:
    return CALLBACK + encoded(grant_id)
