"""What an agent keeps for a context: read when first asked for, and merged key by key when two tasks wrote at once."""

from copy import deepcopy
from datetime import datetime
from typing import Final

from a2a_serverless.app.ports import ContextState, ContextStore
from a2a_serverless.errors import Conflict
from a2a_serverless.types import JsonObject, Scope

_TRIES: Final = 40


class ContextMemory:
    """The state of one context during one turn."""

    def __init__(self, store: ContextStore, scope: Scope, context_id: str) -> None:
        self._store = store
        self._scope = scope
        self._context_id = context_id
        self._loaded = ContextState({})

    def load(self) -> JsonObject:
        """The state, for the agent to read and to change."""
        self._loaded = self._store.context(self._scope, self._context_id)
        return deepcopy(self._loaded.value)

    def save(self, wanted: JsonObject | None, *, expires_at: datetime) -> None:
        """Write what the agent changed; keys that another task changed meanwhile stay as that one left them."""
        if wanted is None or wanted == self._loaded.value:
            return
        before, current = self._loaded.value, self._loaded
        for _ in range(_TRIES):
            merged = _merged(before, wanted, current.value)
            try:
                self._store.save_context(
                    self._scope, self._context_id, ContextState(merged, current.version), expires_at=expires_at
                )
            except Conflict:
                current = self._store.context(self._scope, self._context_id)
            else:
                return
        raise Conflict("other tasks of the context wrote each time")


def _merged(before: JsonObject, wanted: JsonObject, current: JsonObject) -> JsonObject:
    """`current` with the keys that changed from `before` to `wanted`."""
    removed = before.keys() - wanted.keys()
    changed = {key: value for key, value in wanted.items() if key not in before or before[key] != value}
    return {key: value for key, value in current.items() if key not in removed} | changed
