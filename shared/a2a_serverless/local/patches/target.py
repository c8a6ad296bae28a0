"""What the patches are made with: access to ministack's modules, and replacement that refuses a stranger.

ministack is untyped and imported late, because it reads its settings from the environment when it is imported.
"""

import importlib
import inspect
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

EXPECTED = "1.5.33"
"""The one version that the patches were written for and that tests/contract judged."""


class PatchRefusedError(Exception):
    """The installed ministack is not the one that a patch was written for."""


def require_expected_version() -> None:
    """Refuse any other ministack than the one the patches know.

    Raises:
        PatchRefusedError: another version, or none, is installed.
    """
    try:
        found = version("ministack")
    except PackageNotFoundError as error:
        raise PatchRefusedError(f"ministack=={EXPECTED} is not installed: install a2a-serverless[local]") from error
    if found != EXPECTED:
        raise PatchRefusedError(
            f"the embedded AWS is patched for ministack=={EXPECTED}, but {found} is installed: "
            f"install ministack=={EXPECTED}, or run tests/contract and adapt local/patches"
        )


def module(name: str) -> Any:
    """A module of ministack, by its name below `ministack.`."""
    return importlib.import_module(f"ministack.{name}")


def replace(owner: Any, name: str, new: Any, *, signature: str) -> Any:
    """Put `new` in the place of a function of ministack and return the old one.

    Raises:
        PatchRefusedError: there is no such function, or its parameters are not `signature`.
    """
    old = expect(owner, name, signature=signature)
    setattr(owner, name, new)
    return old


def expect(owner: Any, name: str, *, signature: str) -> Callable[..., Any]:
    """A function of ministack that a patch calls or replaces.

    Raises:
        PatchRefusedError: there is no such function, or its parameters are not `signature`.
    """
    where = f"{getattr(owner, '__name__', owner)}.{name}"
    found: Callable[..., Any] | None = getattr(owner, name, None)
    if found is None:
        raise PatchRefusedError(f"{where} is gone: the patch that needs it was written for ministack=={EXPECTED}")
    actual = _parameters(found)
    if actual != signature:
        raise PatchRefusedError(
            f"{where} takes ({actual}), but the patch was written for ({signature}) of ministack=={EXPECTED}"
        )
    return found


def _parameters(function: Callable[..., Any]) -> str:
    return ", ".join(inspect.signature(function).parameters)
