"""Finds what no webhook told. Run it every few minutes and at start; what it finds should be nothing."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .answer import Observation, Observer
from .nudge import Nudge
from .replay import Memory
from .tasks import FetchedTask, TaskClient

logger = logging.getLogger("a2a_receiver")

GRACE: Final = 60
"""Seconds a change is left to its webhook before it counts as not told."""
CLOCK_SKEW: Final = 120
"""Seconds by which the agent's clock may differ from ours without anything slipping through."""
FIRST_LOOK_BACK: Final = 96 * 3600
"""How far the first run looks: as far as a sender goes on trying."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What one run did. Keep the watermark and give it to the next."""

    watermark: float
    looked_at: int
    found: int
    """The metric to watch: more than a few says that webhooks do not arrive."""


def _nobody(_: Observation) -> None:
    return


class Reconciler:
    """Compares the agent's list with what the receiver was told."""

    def __init__(
        self,
        client: TaskClient,
        memory: Memory,
        *,
        is_open: Callable[[str], bool] | None = None,
        observe: Observer = _nobody,
    ) -> None:
        """`memory` is `Receiver.memory`; `is_open` narrows the search to tasks you still wait for.

        `observe` hears `found_by_reconcile` for each.
        """
        self._client = client
        self._memory = memory
        self._is_open = is_open
        self._observe = observe

    def run(self, take: Callable[[FetchedTask], object], *, since: float | None, now: float) -> Reconciled:
        """Hand every task that changed since the watermark and was not told to `take`, then remember it as told.

        `since` is the watermark of the last run, None the first time; `now` Unix seconds. The task comes from a
        list, without artifacts and history: fetch it if you need those.

        Raises:
            FetchError: the list could not be had; run again with the same watermark. So it is when `take` raises.
        """
        looked_at = found = 0
        for task in self._changed(since=since, now=now):
            looked_at += 1
            if not self._was_told(task, now=now):
                take(task)
                self._found(task, now=now)
                found += 1
        return Reconciled(now - GRACE, looked_at, found)

    def _changed(self, *, since: float | None, now: float) -> Iterator[FetchedTask]:
        start = now - FIRST_LOOK_BACK if since is None else since - CLOCK_SKEW
        after = datetime.fromtimestamp(start, UTC).isoformat(timespec="milliseconds")
        for task in self._client.changed_since(after.replace("+00:00", "Z")):
            is_wanted = self._is_open is None or self._is_open(task.task_id)
            if is_wanted and _changed_at(task) <= now - GRACE:
                yield task

    def _was_told(self, task: FetchedTask, *, now: float) -> bool:
        """An agent that states no versions leaves this open, so its tasks count as not told."""
        told = self._memory.told_seq(task.task_id, now=now)
        return task.seq is not None and told is not None and told >= task.seq

    def _found(self, task: FetchedTask, *, now: float) -> None:
        self._memory.remember(Nudge(task.task_id, task.seq), now=now)
        logger.warning("found by reconcile, no webhook told of it: task_id=%s seq=%s", task.task_id, task.seq)
        self._observe(Observation(0, "found_by_reconcile", "reconcile", task.task_id))


def _changed_at(task: FetchedTask) -> float:
    """When the status changed, in Unix seconds; long ago if it does not say."""
    status = task.task.get("status")
    text = status.get("timestamp") if isinstance(status, dict) else None
    try:
        stamp = datetime.fromisoformat(str(text))
    except ValueError:
        return 0.0
    return stamp.replace(tzinfo=stamp.tzinfo or UTC).timestamp()
