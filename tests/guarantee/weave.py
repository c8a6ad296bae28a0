"""Strands: threads of which exactly one runs at a time, and which sleep in the world's time.

A hop that stalls, a partner that answers late and a caller who waits are each a strand that sleeps, so that everything
else goes on meanwhile; and since one runs at a time, in an order of its own, a run comes out the same every time.
"""

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from tests.fakes import FakeClock

_PATIENCE: Final = 120.0
"""Seconds of real time after which a strand is taken to hang: each does a few milliseconds of work at a time."""


class Abandoned(BaseException):
    """Unwinds a strand that nobody will wake any more: nothing in the product may hold it back."""


class Weave:
    """The strands of one world."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._numbers = itertools.count()
        self._asleep: list[tuple[datetime, int, _Strand]] = []
        self._idle: list[_Strand] = []
        self._all: list[_Strand] = []
        self._running: _Strand | None = None
        self._baton = _held()
        self.failures: list[BaseException] = []
        """What went wrong in a strand: always the test's own fault, or a finding."""
        self.is_closed = False

    @property
    def is_inside(self) -> bool:
        """Whether a strand asks."""
        return threading.current_thread() is not threading.main_thread() and self._running is not None

    def begin(self, work: Callable[[], None]) -> None:
        """Begin a strand; answers when it sleeps or is done."""
        if not self._idle:
            self._all.append(_Strand(self))
            self._idle.append(self._all[-1])
        strand = self._idle.pop()
        strand.work = work
        self._let(strand)

    def begin_at(self, at: datetime, work: Callable[[], None]) -> None:
        """Begin a strand then."""
        strand = _Strand(self)
        strand.work = work
        self._all.append(strand)
        heapq.heappush(self._asleep, (at, next(self._numbers), strand))

    def sleep(self, seconds: float) -> None:
        """Called in a strand: let so much time pass."""
        strand = self._running
        assert strand is not None
        heapq.heappush(self._asleep, (self._clock() + timedelta(seconds=seconds), next(self._numbers), strand))
        self._baton.release()
        strand.go.acquire()
        if self.is_closed:
            raise Abandoned

    def next_at(self) -> datetime | None:
        """When a strand wakes up next."""
        return self._asleep[0][0] if self._asleep else None

    def resume(self) -> None:
        """Let the strand go on whose time has come."""
        self._let(heapq.heappop(self._asleep)[2])

    def close(self) -> None:
        """End all of them, wherever they are."""
        self.is_closed = True
        for strand in self._all:
            strand.go.release()
        for strand in self._all:
            strand.thread.join(_PATIENCE)

    def _let(self, strand: "_Strand") -> None:
        self._running = strand
        strand.go.release()
        if not self._baton.acquire(timeout=_PATIENCE):
            raise RuntimeError("a strand hangs: does it wait for another one?")
        self._running = None
        if self.failures:
            raise self.failures[0]

    def run(self, strand: "_Strand") -> None:
        """The life of a strand's thread: one work after the other."""
        for work in strand.given():
            try:
                work()
            except Abandoned:
                return
            except BaseException as wrong:  # noqa: BLE001 (whatever it is, the world's run ends with it)
                self.failures.append(wrong)
            self._idle.append(strand)
            self._baton.release()


class _Strand:
    def __init__(self, weave: Weave) -> None:
        self.go = _held()
        self.work: Callable[[], None] = lambda: None
        self._weave = weave
        self.thread = threading.Thread(target=weave.run, args=(self,), daemon=True, name="strand")
        self.thread.start()

    def given(self) -> Iterator[Callable[[], None]]:
        while True:
            self.go.acquire()
            if self._weave.is_closed:
                return
            yield self.work


def _held() -> threading.Lock:
    """A lock that somebody else will release: far faster than a semaphore."""
    lock = threading.Lock()
    lock.acquire()
    return lock


class PerStrand(threading.local):
    """A stack that each strand has for itself."""

    def __init__(self, *first: object) -> None:
        self._held: list[object] = list(first)

    def append(self, one: object) -> None:
        self._held.append(one)

    def pop(self) -> object:
        return self._held.pop()

    def __getitem__(self, at: int) -> object:
        return self._held[at]

    def __len__(self) -> int:
        return len(self._held)
