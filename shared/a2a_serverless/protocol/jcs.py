"""JSON Canonicalization Scheme (RFC 8785): one text for one value, so that a signature can cover it."""

import json
import math
from collections.abc import Iterator
from typing import Final

DEEPEST: Final = 128
_EXACT: Final = 2**53


def canonical(value: object) -> str:
    """The canonical text of plain JSON data.

    Raises:
        ValueError: it holds what JSON cannot: a number that is not finite, a key that is no string, other types, or
            more than `DEEPEST` levels.
    """
    return "".join(_pieces(value, 0))


def _pieces(value: object, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    match value:
        case None | bool() | str():
            yield _plain(value)
        case int() | float():
            yield number(value)
        case list() | tuple():
            yield "["
            for position, item in enumerate(value):
                yield "," if position else ""
                yield from _pieces(item, depth + 1)
            yield "]"
        case dict():
            yield "{"
            for position, name in enumerate(sorted(value, key=_utf16)):
                yield f"{',' if position else ''}{_plain(name)}:"
                yield from _pieces(value[name], depth + 1)
            yield "}"
        case _:
            raise ValueError(f"no JSON: {type(value).__name__}")


def _plain(value: object) -> str:
    """RFC 8785 3.2.2.2: Python's own escapes are those of ECMAScript, once non-ASCII is left alone."""
    return json.dumps(value, ensure_ascii=False)


def _utf16(name: object) -> bytes:
    """RFC 8785 3.2.3: by UTF-16 code units, not by code points."""
    if not isinstance(name, str):
        raise ValueError("a name in an object must be a string")  # noqa: TRY004 (no JSON, like any other)
    return name.encode("utf-16-be", "surrogatepass")


def number(value: float) -> str:
    """A number as ECMAScript writes it (RFC 8785 3.2.2.3): all numbers are doubles, in their shortest form."""
    if isinstance(value, int) and abs(value) <= _EXACT:
        return str(value)
    double = float(value)
    if not math.isfinite(double):
        raise ValueError("no JSON: a number that is not finite")
    if double == 0:
        return "0"
    sign = "-" if double < 0 else ""
    digits, exponent = _shortest(abs(double))
    return sign + _placed(digits, exponent)


def _shortest(double: float) -> tuple[str, int]:
    """The significant digits, and where the point stands: value = 0.digits * 10 ** exponent."""
    mantissa, _, power = f"{double!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    exponent = len(whole) + int(power or 0)
    digits = (whole + fraction).lstrip("0")
    exponent -= len(whole + fraction) - len(digits)
    return digits.rstrip("0"), exponent


def _placed(digits: str, exponent: int) -> str:
    """ECMAScript's Number::toString: plain from 1e-7 to 1e21, else with an exponent."""
    length = len(digits)
    if length <= exponent <= 21:
        return digits + "0" * (exponent - length)
    if 0 < exponent <= 21:
        return f"{digits[:exponent]}.{digits[exponent:]}"
    if -6 < exponent <= 0:
        return f"0.{'0' * -exponent}{digits}"
    shown = exponent - 1
    fraction = f".{digits[1:]}" if length > 1 else ""
    return f"{digits[0]}{fraction}e{'+' if shown > 0 else '-'}{abs(shown)}"
