"""The patches refuse an emulator that is not the one they were written for, in a sentence that says what differs."""

import types
from importlib import metadata

import pytest

from a2a_serverless.local.patches.target import EXPECTED, PatchRefusedError, replace, require_expected_version


def test_the_installed_emulator_is_the_expected_one() -> None:
    require_expected_version()


def test_another_version_is_refused_by_both_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2a_serverless.local.patches.target.version", lambda _: "9.9")

    with pytest.raises(PatchRefusedError, match=rf"ministack=={EXPECTED}, but 9\.9 is installed"):
        require_expected_version()


def test_a_missing_emulator_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("a2a_serverless.local.patches.target.version", missing)

    with pytest.raises(PatchRefusedError, match=r"install a2a-serverless\[local\]"):
        require_expected_version()


def test_a_function_that_is_as_expected_is_replaced_and_returned() -> None:
    owner = types.SimpleNamespace(__name__="emulator.service", act=lambda name, size: (name, size))

    old = replace(owner, "act", lambda name, size: "new", signature="name, size")

    assert (old(1, 2), owner.act(1, 2)) == ((1, 2), "new")


def test_a_function_that_is_gone_or_takes_something_else_is_named() -> None:
    owner = types.SimpleNamespace(__name__="emulator.service", act=lambda name: name)

    with pytest.raises(PatchRefusedError, match=r"emulator\.service\.act takes \(name\), but .* for \(name, size\)"):
        replace(owner, "act", lambda name, size: None, signature="name, size")
    with pytest.raises(PatchRefusedError, match=r"emulator\.service\.other is gone"):
        replace(owner, "other", lambda: None, signature="")
