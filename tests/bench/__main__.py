"""Compares this kit with the reference server, in one run: `make bench`, or `make bench BENCH=--json`.

    --rounds N   how often each side is asked, in turn (9)
    --json       one JSON object in place of the table

Exit status 1: a count is over its budget (requests to AWS, modules, what must not be imported). Times never fail a run.
2: the comparison cannot be made.
"""

import argparse
import json
import sys
from pathlib import Path

from tests.bench import budgets, runs
from tests.bench.budgets import Row
from tests.bench.places import has_reference, prepared


def main(argv: list[str]) -> int:
    """Compare, print, and say whether the counts hold."""
    parser = argparse.ArgumentParser(prog="make bench", description="Compare this kit with the reference server.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    options = parser.parse_args(argv)
    if not has_reference():
        print("the reference server's environment is not there: `make bench` makes it", file=sys.stderr)
        return 2
    options.folder.mkdir(parents=True, exist_ok=True)
    found = runs.compared(prepared(options.folder.resolve()), rounds=options.rounds)
    print(_as_json(found) if options.json else f"{runs.machine()}\n\n{budgets.table(found)}")
    broken = [row.name for row in found if row.is_exact and not row.holds]
    if broken:
        print(f"over their budgets: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


def _as_json(rows: list[Row]) -> str:
    told = [
        {
            "name": row.name,
            "unit": row.unit,
            "reference": row.reference,
            "ours": row.ours,
            "ratio": row.ratio,
            "budget": row.limit if row.is_exact else row.budget,
            "exact": row.is_exact,
            "holds": row.holds,
        }
        for row in rows
    ]
    return json.dumps({"machine": runs.machine(), "rows": told}, indent=1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
