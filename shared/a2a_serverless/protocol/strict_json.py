"""JSON as it may come in: UTF-8, finite numbers, no lone surrogates, not deeper than an agent has use for."""

import json
import math
import re
from typing import Final

from pydantic_core import from_json

from a2a_serverless.errors import InvalidRequest, ParseError

DEEPEST: Final = 64
"""Levels of objects and arrays in a request. The store, the queue and the webhooks each carry a few more."""
LARGEST_BODY: Final = 6_000_000
"""Bytes. AWS: a Lambda function takes 6 MB in a request (and 4.5 MB of what the gateway hands on as base64)."""

_MAY_OVERFLOW: Final = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{200}")
"""A double ends at 309 digits: an exponent of two digits gets there from 210 of them."""


def parse(body: bytes) -> object:
    """The value that the bytes spell. A name that is repeated in an object counts as written last (RFC 8259 4).

    Raises:
        ParseError: no JSON.
        InvalidRequest: JSON, but nested deeper than `DEEPEST` or with a number that no double holds.
    """
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise _too_deep() from error
        raise ParseError(f"the body is no JSON (RFC 8259, UTF-8): {_reason(error)}") from error
    # Counting brackets is cheap and says for nearly all requests that there is nothing to look for.
    if body.count(b"{") + body.count(b"[") > DEEPEST:
        _check_depth(value)
    if _MAY_OVERFLOW.search(body):
        _check_numbers(value)
    return value


def text_of(value: object) -> str:
    """Compact JSON text of plain data, non-ASCII as it is."""
    return _ENCODER.encode(value)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _reason(error: ValueError) -> str:
    return str(error) if len(str(error)) < 120 else "it could not be read"


def _too_deep() -> InvalidRequest:
    return InvalidRequest(f"the body nests objects and arrays deeper than {DEEPEST} levels")


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    if any(isinstance(child, dict | list) for child in level):
        raise _too_deep()


def _check_numbers(value: object) -> None:
    level = [value]
    while level:
        for number in level:
            if isinstance(number, int | float) and not _is_double(number):
                raise InvalidRequest("the body holds a number that no IEEE 754 double holds; send it as a string")
        level = [child for parent in level for child in _children(parent)]


def _is_double(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def _children(value: object) -> list[object]:
    match value:
        case dict():
            return list(value.values())
        case list():
            return value
        case _:
            return []
