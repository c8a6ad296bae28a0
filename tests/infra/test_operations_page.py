"""docs/operations.md lists what a deployment may choose, with the defaults that synth has, and every alarm."""

import re
from pathlib import Path

from cdk.context import Choices, read
from tests.infra.template import Template

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


def test_every_alarm_is_explained_and_no_other(production: Template) -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Alarms")[1].split("\n## ")[0]
    rows = [row.split(" | ")[0] for row in section.splitlines() if row.startswith("| `")]

    explained = {f"Watch{name}" for names in rows for name in re.findall(r"`(\w+)`", names)}

    assert explained == production.of_type("AWS::CloudWatch::Alarm").keys()
