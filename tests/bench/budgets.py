"""The rows of the comparison: what is compared, the budget, and what is said of it.

Budgets are those the design set before anything was built. A time is never a reason to fail: the machine is shared.
A count is exact, the same on every machine, and one that is over its budget fails the run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

FORBIDDEN: Final = frozenset(
    {
        "a2a",
        "asyncio",
        "aws_lambda_powertools",
        "aws_xray_sdk",
        "boto3",
        "cryptography",
        "jwt",
        "s3transfer",
        "starlette",
    }
)
"""What `api` must not load before a request asks for it."""

MOST_MODULES: Final = 468
MOST_CALLS: Final[Mapping[str, int]] = {"send": 2, "reply": 0, "get": 1, "list": 2, "card": 2}
"""Requests to AWS. The first page of a list counts the others; a card is signed with a key that is read once."""


@dataclass(frozen=True)
class Row:
    """One line: two measured figures of the same kind, smaller is better."""

    name: str
    unit: str
    reference: float | None
    ours: float
    budget: float | None = None
    """The largest ours / reference; None where none was set."""
    limit: float | None = None
    """The largest figure of ours, for counts."""

    @property
    def ratio(self) -> float | None:
        """Ours in terms of the reference server's."""
        return self.ours / self.reference if self.reference else None

    @property
    def is_exact(self) -> bool:
        """Whether the figure is a count."""
        return self.limit is not None

    @property
    def holds(self) -> bool:
        """Whether it is within its budget."""
        if self.limit is not None:
            return self.ours <= self.limit
        return self.budget is None or self.ratio is None or self.ratio <= self.budget

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.budget is None and self.limit is None:
            return ""
        return "ok" if self.holds else "OVER"


def times(name: str, figures: Mapping[str, tuple[float, float]], key: str, *, fewer: float | None) -> Row:
    """A row of CPU time, whose budget says how many times less ours must be."""
    reference, ours = figures[key]
    return Row(name, "µs", reference, ours, budget=1 / fewer if fewer else None)


def table(rows: list[Row]) -> str:
    """The rows as a person reads them."""
    lines = [("", "reference", "ours", "ours/reference", "budget", "")]
    lines += [(row.name, _figure(row.reference, row.unit), _figure(row.ours, row.unit), *_judged(row)) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(_line(line, widths) for line in lines)


def _line(line: tuple[str, ...], widths: list[int]) -> str:
    name, *figures = (text.rjust(width) for text, width in zip(line, widths, strict=True))
    return "  ".join((name.strip().ljust(widths[0]), *figures)).rstrip()


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    shown = f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:,.1f}"
    return f"{shown} {unit}".rstrip()


def _judged(row: Row) -> tuple[str, str, str]:
    ratio = "-" if row.ratio is None else f"{row.ratio:.3f} (1/{1 / row.ratio:.1f})" if row.ratio else "0"
    budget = f"<= {row.limit:g}" if row.limit is not None else f"<= {row.budget:.3f}" if row.budget else "-"
    return ratio, budget, row.verdict
