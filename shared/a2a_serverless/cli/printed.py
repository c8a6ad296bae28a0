"""What a command says: lines for people, or JSON for programs."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns as wide as they need to be."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    return [_line(row, widths) for row in (header, *rows)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def moment(at: datetime | None) -> str:
    """A time as people read it, in UTC; nothing for none."""
    return f"{at:%Y-%m-%d %H:%M:%S}Z" if at is not None else ""


def say(line: str) -> None:
    """A remark that is not part of the result."""
    print(line, file=sys.stderr)


def show(lines: Sequence[str]) -> None:
    """The result for people."""
    print("\n".join(lines))


def show_json(result: object) -> None:
    """The result for programs."""
    print(json.dumps(result, indent=2))
