"""What an agent says, copied as plain JSON in the moment it is said, or refused right there.

It is written a little later, by then the agent may have changed what it holds on to; and what no reader could read
must fail the line that said it, not the write.
"""

import json
from typing import Any, NoReturn, TypeVar

from pydantic_core import to_json

from a2a_serverless.types import NO_DATA, A2AModel

Said = TypeVar("Said", bound=A2AModel)

_FREE = frozenset({"data", "metadata"})
"""The members that hold whatever their author puts there."""


def plain(said: Said) -> Said:
    """A copy of a message, an artifact or a part that shares nothing with the agent.

    Raises:
        ValueError: something in it is no JSON: an object of the author's, NaN, half of a surrogate pair.
    """
    copied = {name: _copied(name, value) for name, value in said}
    return said.but(**{name: value for name, value in copied.items() if value is not getattr(said, name)})


def _copied(name: str, value: Any) -> Any:
    if name in _FREE:
        return value if value is None or value is NO_DATA else plain_data(name, value)
    match value:
        case str():
            _check_text(name, value)
            return value
        case A2AModel():
            return plain(value)
        case tuple():
            return tuple(_copied(name, element) for element in value)
        case _:
            return value


def plain_data(name: str, value: Any) -> Any:
    """A copy of JSON data, as it will be read: tuples are arrays, times are text.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return json.loads(to_json(value, inf_nan_mode="constants"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} must be JSON (RFC 8259): {str(error)[:200]}") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _check_text(name: str, text: str) -> None:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} holds half of a surrogate pair, which no UTF-8 has") from error
