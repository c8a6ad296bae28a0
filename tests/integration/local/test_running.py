"""A stack that is brought up: what is told of it when that fails, and when it was stopped meanwhile."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from a2a_serverless.local import patches, running
from a2a_serverless.local.patches import stream_mapping
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


@pytest.fixture
def patches_log() -> Iterator[None]:
    """A stop is the end of its process; here others come after it."""
    yield
    logging.getLogger(patches.__name__).setLevel(logging.NOTSET)


@pytest.mark.usefixtures("patches_log")
def test_a_batch_that_dies_with_its_worker_at_a_stop_is_told_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def kill_all() -> None:
        logging.getLogger(stream_mapping.__name__).warning("failed a batch")

    kill_all()
    ending = running._Ending(SimpleNamespace(kill_all=kill_all))  # type: ignore[arg-type]
    ending.event.set()

    asyncio.run(ending.wait())

    assert len(caplog.records) == 1
