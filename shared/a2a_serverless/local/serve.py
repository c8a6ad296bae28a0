"""Serves the synthesized stack on loopback until it is told to stop: `python -m a2a_serverless.local.serve`.

Environment:
    PORT        public port, default 8080; 0: any free one
    AWS_PORT    port of the embedded AWS, default any free one
    AGENT       import string, or `name=import,name2=import2`; default functions.agents.freight:agent
    AGENT_SOURCE  folder with agents of your own, importable from its top; as `-c agent_source` when it is deployed
    AUTH        `none` (default) or `dev`: tokens of the development issuer are required
    STRICT_IAM  `1`: every call needs the permission that the template gives
    STATE_DIR   folder that keeps the stack's state, also over a hard kill; default: nothing is kept
    LOG_LEVEL   level of the engine's own log on stderr, default WARNING
    LOCAL_LAMBDA_WORKERS  usual environments per function, default 4; long work gets more, one by one
    A2A_ENV_*   set the variable * for every function, in place of the template's value

Prints one line `READY {"url": ..., "aws_endpoint": ..., "agents": [...]}` on stdout once the stack answers; says on
stderr what takes long and what went wrong. The functions' logs are in `.local/<port>/logs/<hop>.log`.
"""

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_serverless.local.agents import DEFAULT, Agent, AgentError, ImportCheck, parse, spelled
from a2a_serverless.local.assembly import SynthError, assembly, stage_code
from a2a_serverless.local.clone import NoCloneError, RunFolder, repository_root, run_folder
from a2a_serverless.local.dev_issuer import DevIssuer
from a2a_serverless.local.failure import StackFailedError
from a2a_serverless.local.ports import LOOPBACK, PortTakenError, listen, port_of
from a2a_serverless.local.state import StateFile, open_state

if TYPE_CHECKING:
    from a2a_serverless.local.engine import EngineSettings

EXIT_REFUSED = 2
"""Exit status when something was given that cannot be served."""


STOP_WITH_STDIN = "LOCAL_STOP_WITH_STDIN"
"""Set by a test: stop when standard input is closed, so that no stack outlives the test run."""


class SettingError(Exception):
    """An environment variable has a value that means nothing."""


@dataclass(frozen=True)
class Settings:
    """What one `serve` was told."""

    port: int
    aws_port: int
    agents: list[Agent]
    agent_source: Path | None
    dev_auth: bool
    strict_iam: bool
    state_dir: Path | None
    log_level: str
    workers: int
    overlay: Mapping[str, str]
    assembly: Path | None
    """A ready assembly to deploy in place of the clone's own (a test edited its template)."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Settings":
        """Read the settings.

        Raises:
            SettingError, AgentError: with a sentence that names the variable.
        """
        state_dir, given = env.get("STATE_DIR"), env.get("LOCAL_ASSEMBLY")
        return cls(
            port=_number(env, "PORT", 8080),
            aws_port=_number(env, "AWS_PORT", 0),
            agents=parse(env.get("AGENT") or DEFAULT),
            agent_source=_folder(env, "AGENT_SOURCE"),
            dev_auth=_one_of(env, "AUTH", ("none", "dev")) == "dev",
            strict_iam=_one_of(env, "STRICT_IAM", ("0", "1")) == "1",
            state_dir=Path(state_dir).absolute() if state_dir else None,
            log_level=env.get("LOG_LEVEL", "WARNING").upper(),
            workers=_number(env, "LOCAL_LAMBDA_WORKERS", 4, least=1),
            overlay={k.removeprefix("A2A_ENV_"): v for k, v in env.items() if k.startswith("A2A_ENV_")},
            assembly=Path(given) if given else None,
        )


def main(env: Mapping[str, str]) -> int:
    """Serve as `env` says; returns the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if env.get(STOP_WITH_STDIN):
        threading.Thread(target=_stop_with_stdin, daemon=True).start()
    try:
        settings = Settings.from_env(env)
        with ExitStack() as closing:
            _serve(settings, closing)
    except (AgentError, NoCloneError, PortTakenError, SettingError, SynthError) as refusal:
        progress(str(refusal))
        return EXIT_REFUSED
    except StackFailedError as failure:
        progress(str(failure))
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def _stop_with_stdin() -> None:
    """Whoever started this process is gone: stop as if told to."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def progress(message: str) -> None:
    """One line for the person who waits."""
    print(message, file=sys.stderr, flush=True)


def _serve(settings: Settings, closing: ExitStack) -> None:
    public = closing.enter_context(listen(settings.port, variable="PORT"))
    state = open_state(settings.state_dir) if settings.state_dir else None
    if state:
        closing.callback(state.close)
    aws = closing.enter_context(_listen_for_aws(settings, state))
    root = repository_root()
    folder = run_folder(root, port_of(public))
    folder.open()
    closing.callback(folder.close)
    check = ImportCheck.begin(settings.agents, stage_code(root, folder.tmp / "staged", settings.agent_source))

    # Late: ministack and boto3 take a second to import, while the agents are imported beside it.
    from a2a_serverless.local.engine import prepare
    from a2a_serverless.local.running import Plan, run

    engine = prepare(_engine_settings(settings, root, folder), aws, public, state=state)
    check.finish()
    prepared = settings.assembly or assembly(
        root, folder.tmp / "assembly", agent_source=settings.agent_source, progress=progress
    )
    url = f"http://{LOOPBACK}:{port_of(public)}"
    progress(f"the logs of the hops: {folder.logs}/<hop>.log")
    for remark in remarks(settings):
        progress(remark)
    ready = {"url": url, "aws_endpoint": engine.endpoint, "agents": [agent.name for agent in settings.agents]}
    parameters = _parameters(settings, root, url)
    plan = Plan(prepared, parameters, logs=folder.logs, ready=lambda: _say_ready(folder, ready))
    run(engine, plan, [public, aws], progress=progress)


def remarks(settings: Settings) -> list[str]:
    """What whoever serves with these settings may not have thought of, a line each."""
    access = (
        "every call needs a bearer token: `.venv/bin/a2a-serverless token --subject alice` prints one"
        if settings.dev_auth
        else "no authentication: every caller is the same anonymous owner (AUTH=dev asks for tokens)"
    )
    if settings.agent_source is None or [agent.source for agent in settings.agents] != [DEFAULT]:
        return [access]
    return [access, f"{DEFAULT} is served, and nothing of {settings.agent_source}: name its agents with AGENT=..."]


def _engine_settings(settings: Settings, root: Path, folder: RunFolder) -> "EngineSettings":
    from a2a_serverless.local.engine import EngineSettings

    return EngineSettings(
        tmp=folder.tmp,
        logs=folder.logs,
        strict_iam=settings.strict_iam,
        workers_per_function=settings.workers,
        overlay=settings.overlay,
        hidden_paths=(str(root), str(root / "shared")),
        log_level=settings.log_level,
    )


def _parameters(settings: Settings, root: Path, url: str) -> dict[str, str]:
    """Those of the stack."""
    issuers = DevIssuer.of(root).trusted() if settings.dev_auth else []
    return {"PublicUrl": url, "Agents": spelled(settings.agents), "Issuers": json.dumps(issuers)}


def _listen_for_aws(settings: Settings, state: "StateFile | None") -> socket.socket:
    """The port of the embedded AWS: part of every queue's address, so kept state keeps it too."""
    kept = state.meta("aws_port") if state else None
    sock = listen(settings.aws_port or int(kept or 0), variable="AWS_PORT")
    if state:
        state.set_meta("aws_port", str(port_of(sock)))
    return sock


def _say_ready(folder: RunFolder, ready: Mapping[str, object]) -> None:
    folder.announce(json.dumps(ready))
    print(f"READY {json.dumps(ready)}", flush=True)


def _number(env: Mapping[str, str], name: str, default: int, *, least: int = 0) -> int:
    value = env.get(name) or str(default)
    if not (value.isascii() and value.isdecimal()) or int(value) < least:
        raise SettingError(f"{name}={value} is no number of {least} or more")
    return int(value)


def _folder(env: Mapping[str, str], name: str) -> Path | None:
    given = env.get(name)
    if given and not Path(given).is_dir():
        raise SettingError(f"{name}={given} is no folder; looked at {Path(given).absolute()}")
    return Path(given).absolute() if given else None


def _one_of(env: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    value = env.get(name) or known[0]
    if value not in known:
        raise SettingError(f"{name}={value} is unknown: it should be {' or '.join(known)}")
    return value


if __name__ == "__main__":
    status = main(os.environ)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the engine's threads have nothing to save, and must not be waited for
