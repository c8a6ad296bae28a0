"""Values as DynamoDB spells them, and times as numbers. Nothing about what they mean."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

Attribute = dict[str, Any]
"""One value in DynamoDB's JSON: `{"S": …}`, `{"N": …}` or `{"B": …}`."""
Item = Mapping[str, Attribute]
"""Attributes by name."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def text(value: str) -> Attribute:
    """A string."""
    return {"S": value}


def number(value: int) -> Attribute:
    """A whole number."""
    return {"N": str(value)}


def binary(value: bytes) -> Attribute:
    """Bytes."""
    return {"B": value}


def text_in(item: Item, name: str) -> str:
    """The string of that name; empty when it is not there."""
    value = item.get(name)
    return str(value["S"]) if value is not None else ""


def number_in(item: Item, name: str) -> int:
    """The number of that name; 0 when it is not there."""
    value = item.get(name)
    return int(value["N"]) if value is not None else 0


def bytes_in(item: Item, name: str) -> bytes:
    """The bytes of that name; none when it is not there."""
    value = item.get(name)
    return bytes(value["B"]) if value is not None else b""


def texts_in(item: Item, name: str) -> list[str]:
    """The texts of the set of that name; none when it is not there."""
    value = item.get(name)
    return list(value["SS"]) if value is not None else []


def milliseconds(moment: datetime) -> int:
    """Since the epoch. Times are kept to the millisecond, as they travel (SPEC 5.6.1)."""
    return (moment - _EPOCH) // _MILLISECOND


def moment_of(value: int) -> datetime:
    """The time so many milliseconds after the epoch."""
    return _EPOCH + timedelta(milliseconds=value)


def ttl(moment: datetime) -> Attribute:
    """A time in whole seconds, as DynamoDB's TTL counts, never early."""
    return number(math.ceil(milliseconds(moment) / 1000))


def ttl_in(item: Item, name: str) -> datetime | None:
    """The time of that name; None when it is not there."""
    value = item.get(name)
    return moment_of(int(value["N"]) * 1000) if value is not None else None
