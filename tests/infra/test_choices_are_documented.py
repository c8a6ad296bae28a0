"""docs/operations.md lists what a deployment may choose: every key that synth reads, with the default that it has."""

import re
from pathlib import Path

from cdk.context import Choices, read

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def table() -> dict[str, str]:
    """The default of each key, as the page says it; `A`, `B` in one row are two keys with two defaults."""
    section = PAGE.read_text(encoding="utf-8").split("## What a deployment may choose")[1].split("\n## ")[0]
    rows = [row.strip("|").split(" | ") for row in section.splitlines() if row.startswith("| `")]
    defaults: dict[str, str] = {}
    for keys, _, said in rows:
        named, values = re.findall(r"`(\w+)`", keys), re.findall(r"`([^`]+)`", said)
        defaults |= dict(zip(named, values if len(values) == len(named) else [""] * len(named), strict=True))
    return defaults


def chosen(**context: str) -> Choices:
    def value(key: str) -> object:
        return context.get(key)

    return read(value)


def test_every_key_that_synth_reads_is_listed_and_no_other() -> None:
    asked: set[str] = set()

    def value(key: str) -> object:
        asked.add(key)
        return None

    read(value)

    assert asked == table().keys()


def test_a_default_is_what_the_page_says() -> None:
    said = {key: value for key, value in table().items() if value}

    assert {key: chosen(**{key: value}) for key, value in said.items()} == dict.fromkeys(said, chosen())
    assert len(said) > 10
