"""Things that most processes never use: each is imported and made when it is first used."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

Thing = TypeVar("Thing")


class _Later:
    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        return getattr(self._make(), name)


def later(make: Callable[[], Thing]) -> Thing:
    """What stands in a thing's place; `make`, which must give the same one each time, is called when it is used."""
    return cast("Thing", _Later(make))
