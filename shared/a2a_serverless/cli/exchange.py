"""`exchange`: both sides of everything that was said about a task, in the order of time."""

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from a2a_serverless.cli import deployment, printed
from a2a_serverless.cli.deployment import in_words
from a2a_serverless.cli.refusal import Refusal

Exchange = Mapping[str, Any]


def show(told: argparse.Namespace) -> int:
    """`exchange TASK`."""
    place = deployment.chosen(stack=told.stack, endpoint=told.endpoint, say=printed.say)
    with in_words(place.stack):
        found = list(place.evidence.of_task(told.task, now=deployment.now()))
    if not found:
        raise Refusal(
            f"nothing was written down about a task {told.task}: the id is another, its records are past their days, "
            "or the stack was deployed with evidence_days=0"
        )
    if told.json:
        printed.show_json(found)
    else:
        printed.show([line for exchange in found for line in lines_of(exchange)])
    return 0


def lines_of(exchange: Exchange) -> Iterator[str]:
    """An exchange for people: what happened in one line, then what was said by each side."""
    answer, request = exchange["answer"], exchange["request"]
    about = " ".join(f"{name}={value}" for name, value in exchange.get("about", {}).items() if value != "")
    who = " ".join(f"{name}={_plain(value)}" for name, value in exchange.get("who", {}).items())
    came = answer["status"] or answer.get("why", "no answer")
    yield f"{exchange['at']}  {exchange['operation']}  {came}  {exchange.get('milliseconds', 0)} ms  {who}  {about}"
    if request:
        yield f"  > {request['method']} {request['url']}"
        yield from _side("  >", request)
    yield f"  < {came}"
    yield from _side("  <", answer)
    yield ""


def _side(mark: str, said: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{mark} {name}: {value}" for name, value in said.get("headers", {}).items())
    # A terminal obeys what is printed to it: control characters of strangers are shown, not sent.
    yield from (f"{mark}   {_printable(line)}" for line in _pretty(said.get("body", "")))


def _pretty(body: str) -> list[str]:
    try:
        return json.dumps(json.loads(body), indent=1, ensure_ascii=False).split("\n")
    except ValueError:
        return body.splitlines()


def _printable(line: str) -> str:
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
