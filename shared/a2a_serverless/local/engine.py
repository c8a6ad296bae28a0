"""Starts the embedded AWS: ministack, patched, on loopback, in this process, behind a socket of its own.

One engine per process: ministack keeps its services in module variables and reads its settings when it is imported.
"""

import asyncio
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from a2a_serverless.local.account import ACCESS_KEY, ACCOUNT, REGION
from a2a_serverless.local.control import with_control
from a2a_serverless.local.front_door import App, FrontDoor, Receive, Scope, Send
from a2a_serverless.local.patches import Patched, PatchSettings, apply
from a2a_serverless.local.patches.loop import on_loop
from a2a_serverless.local.patches.target import require_expected_version
from a2a_serverless.local.ports import LOOPBACK, port_of
from a2a_serverless.local.state import KeptState, StateFile
from a2a_serverless.local.worker import Config, Host


@dataclass(frozen=True)
class EngineSettings:
    """What an engine is started with."""

    tmp: Path
    """A folder of its own, removed by the caller."""
    logs: Path
    strict_iam: bool = False
    workers_per_function: int = 4
    overlay: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that every function gets in place of the template's."""
    hidden_paths: tuple[str, ...] = ()
    log_level: str = "WARNING"


@dataclass(frozen=True)
class Engine:
    """A patched engine that is ready to be served."""

    app: App
    patched: Patched
    endpoint: str
    front_door: FrontDoor
    started: threading.Event
    state: KeptState | None = None

    def deployed(self) -> None:
        """Keep what was deployed just now, where state is kept, and go on with what was under way before."""
        if self.state:
            on_loop(self.state.store_services)
        self.patched.pollers.go_on()

    def serve(self, sockets: list[socket.socket], *, until: Callable[[], Any]) -> None:
        """Serve on the sockets until the coroutine that `until` returns is done; blocks."""
        from hypercorn.asyncio import serve  # late: it is of the extra `local`
        from hypercorn.config import Config as ServerConfig

        config = ServerConfig()
        config.bind = [f"fd://{sock.detach()}" for sock in sockets]
        config.loglevel = "WARNING"
        config.keep_alive_timeout = 75
        config.graceful_timeout = 0.3
        config.backlog = 512
        asyncio.run(serve(self.front_door, config, shutdown_trigger=until))  # type: ignore[arg-type]


def prepare(
    settings: EngineSettings, aws: socket.socket, public: socket.socket, *, state: StateFile | None = None
) -> Engine:
    """Import and patch ministack for these sockets; nothing is served yet. `state` is kept, and restored at the start.

    Raises:
        PatchRefusedError: the installed ministack is not the one that the patches were written for.
    """
    require_expected_version()
    _set_environment(settings, port_of(aws), objects=state.folder / "s3" if state else None)
    endpoint = f"http://{LOOPBACK}:{port_of(aws)}"
    host = Host(
        endpoint=endpoint,
        folder=settings.tmp,
        logs=settings.logs,
        credentials=_execution_credentials,
        overlay=settings.overlay,
        hidden_paths=settings.hidden_paths,
    )
    kept = KeptState(state) if state else None
    patched = apply(
        PatchSettings(
            host,
            settings.workers_per_function,
            settings.strict_iam,
            executions=kept.executions if kept else None,
            tokens=kept.executions if kept else None,
            advanced=kept.tables.advanced if kept else lambda *_: None,
        )
    )
    if kept:
        kept.patch(patched.executions)
        patched.pollers.hold()
    from ministack import app as ministack  # type: ignore[import-untyped]  # late: reads the environment

    started = threading.Event()
    store = kept.store_services if kept else lambda: None
    engine = with_control(_announcing(ministack.app, started), patched.workers, store)
    return Engine(engine, patched, endpoint, FrontDoor(engine, port_of(public)), started, kept)


def _set_environment(settings: EngineSettings, port: int, *, objects: Path | None) -> None:
    """What ministack reads when it is imported, and what keeps every SDK in this process on loopback."""
    os.environ.update(
        GATEWAY_PORT=str(port),
        BIND_HOST=LOOPBACK,
        MINISTACK_HOST=LOOPBACK,
        MINISTACK_ACCOUNT_ID=ACCOUNT,
        MINISTACK_REGION=REGION,
        IOT_MTLS_ENABLED="0",
        SFTP_ENABLED="0",
        DOCKER_HOST=f"unix://{settings.tmp}/no-docker.sock",
        AUTH="true" if settings.strict_iam else "false",
        LOG_LEVEL=settings.log_level,
        AWS_ACCESS_KEY_ID=ACCESS_KEY,
        AWS_SECRET_ACCESS_KEY=ACCESS_KEY,
        AWS_DEFAULT_REGION=REGION,
        AWS_EC2_METADATA_DISABLED="true",
        AWS_CONFIG_FILE=os.devnull,
        AWS_SHARED_CREDENTIALS_FILE=os.devnull,
        TMPDIR=str(settings.tmp),
        S3_DATA_DIR=str(objects or settings.tmp / "s3"),
        S3_PERSIST="1" if objects else "0",
        STATE_DIR=str(objects.parent if objects else settings.tmp / "state"),
        PERSIST_STATE="1" if objects else "0",
    )
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_SESSION_TOKEN", "LAMBDA_EXECUTOR", "LAMBDA_STRICT"):
        os.environ.pop(name, None)
    tempfile.tempdir = str(settings.tmp)


def _execution_credentials(config: Config) -> Mapping[str, str]:
    from ministack.core.lambda_runtime import execution_credentials  # type: ignore[import-untyped]

    credentials: Mapping[str, str] = execution_credentials(config)
    return credentials


def _announcing(engine: App, started: threading.Event) -> App:
    """The engine, which sets `started` as soon as its services are up."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def announce(message: Mapping[str, Any]) -> None:
            await send(message)
            if message["type"] == "lifespan.startup.complete":
                started.set()

        await engine(scope, receive, announce if scope["type"] == "lifespan" else send)

    return app
