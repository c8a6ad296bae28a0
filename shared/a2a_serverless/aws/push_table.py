"""Webhooks in DynamoDB: a config and the state of its nudges in one item `PUSH#id` of its task, the delivery log and
what the owner has fetched beside it.

A webhook is stored before its task names it. One whose task then never came about has an end (`NAMED_WITHIN`), which
the first write of its nudges' state takes away: that is made for a task that names it.

A sender's claim is a generation, raised by one with every write of the state. Replacing a config raises it too and
forgets the state: whoever still sends for the config it was has lost. As in `task_table`, a refused write that finds
its own mark has been carried out.
"""

from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import Final

from a2a_serverless.app.ports import AttemptRecord, Ids
from a2a_serverless.aws.delivery_codec import attempt_of, attempt_text, delivery_of, delivery_text
from a2a_serverless.aws.items import (
    Attribute,
    Item,
    binary,
    bytes_in,
    milliseconds,
    moment_of,
    number,
    number_in,
    text,
    text_in,
    ttl,
)
from a2a_serverless.aws.keys import fits, task_key, task_text
from a2a_serverless.aws.settings import (
    PARTITION_KEY,
    SORT_KEY,
    TTL_ATTRIBUTE,
    WEBHOOK_INDEX,
    WEBHOOK_INDEX_PARTITION,
)
from a2a_serverless.aws.table import Condition, Question, Refused, Table, beginning_with
from a2a_serverless.core.delivery_state import DeliveryState
from a2a_serverless.core.push import PushConfig, WireVersion
from a2a_serverless.errors import Conflict
from a2a_serverless.types import TaskKey

PUSH: Final = "PUSH#"
LOG: Final = "LOG#"
FETCHED: Final = "FETCHED"

LOG_KEPT: Final = timedelta(days=14)
NAMED_WITHIN: Final = timedelta(days=14)
"""How long a webhook is kept that no nudge was ever decided for: it belongs to no task."""
_LONGEST_ID: Final = 128
"""Ids of configs are no longer (`app.push_configs`); a longer one is not there."""

_MARK: Final = "writer"


class PushTable:
    """PushStore, DeliveryStore and Receipts on DynamoDB.

    `ids` marks each write; its last twelve characters must tell writers apart.
    """

    def __init__(self, table: Table, *, ids: Ids) -> None:
        self._table = table
        self._ids = ids

    def put_config(self, key: TaskKey, config: PushConfig) -> None:
        """Store or replace a config; its nudges start anew."""
        changes = {
            "url": text(config.url),
            "scheme": text(config.scheme) if config.scheme else None,
            "sealed": binary(config.sealed) if config.sealed else None,
            "token": {"BOOL": True} if config.has_token else None,
            "wire": text(config.wire_version.value),
            "created": number(milliseconds(config.created_at)),
            WEBHOOK_INDEX_PARTITION: text(key.task_id),
            "delivery": None,
            _MARK: None,
            TTL_ATTRIBUTE: ttl(config.created_at + NAMED_WITHIN),
        }
        self._table.update(_config_key(key, config.id), changes, raised={"generation": 0})

    def config(self, key: TaskKey, config_id: str) -> PushConfig | None:
        """One config."""
        item = self._item(key, config_id)
        return _config(item) if item is not None else None

    def configs(self, key: TaskKey) -> tuple[PushConfig, ...]:
        """All configs of a task, oldest first."""
        found = [_config(item) for item in self._table.all(beginning_with(task_text(key), PUSH))]
        return tuple(sorted(found, key=lambda config: (config.created_at, config.id)))

    def tasks_with(self, task_id: str) -> tuple[TaskKey, ...]:
        """The tasks of this id that have webhooks, whoever owns them: for the operator alone, by an index that no
        function may read."""
        if not fits(task_id):
            return ()
        of_the_task = Condition(f"{WEBHOOK_INDEX_PARTITION} = :task", {":task": text(task_id)})
        found = self._table.all(Question(where=of_the_task, index=WEBHOOK_INDEX))
        return tuple(dict.fromkeys(task_key(text_in(item, PARTITION_KEY)) for item in found))

    def delete_config(self, key: TaskKey, config_id: str) -> None:
        """Forget a config, its secrets and its nudges."""
        if _may_exist(key, config_id):
            self._table.delete(_config_key(key, config_id))

    def webhook(self, key: TaskKey, config_id: str) -> tuple[PushConfig, DeliveryState] | None:
        """A config and the state of its nudges: they are one item."""
        item = self._item(key, config_id)
        return (_config(item), _delivery(item)) if item is not None else None

    def delivery(self, key: TaskKey, config_id: str) -> DeliveryState:
        """The state as stored, or a fresh one."""
        item = self._item(key, config_id)
        return _delivery(item) if item is not None else DeliveryState()

    def save_delivery(self, key: TaskKey, config_id: str, state: DeliveryState) -> None:
        """Write a state whose generation is one more than the stored one.

        Raises:
            Conflict: the stored generation is another, or the config is gone.
        """
        mark = self._ids()[-12:]
        changes = {
            "delivery": text(delivery_text(state)),
            "generation": number(state.generation),
            _MARK: text(mark),
            TTL_ATTRIBUTE: None,
        }
        still_at_generation = Condition("generation = :seen", {":seen": number(state.generation - 1)})
        try:
            self._table.update(_config_key(key, config_id), changes, only_if=still_at_generation)
        except Refused as refused:
            if text_in(refused.stored, _MARK) != mark:
                raise Conflict(f"config {config_id} is gone or not at generation {state.generation - 1}") from refused

    def log_attempt(self, key: TaskKey, config_id: str, attempt: AttemptRecord) -> None:
        """Append a line to the delivery log."""
        line = f"{milliseconds(attempt.at):013d}#{attempt.seq}#{attempt.attempt}#{attempt.result}"
        self._table.put(
            {
                **_key(key, f"{LOG}{config_id}#{line}"),
                "line": text(attempt_text(attempt)),
                TTL_ATTRIBUTE: ttl(attempt.at + LOG_KEPT),
            }
        )

    def attempts(self, key: TaskKey, config_id: str, *, limit: int = 1_000) -> tuple[AttemptRecord, ...]:
        """The newest lines of the delivery log of a config, oldest first."""
        if not _may_exist(key, config_id):
            return ()
        newest_first = replace(beginning_with(task_text(key), f"{LOG}{config_id}#"), backwards=True)
        lines = list(islice(self._table.all(newest_first), limit))
        return tuple(attempt_of(text_in(item, "line")) for item in reversed(lines))

    def mark_fetched(self, key: TaskKey, seq: int) -> None:
        """The owner has the task at `seq`."""
        newer = Condition("attribute_not_exists(seq) OR seq < :seq", {":seq": number(seq)})
        try:
            self._table.put({**_key(key, FETCHED), "seq": number(seq)}, only_if=newer)
        except Refused:
            return  # he had as much before

    def fetched(self, key: TaskKey) -> int:
        """The newest number fetched; 0 for none."""
        item = self._table.get(_key(key, FETCHED))
        return number_in(item, "seq") if item is not None else 0

    def _item(self, key: TaskKey, config_id: str) -> Item | None:
        return self._table.get(_config_key(key, config_id)) if _may_exist(key, config_id) else None


def _delivery(item: Item) -> DeliveryState:
    generation, told = number_in(item, "generation"), text_in(item, "delivery")
    if told:
        return delivery_of(told, generation=generation)
    return DeliveryState(generation=generation, plain_json=text_in(item, "wire") == WireVersion.V0_3)


def _may_exist(key: TaskKey, config_id: str) -> bool:
    return 0 < len(config_id) <= _LONGEST_ID and config_id.isascii() and fits(task_text(key))


def _config_key(key: TaskKey, config_id: str) -> dict[str, Attribute]:
    return _key(key, PUSH + config_id)


def _key(key: TaskKey, sort: str) -> dict[str, Attribute]:
    return {PARTITION_KEY: text(task_text(key)), SORT_KEY: text(sort)}


def _config(item: Item) -> PushConfig:
    return PushConfig(
        id=text_in(item, SORT_KEY).removeprefix(PUSH),
        url=text_in(item, "url"),
        scheme=text_in(item, "scheme"),
        sealed=bytes_in(item, "sealed"),
        has_token="token" in item,
        wire_version=WireVersion(text_in(item, "wire")),
        created_at=moment_of(number_in(item, "created")),
    )
