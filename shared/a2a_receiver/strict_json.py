"""JSON with one reading only: what two parsers could read differently is refused.

Used for bodies, JOSE headers, claims, key sets and the answers of the agent.
"""

import json
import re
from typing import Final, NoReturn

MAX_DEPTH: Final = 32

# An unterminated string counts to the end: one pass over the bytes whatever they are, no backtracking.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET: Final = re.compile(rb"[\[\]{}]")


class NotStrictJson(ValueError):
    """The bytes are not JSON, or are JSON that readers do not agree on."""


def loads(data: bytes, *, max_depth: int = MAX_DEPTH) -> object:
    """The value that `data` holds: UTF-8 without BOM, no duplicate key, no NaN, no deep nesting (RFC 8259).

    Raises:
        NotStrictJson: anything else. Nothing but this leaves the function.
    """
    if _is_deeper(data, max_depth):
        raise NotStrictJson(f"nested deeper than {max_depth}")
    try:
        value: object = _DECODER.decode(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise NotStrictJson(str(error)) from error
    return value


def _is_deeper(data: bytes, limit: int) -> bool:
    """By counting brackets: the parser is never given what could exhaust its stack."""
    if data.count(b"[") + data.count(b"{") <= limit:
        return False
    depth = deepest = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", data)):
        depth += 1 if bracket.group() in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest > limit


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotStrictJson("a key stands twice in one object")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise NotStrictJson(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise NotStrictJson("a number is out of range")
    return number


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
