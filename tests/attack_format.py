"""The format of tests/data/webhooks, as far as the runners understand it, and what they do not understand of a file.

A vector with a word that is not understood would pass for the wrong reason, so it is named and not run.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from tests.unit.webhook.attack_partners import is_known_error

DATA: Final = Path(__file__).parent / "data" / "webhooks"
SAMPLE: Final = DATA / "webhook-attacks.json"
OWN: Final = DATA / "webhook-attacks-own.json"
FIXTURES: Final[Mapping[str, Any]] = json.loads((DATA / "webhook-attack-fixtures.json").read_text(encoding="utf-8"))

MODES: Final = ("strict", "compat", "hmac", "token")
SENT_AS: Final = ("content_type", "sent_content_type", "sent_as", "media_type")
"""Names under which an attempt may say as what it was sent, where that is not the first choice."""
GIVEN_UP: Final = frozenset(
    {"exhausted", "dead_letter", "dead_lettered", "dlq", "give_up", "gave_up", "given_up", "abandoned", "failed"}
)
"""The words a file may use for a nudge that is not tried again."""
VERDICTS: Final = GIVEN_UP | {
    "delivered",
    "retry",
    "retry_throttle",
    "retry_other_content_type",
    "aborted",
    "config_disabled",
}
RESOLVED: Final = re.compile("resol|lookup|dns|getaddrinfo")
"""In the name of an expected count of resolutions."""
READ_AT_MOST: Final = re.compile("read|byte|cap|max")
"""In the name of an expected limit on what is read of a response's body."""
_RESULT: Final = re.compile(r"dial:[0-9A-Fa-f:.]+|blocked|retry:dns")
_WORLD: Final = (*FIXTURES, "notification_tokens", "authorizations", "pending_origin")

Vector = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One entry of a file: a vector that can be run, or what is not understood of it."""

    id: str
    vector: Vector = field(default_factory=dict)
    problems: Sequence[str] = ()


def attack_files() -> Sequence[Path]:
    """The file that `WEBHOOK_ATTACKS` names, else the sample and our own."""
    named = os.environ.get("WEBHOOK_ATTACKS")
    return (Path(named),) if named else (SAMPLE, OWN)


def entries(*files: Path) -> list[Entry]:
    """Every entry of these files; a file that is none of this format is an entry with a problem itself."""
    return [entry for path in files for entry in _read(path)]


def vectors(side: str, *files: Path, op: str | None = None) -> list[Vector]:
    """What can be run of these files on one side."""
    understood = [entry.vector for entry in entries(*files) if not entry.problems]
    return [
        vector for vector in understood if vector["side"] == side and (op is None or vector["input"].get("op") == op)
    ]


def _read(path: Path) -> Iterator[Entry]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        yield Entry(path.name, problems=(f"not readable as JSON: {error}",))
        return
    if not isinstance(found, list) or not found:
        yield Entry(path.name, problems=("must be a list of vectors, and not empty",))
        return
    for number, vector in enumerate(found, start=1):
        name = vector.get("id") if isinstance(vector, dict) else None
        yield Entry(str(name or f"{path.name}, entry {number}"), vector, tuple(problems(vector)))


def problems(vector: object) -> Iterator[str]:
    """What of a vector is not understood, a sentence each. Words about a vector, such as `why`, are free."""
    if not isinstance(vector, dict):
        yield "must be an object"
        return
    if not isinstance(vector.get("id"), str):
        yield "id must be text"
    given, expected = vector.get("input"), vector.get("expected")
    if not isinstance(given, dict) or not isinstance(expected, dict):
        yield "input and expected must be objects"
        return
    match vector.get("side"), given.get("op"):
        case "receiver", _:
            yield from _receiver(given, expected)
        case "sender", "register" | "deliver" | "attempt" as op:
            yield from {"register": _register, "deliver": _deliver, "attempt": _attempt}[op](given, expected)
        case "sender", op:
            yield f"input.op is {op!r}; known are register, deliver and attempt"
        case side, _:
            yield f"side is {side!r}; known are receiver and sender"


_Check = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _or_nothing(check: _Check) -> _Check:
    return lambda value: value is None or check(value)


def _members(
    where: str, value: Mapping[str, object], known: Mapping[str, _Check], *, needs: Collection[str] = ()
) -> Iterator[str]:
    """Names that are not known, values that are not what their name asks for, and needed names that are not there."""
    for name in needs:
        if name not in value:
            yield f"{where}.{name} is missing"
    for name, each in value.items():
        if name not in known:
            yield f"{where}.{name} is not understood; known are {', '.join(known)}"
        elif not known[name](each):
            yield f"{where}.{name} cannot be {json.dumps(each)[:60]}"


# --- receiver -------------------------------------------------------------------------------------------------


def _receiver(given: Vector, expected: Vector) -> Iterator[str]:
    known: Mapping[str, _Check] = {
        "mode": lambda value: value in MODES,
        "requests": lambda value: isinstance(value, list),
        "jwks_down": lambda value: isinstance(value, bool),
        "queue_down": lambda value: isinstance(value, bool),
        "max_jwks_fetches": _or_nothing(_is_count),
        "fx_override": lambda value: isinstance(value, dict),
    }
    yield from _members("input", given, known, needs=("mode", "requests"))
    answer: Mapping[str, _Check] = {"status": _is_status, "reason": _or_nothing(_is_text)}
    yield from _members("expected", expected, answer, needs=("status",))
    override, requests = given.get("fx_override"), given.get("requests")
    if isinstance(override, dict):
        yield from _members("input.fx_override", override, dict.fromkeys(_WORLD, lambda _: True))
    if isinstance(requests, list):
        for number, request in enumerate(requests):
            yield from _request(f"input.requests[{number}]", request)


def _is_status(value: object) -> bool:
    """A number, or a word for a receiver that must not start."""
    return _is_text(value) or type(value) is int


def _request(where: str, request: object) -> Iterator[str]:
    if not isinstance(request, dict):
        yield f"{where} must be an object"
        return
    known: Mapping[str, _Check] = {
        "method": _is_text,
        "url": _is_text,
        "headers": _or_nothing(is_headers),
        "body_b64": _or_nothing(_is_base64),
        "now": _or_nothing(lambda value: type(value) in (int, float)),
        "query": _or_nothing(lambda value: isinstance(value, dict)),
    }
    yield from _members(where, request, known, needs=("method", "url"))


def is_headers(value: object) -> bool:
    """Pairs of text, or an object of text."""
    pairs = list(value.items()) if isinstance(value, dict) else value
    return isinstance(pairs, list) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_is_text, pair)) for pair in pairs
    )


def header_pairs(value: object) -> list[tuple[str, str]]:
    """The headers of a vector, in order."""
    return [(name, text) for name, text in (value.items() if isinstance(value, dict) else value or ())]  # type: ignore[attr-defined]  # is_headers said so


def _is_base64(value: object) -> bool:
    try:
        return isinstance(value, str) and base64.b64decode(value, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


# --- sender ---------------------------------------------------------------------------------------------------


def _register(given: Vector, expected: Vector) -> Iterator[str]:
    text = _or_nothing(_is_text)
    known: Mapping[str, _Check] = {
        "op": _is_text,
        "url": _is_text,
        "scheme": text,
        "credentials": text,
        "token": text,
    }
    yield from _members("input", given, known, needs=("url",))
    known = {"result": lambda value: value in ("accept", "reject"), "reason": text}
    yield from _members("expected", expected, known, needs=("result",))


def _deliver(given: Vector, expected: Vector) -> Iterator[str]:
    later = {name: is_resolution for name in given if name not in ("op", "url")}
    yield from _members("input", given, {"op": _is_text, "url": _is_text, **later}, needs=("url", "dns"))
    known: Mapping[str, _Check] = {
        "result": lambda value: isinstance(value, str) and _RESULT.fullmatch(value) is not None,
        "reason": _or_nothing(_is_text),
        **{name: _is_count for name in expected if RESOLVED.search(name)},
    }
    yield from _members("expected", expected, known, needs=("result",))


def is_resolution(value: object) -> bool:
    """Addresses, none for a name that is not there, or a list of such answers for a name that changes its mind."""
    if not isinstance(value, list):
        return False
    return all(is_resolution(each) if isinstance(each, list) else _is_address(each) for each in value)


def _is_address(value: object) -> bool:
    try:
        return isinstance(value, str) and ip_address(value) is not None
    except ValueError:
        return False


def _attempt(given: Vector, expected: Vector) -> Iterator[str]:
    known: Mapping[str, _Check] = {
        "op": _is_text,
        "attempt": _is_count,
        "response": lambda value: isinstance(value, dict),
        **dict.fromkeys(SENT_AS, lambda value: value in ("application/json", "application/a2a+json")),
    }
    yield from _members("input", given, known, needs=("attempt", "response"))
    known = {
        "verdict": lambda value: value in VERDICTS,
        "delay_s": _or_nothing(lambda value: type(value) in (int, float)),
        "followed": lambda value: value is False,
        "decoded": lambda value: value is False,
        "reason": _or_nothing(_is_text),
        **{name: _is_count for name in expected if READ_AT_MOST.search(name)},
    }
    yield from _members("expected", expected, known, needs=("verdict",))
    if isinstance(given.get("response"), dict):
        yield from _response(given["response"])


def _response(response: Mapping[str, object]) -> Iterator[str]:
    known: Mapping[str, _Check] = {
        "status": _or_nothing(_is_count),
        "headers": _or_nothing(is_headers),
        "body": _or_nothing(_is_text),
        "error": _or_nothing(lambda value: isinstance(value, str) and is_known_error(value)),
    }
    yield from _members("input.response", response, known)
    if (response.get("status") is None) == (response.get("error") is None):
        yield "input.response must have a status or an error"
