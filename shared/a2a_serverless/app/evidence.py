"""Both sides of every exchange about a task, for its operator: what is kept, and that keeping it disturbs nobody."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol

from a2a_serverless.core.masking import without_callbacks

PATIENCE: Final = 2.0
"""Seconds that an answer waits for its record at most; after that the record is on its own, and may be lost."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer. No secret is in it; what agents and callers said is, word for word.

    Attributes:
        kind: `call` (somebody asked us), `nudge` (we told somebody) or `callback` (somebody outside A2A posted).
        operation: `SendMessage`, `GetTask` and so on; `nudge` or `ping`; `callback`.
        who: the caller, the id of the webhook's config, or that of the callback address.
        about: what else is known, such as version and binding, or sequence number and attempt.
        request: method and address, headers that matter, body.
        answer: status (0: none came), headers that matter, body.
    """

    task_id: str
    at: datetime
    kind: str
    operation: str
    who: Mapping[str, object]
    milliseconds: int = 0
    about: Mapping[str, object] = field(default_factory=dict)
    request: Mapping[str, object]
    answer: Mapping[str, object]


class EvidenceStore(Protocol):
    """Exchanges by task, append-only."""

    def keep(self, exchange: Exchange) -> None:
        """Write one down."""


Record = Callable[[Exchange], None]
"""Writes one down, or does not; nobody hears of it."""


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes exchanges down without ever failing or holding up those who had them."""

    store: EvidenceStore
    patience: float = PATIENCE

    def __call__(self, exchange: Exchange) -> None:
        """Write one down, with callback addresses made void; one that is lost is logged."""
        void = replace(exchange, request=_void(exchange.request), answer=_void(exchange.answer))
        writing = threading.Thread(target=self._keep, args=(void,), daemon=True, name="evidence")
        writing.start()
        writing.join(self.patience)
        if writing.is_alive():
            log.warning("the record of an exchange is late and may be lost", extra=_where(exchange))

    def _keep(self, exchange: Exchange) -> None:
        try:
            self.store.keep(exchange)
        except Exception:
            log.exception("the record of an exchange is lost", extra=_where(exchange))


def _void(side: Mapping[str, object]) -> Mapping[str, object]:
    return {name: without_callbacks(said) if isinstance(said, str) else said for name, said in side.items()}


def _where(exchange: Exchange) -> dict[str, object]:
    return {"task_id": exchange.task_id, "operation": exchange.operation}
