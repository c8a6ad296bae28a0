"""The one code asset of all functions: a folder that is staged without Docker.

A local run gets the sources alone, because its workers have the project's own environment. For AWS the requirements are
added, as wheels for Lambda's Python and processor, and byte code where that Python is at hand
(docs/decisions/0019).
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import models
from .context import Refusal

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "lambda.txt"
AGENT_REQUIREMENTS = "requirements.txt"

PLATFORMS = {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}
"""Amazon Linux 2023, on which the runtimes stand, has glibc 2.34."""
_NOT_STAGED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "node_modules", "*.egg-info")


@dataclass(frozen=True)
class Target:
    """The Python and processor that the asset is for."""

    python: str
    architecture: str


def stage(
    target: Path,
    *,
    runtime_requirements: bool,
    agent_source: Path | None = None,
    runs_on: Target = Target(python="3.14", architecture="arm64"),
) -> Path:
    """Fill the empty folder `target` with what the functions import, and return it.

    `agent_source` is a folder with a host's own agents: what lies in it is importable from the top, and a
    `requirements.txt` in it is installed too. boto3 and botocore are left to the Lambda runtime, which brings both.

    Raises:
        Refusal: the agents' folder hides a module of the kit, or the requirements cannot be installed.
    """
    _copy(ROOT / "functions", target / "functions")
    _copy(ROOT / "shared" / "a2a_serverless", target / "a2a_serverless")
    for tool in ("local", "cli", "testing"):  # they run functions; no function runs them
        shutil.rmtree(target / "a2a_serverless" / tool, ignore_errors=True)
    models.write_models(target / "a2a_serverless" / "aws" / models.FOLDER)
    if agent_source is not None:
        _copy_agents(agent_source, target)
    if runtime_requirements:
        _install_libraries(target, runs_on)
        _install_agent_requirements(target, runs_on, agent_source)
        _compile(target, runs_on)
    _let_lambda_read(target)
    return target


def install_command(target: Path, runs_on: Target, requirements: Sequence[str]) -> list[str]:
    """The command that puts wheels for another machine into a folder; never builds anything."""
    return [
        _uv(),
        "pip",
        "install",
        "--quiet",
        *("--color", "never"),
        *("--python", sys.executable),
        *("--target", str(target)),
        *("--python-platform", PLATFORMS[runs_on.architecture]),
        *("--python-version", runs_on.python),
        *("--only-binary", ":all:"),
        *requirements,
    ]


def compile_command(target: Path, interpreter: str) -> list[str]:
    """The command that adds byte code which is never checked against the sources.

    Files in a Lambda package have no times to check by, and one that is checked and found wanting is compiled again at
    each cold start, which doubles it. The paths in it are those on Lambda, so that equal sources give equal bytes.
    """
    return [
        interpreter,
        *("-I", "-m", "compileall", "-q", "-f"),
        *("--invalidation-mode", "unchecked-hash"),
        *("-s", str(target), "-p", "/var/task"),
        str(target),
    ]


def without_sources(folder: Path, interpreter: str) -> None:
    """Leave of the libraries in a folder what is run of them: byte code in place of sources, and no stubs."""
    subprocess.run([*compile_command(folder, interpreter), "-b"], check=True)  # noqa: S603 (the command is ours)
    for source in [*folder.rglob("*.py"), *folder.rglob("*.pyi")]:
        if source.suffix == ".pyi" or source.with_suffix(".pyc").is_file():
            source.unlink()


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=_NOT_STAGED)


def _copy_agents(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir()):
        if entry.name.startswith(".") or entry.name in ("__pycache__", AGENT_REQUIREMENTS):
            continue
        if (target / entry.name).exists():
            raise Refusal(f"agent_source holds {entry.name!r}, which is the name of a folder of the kit: rename it")
        if entry.is_dir():
            _copy(entry, target / entry.name)
        else:
            shutil.copy2(entry, target / entry.name)


def _install_libraries(target: Path, runs_on: Target) -> None:
    """What the kit needs. What an agent needs keeps its sources: some libraries read their own."""
    with tempfile.TemporaryDirectory(prefix="a2a-serverless-") as folder:
        libraries = Path(folder)
        _install(libraries, runs_on, ["--require-hashes", "--requirements", str(REQUIREMENTS)])
        interpreter = _interpreter(runs_on.python)
        if interpreter is not None:
            without_sources(libraries, interpreter)
        shutil.copytree(libraries, target, dirs_exist_ok=True)


def _install_agent_requirements(target: Path, runs_on: Target, agent_source: Path | None) -> None:
    if agent_source is None or not (agent_source / AGENT_REQUIREMENTS).is_file():
        return
    wanted = str(agent_source / AGENT_REQUIREMENTS)
    # The kit's own versions are constraints, so that an agent cannot replace what the functions were tested with.
    _install(target, runs_on, ["--requirements", wanted, "--constraints", str(REQUIREMENTS)])


def _install(target: Path, runs_on: Target, requirements: Sequence[str]) -> None:
    done = subprocess.run(  # noqa: S603 (the command is ours)
        install_command(target, runs_on, requirements), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Refusal(f"the functions' requirements could not be installed:\n{done.stderr.strip()}")
    shutil.rmtree(target / "bin", ignore_errors=True)


def _compile(target: Path, runs_on: Target) -> None:
    interpreter = _interpreter(runs_on.python)
    if interpreter is None:
        sys.stderr.write(
            f"note: no released python{runs_on.python} on this machine, so the functions ship without byte code and "
            f"start about half as fast; `{_uv()} python install {runs_on.python}` changes that\n"
        )
        return
    subprocess.run(compile_command(target, interpreter), check=True)  # noqa: S603 (the command is ours)


def _let_lambda_read(target: Path) -> None:
    """A zip file keeps the modes of its files, and a function runs as another user than the one who staged them: under
    a strict umask it could not read its own code (Lambda guide, "Deploying Python functions", file permissions).
    """
    for path in target.rglob("*"):
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def is_released(interpreter: str) -> bool:
    """Whether it is CPython and no preview: byte code changes until a version is released, and Lambda has the release.

    Where sources ship too, the wrong byte code costs time; where they do not, nothing could be imported.
    """
    ask = "import sys; sys.exit((sys.implementation.name, sys.version_info.releaselevel) != ('cpython', 'final'))"
    return subprocess.run([interpreter, "-I", "-c", ask], check=False).returncode == 0  # noqa: S603 (ours)


def _interpreter(version: str) -> str | None:
    """A Python of exactly this version: byte code of another one is ignored."""
    found = subprocess.run(  # noqa: S603 (the command is ours)
        [_uv(), "python", "find", "--no-project", "--no-python-downloads", version],
        capture_output=True,
        text=True,
        check=False,
    )
    interpreter = found.stdout.strip() if found.returncode == 0 else ""
    return interpreter if interpreter and is_released(interpreter) else None


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    command = str(beside) if beside.is_file() else shutil.which("uv")
    if command is None:
        raise Refusal(
            "a stage on AWS needs the command `uv` to fetch wheels for Lambda; looked beside "
            f"{sys.executable} and on the PATH"
        )
    return command
