"""Webhooks and their nudges, and the small things kept beside tasks, in memory."""

from datetime import datetime

from a2a_serverless.app.callbacks import CallbackGrant
from a2a_serverless.app.ports import AttemptRecord, Clock, ContextState
from a2a_serverless.core.delivery_state import DeliveryState
from a2a_serverless.core.push import PushConfig, WireVersion
from a2a_serverless.errors import Conflict
from a2a_serverless.testing.memory.clock import FakeClock
from a2a_serverless.types import Scope, TaskKey


class MemoryPush:
    """PushStore, DeliveryStore and Receipts.

    A config that is replaced starts its nudges anew, under a higher generation, so that a sender of the old one loses.
    """

    def __init__(self) -> None:
        self._configs: dict[tuple[TaskKey, str], PushConfig] = {}
        self._deliveries: dict[tuple[TaskKey, str], DeliveryState] = {}
        self._attempts: dict[tuple[TaskKey, str], list[AttemptRecord]] = {}
        self._fetched: dict[TaskKey, int] = {}

    def put_config(self, key: TaskKey, config: PushConfig) -> None:
        before = self._configs.get((key, config.id))
        generation = self.delivery(key, config.id).generation + 1 if before is not None else 0
        self._configs[key, config.id] = config
        self._deliveries[key, config.id] = _fresh(config, generation)

    def config(self, key: TaskKey, config_id: str) -> PushConfig | None:
        return self._configs.get((key, config_id))

    def configs(self, key: TaskKey) -> tuple[PushConfig, ...]:
        mine = [config for (owner, _), config in self._configs.items() if owner == key]
        return tuple(sorted(mine, key=lambda config: (config.created_at, config.id)))

    def delete_config(self, key: TaskKey, config_id: str) -> None:
        self._configs.pop((key, config_id), None)
        self._deliveries.pop((key, config_id), None)

    def webhook(self, key: TaskKey, config_id: str) -> tuple[PushConfig, DeliveryState] | None:
        config = self.config(key, config_id)
        return (config, self.delivery(key, config_id)) if config is not None else None

    def delivery(self, key: TaskKey, config_id: str) -> DeliveryState:
        return self._deliveries.get((key, config_id), DeliveryState())

    def save_delivery(self, key: TaskKey, config_id: str, state: DeliveryState) -> None:
        stored = self._deliveries.get((key, config_id))
        if stored is None or stored.generation != state.generation - 1:
            raise Conflict(f"config {config_id} is gone or no longer at generation {state.generation - 1}")
        self._deliveries[key, config_id] = state

    def log_attempt(self, key: TaskKey, config_id: str, attempt: AttemptRecord) -> None:
        self._attempts.setdefault((key, config_id), []).append(attempt)

    def attempts(self, key: TaskKey, config_id: str, *, limit: int = 1_000) -> tuple[AttemptRecord, ...]:
        return tuple(sorted(self._attempts.get((key, config_id), []), key=lambda line: line.at))[-limit:]

    def mark_fetched(self, key: TaskKey, seq: int) -> None:
        self._fetched[key] = max(seq, self._fetched.get(key, 0))

    def fetched(self, key: TaskKey) -> int:
        return self._fetched.get(key, 0)


def _fresh(config: PushConfig, generation: int) -> DeliveryState:
    return DeliveryState(generation=generation, plain_json=config.wire_version is WireVersion.V0_3)


class MemoryContexts:
    """ContextStore. `clock` decides what has expired."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or FakeClock()
        self._kept: dict[tuple[Scope, str], tuple[ContextState, datetime]] = {}

    def context(self, scope: Scope, context_id: str) -> ContextState:
        state, until = self._kept.get((scope, context_id), (ContextState({}), None))
        return state if until is not None and until > self._clock() else ContextState({})

    def save_context(self, scope: Scope, context_id: str, state: ContextState, *, expires_at: datetime) -> None:
        if self.context(scope, context_id).version != state.version:
            raise Conflict("another task of the context wrote meanwhile")
        self._kept[scope, context_id] = (ContextState(state.value, state.version + 1), expires_at)


class MemoryCallbacks:
    """CallbackStore."""

    def __init__(self) -> None:
        self._grants: dict[str, CallbackGrant] = {}

    def put_grant(self, grant_id: str, grant: CallbackGrant) -> None:
        self._grants[grant_id] = grant

    def grant(self, grant_id: str, *, now: datetime) -> CallbackGrant | None:
        grant = self._grants.get(grant_id)
        return grant if grant is not None and grant.expires_at > now else None
