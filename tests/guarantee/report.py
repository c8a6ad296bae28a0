"""What a run of the guarantee came to, in figures that add up over many runs."""

from collections import Counter
from dataclasses import dataclass, field, fields
from datetime import timedelta

from .lives import OVER
from .manners import ACCEPTS


@dataclass
class Report:
    """Counts of one run, or of many."""

    tasks: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    """The states in which tasks ended."""
    changes: int = 0
    """Committed changes that a partner hears of."""
    nudges: int = 0
    """Messages, each with an id of its own, however often it was sent."""
    requests: int = 0
    """Attempts that went over the wire."""
    encrypted: int = 0
    """Those of them that went over TLS."""
    losses: list[str] = field(default_factory=list)
    """Partners who do not hold the final version of their task."""
    duplicates: int = 0
    """Nudges that a receiver handed on twice, in spite of its dedupe."""
    wire_duplicates: int = 0
    """Requests that a receiver knew already, and dropped."""
    refused: int = 0
    """Requests of ours that a receiver took for somebody else's."""
    renamed: int = 0
    """Nudges that did not keep their `webhook-id` from attempt to attempt."""
    redirects_followed: int = 0
    calls: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    """Faults of AWS and of workers that came about, by kind."""
    manners: Counter[str] = field(default_factory=Counter)
    """How receivers treated requests."""
    swept: Counter[str] = field(default_factory=Counter)
    """What the sweep put back, by why."""
    records_lost: int = 0
    """Records that the stream gave up on."""
    dead: int = 0
    """Messages that SQS gave up on."""
    given_up: int = 0
    """Nudges that `notify` gave up on."""
    latencies: list[float] = field(default_factory=list)
    """Seconds of the world's time from a commit to the first attempt to tell it, or a newer one."""
    cpu: float = 0.0

    def add(self, other: "Report") -> None:
        """Take in another run."""
        for each in fields(self):
            mine, its = getattr(self, each.name), getattr(other, each.name)
            if isinstance(mine, Counter):
                mine.update(its)
            else:
                setattr(self, each.name, mine + its)

    @property
    def treated_badly(self) -> Counter[str]:
        """How receivers treated the requests that they did not just accept."""
        return Counter({name: count for name, count in self.manners.items() if name != ACCEPTS.name})

    def percentile(self, share: float) -> float:
        """The latency that this share of them does not exceed."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0

    def check(self, plan: object) -> None:
        """That `plan` came to what is promised.

        Raises:
            AssertionError: something was lost, came twice, was refused as not ours, or never ended.
        """
        wrong = (
            *(f"lost: {loss}" for loss in self.losses),
            *_unless(self.duplicates == 0, f"{self.duplicates} duplicates after dedupe"),
            *_unless(self.refused == 0, f"{self.refused} of our own requests were refused as not proven"),
            *_unless(self.renamed == 0, f"{self.renamed} nudges did not keep their id"),
            *_unless(self.redirects_followed == 0, f"{self.redirects_followed} redirects were followed"),
            *_unless(set(self.ends) <= OVER, f"not every task ended: {_counted(self.ends)}"),
        )
        assert not wrong, "\n".join((f"{plan}:", *wrong))

    def lines(self) -> list[str]:
        """What there is to say, a line each."""
        p50, p99 = (timedelta(seconds=self.percentile(share)) for share in (0.5, 0.99))
        return [
            f"tasks {self.tasks}: {_counted(self.ends)}",
            f"changes {self.changes}, nudges {self.nudges}, requests {self.requests} ({self.encrypted} over TLS)",
            f"losses {len(self.losses)}",
            f"duplicates after dedupe {self.duplicates}, on the wire {self.wire_duplicates}",
            f"calls {self.calls}, faults {self.faults.total()}: {_counted(self.faults)}",
            f"requests treated badly {self.treated_badly.total()}: {_counted(self.treated_badly)}",
            f"put back by the sweep {self.swept.total()}: {_counted(self.swept)}",
            f"given up: records by the stream {self.records_lost}, messages by SQS {self.dead}, nudges {self.given_up}",
            f"commit to first attempt, in virtual time, where only faults and receivers take any: p50 {p50}, p99 {p99}",
            f"cpu {self.cpu:.0f} s",
        ]


def _unless(holds: bool, wrong: str) -> tuple[str, ...]:
    return () if holds else (wrong,)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())
