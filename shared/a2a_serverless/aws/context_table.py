"""What agents keep for a context, in the partition of its owner: `CONTEXT#id`."""

import hashlib
import json
from datetime import datetime
from typing import Final

from a2a_serverless.app.ports import Clock, ContextState
from a2a_serverless.aws.items import Attribute, Item, binary, bytes_in, number, number_in, text, ttl
from a2a_serverless.aws.journal_codec import compressed, expanded
from a2a_serverless.aws.keys import encoded, owner_text
from a2a_serverless.aws.settings import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE, VERSION
from a2a_serverless.aws.table import Condition, Refused, Table
from a2a_serverless.errors import Conflict
from a2a_serverless.types import Scope, compact_json

CONTEXT: Final = "CONTEXT#"
_LONGEST_ID: Final = 512
"""Bytes of a context id that is spelled out in a key (DynamoDB takes 1,024); a longer one is hashed."""


class ContextTable:
    """ContextStore on DynamoDB."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def context(self, scope: Scope, context_id: str) -> ContextState:
        """What is kept; empty when nothing is, or no longer."""
        item = self._table.get(_key(scope, context_id))
        if item is None or self._is_over(item):
            return ContextState({})
        return ContextState(json.loads(expanded(bytes_in(item, "value"))), number_in(item, VERSION))

    def save_context(self, scope: Scope, context_id: str, state: ContextState, *, expires_at: datetime) -> None:
        """Write `state.value` over version `state.version`.

        Raises:
            Conflict: another task of the context wrote meanwhile.
        """
        item = {
            **_key(scope, context_id),
            "value": binary(compressed(compact_json(state.value).encode())),
            VERSION: number(state.version + 1),
            TTL_ATTRIBUTE: ttl(expires_at),
        }
        try:
            self._table.put(item, only_if=self._still_at(state.version))
        except Refused as refused:
            raise Conflict(f"another task wrote the state of context {context_id[:100]}") from refused

    def _still_at(self, version: int) -> Condition:
        if version:
            return Condition("#version = :seen", {":seen": number(version)})
        now = number(int(self._clock().timestamp()))
        return Condition(f"attribute_not_exists({PARTITION_KEY}) OR {TTL_ATTRIBUTE} <= :now", {":now": now})

    def _is_over(self, item: Item) -> bool:
        return number_in(item, TTL_ATTRIBUTE) <= int(self._clock().timestamp())


def _key(scope: Scope, context_id: str) -> dict[str, Attribute]:
    name = encoded(context_id)
    if len(name) > _LONGEST_ID:
        name = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
    return {PARTITION_KEY: text(owner_text(scope)), SORT_KEY: text(CONTEXT + name)}
