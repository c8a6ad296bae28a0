"""A stack that is brought up: what is told of it when that fails, and when it was stopped meanwhile."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from a2a_serverless.local import running
from a2a_serverless.local.running import Plan


def plan() -> Plan:
    return Plan(Path("assembly"), {"PublicUrl": "http://127.0.0.1:9"}, logs=Path("logs"), ready=lambda: None)


def brought_up(monkeypatch: pytest.MonkeyPatch, *, stopped: bool) -> tuple[running._Ending, list[str]]:
    """Bring up a stack whose deployment fails, maybe because it is torn down."""
    ending, said = running._Ending(SimpleNamespace()), []  # type: ignore[arg-type]  # nothing is started

    def deploy(*_: Any, **__: Any) -> None:
        if stopped:
            ending.event.set()
        raise ConnectionRefusedError("nobody listens")

    monkeypatch.setattr(running, "deploy", deploy)
    started = threading.Event()
    started.set()
    engine = SimpleNamespace(started=started, endpoint="http://127.0.0.1:9")
    try:
        running._bring_up(engine, plan(), ending, said.append)  # type: ignore[arg-type]
    except ConnectionRefusedError:
        said.append("traceback")
    return ending, said


def test_a_deployment_that_fails_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    ending, said = brought_up(monkeypatch, stopped=False)

    assert "ConnectionRefusedError: nobody listens" in str(ending.failure)
    assert said == ["traceback"]


def test_what_fails_because_the_stack_is_stopped_is_told_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    ending, said = brought_up(monkeypatch, stopped=True)

    assert (ending.failure, said) == (None, [])
