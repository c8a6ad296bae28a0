"""The synthesized assembly of the clone: made once, kept until what it depends on changes, code always fresh.

A synth takes seconds and needs node; the code of the functions is staged from the sources at every start, because the
template does not depend on it.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

Progress = Callable[[str], None]

_SOURCES = ("cdk/**/*.py", "cdk/**/*.json", "cdk.json", "requirements/*.txt", "shared/a2a_serverless/aws/settings.py")
"""What the template is made from; the functions' code is not among it."""


_KEPT = 5
"""Cached assemblies: one for each of a few states of the sources."""


class SynthError(Exception):
    """The CDK app refused or failed; the message is what it said."""


_ON_ONE_MACHINE: Final = {"stage": "local"}
"""Unless a caller says otherwise: the stage in `cdk.json` is one on AWS."""


def assembly(
    root: Path,
    target: Path,
    *,
    context: Mapping[str, str] | None = None,
    agent_source: Path | None = None,
    progress: Progress,
) -> Path:
    """A folder at `target` with the assembly of the clone at `root`: cached template, code from the sources of now.

    `context` is handed to the CDK app as `-c key=value`; what lies in `agent_source` is put beside the kit's code.

    Raises:
        SynthError: the CDK app ended without an assembly.
    """
    chosen = dict(sorted({**_ON_ONE_MACHINE, **(context or {})}.items()))
    cached = root / ".local" / "assemblies" / _key(root, chosen)
    with _one_at_a_time(cached):
        if not (cached / "manifest.json").is_file():
            _synthesize(root, cached, chosen, progress)
    cached.touch()
    _forget_others(cached)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(cached, target)
    _restage(root, target, agent_source)
    return target


def stack_name(folder: Path) -> str:
    """The name of the one stack in an assembly.

    Raises:
        SynthError: there is none, or more than one.
    """
    names = [path.name.removesuffix(".template.json") for path in folder.glob("*.template.json")]
    match names:
        case [name]:
            return name
        case _:
            raise SynthError(f"{folder} holds {len(names)} stacks ({', '.join(sorted(names))}): expected one")


def stage_code(root: Path, target: Path, agent_source: Path | None = None) -> Path:
    """Fill `target` with what the functions import, as the CDK app of the clone does for its asset.

    `agent_source` is a folder with a host's own agents: what lies in it is importable from the top.

    In a process of its own: the clone need not be the one that this code was imported from.

    Raises:
        SynthError: the sources cannot be staged.
    """
    done = subprocess.run(
        [sys.executable, "-c", _STAGE, *map(str, filter(None, (target, agent_source)))],
        cwd=root,
        env=_synth_environment(root, target),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SynthError(_last_words(done))
    return target


_STAGE = """
import sys
from pathlib import Path
from cdk.code import stage
from cdk.context import Refusal
target, agent_source = (*map(Path, sys.argv[1:]), None)[:2]
try:
    stage(target, runtime_requirements=False, agent_source=agent_source)
except Refusal as refusal:
    sys.exit(f"refused: {refusal}")
"""


def _key(root: Path, context: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps([sys.version_info[:2], context]).encode())
    for path in _sources(root):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def _sources(root: Path) -> Iterator[Path]:
    for pattern in _SOURCES:
        yield from sorted(path for path in root.glob(pattern) if path.is_file())


@contextmanager
def _one_at_a_time(cached: Path) -> Iterator[None]:
    """Of several stacks that start together, one synthesizes and the others wait for it."""
    cached.parent.mkdir(parents=True, exist_ok=True)
    with cached.parent.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _synthesize(root: Path, cached: Path, context: Mapping[str, str], progress: Progress) -> None:
    node = shutil.which("node")
    if node is None:
        raise SynthError("the stack is synthesized with node (20 or later), and there is none on the PATH: install it")
    progress("synthesizing the stack: its sources changed, or this is the first run (some 6 to 30 s)")
    part = cached.with_suffix(f".{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    arguments = [word for key, value in context.items() for word in ("-c", f"{key}={value}")]
    done = subprocess.run(
        [sys.executable, "-m", "cdk.app", *arguments],
        cwd=root,
        env=_synth_environment(root, part) | _home_inside(root, node),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not (part / "manifest.json").is_file():
        shutil.rmtree(part, ignore_errors=True)
        raise SynthError(_last_words(done))
    _drop_code(part)
    part.rename(cached)


def _forget_others(cached: Path) -> None:
    """Keep the assemblies that were used last."""
    used = sorted(cached.parent.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in used[_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


def _synth_environment(root: Path, out: Path) -> dict[str, str]:
    """Nothing of AWS is asked or told (no credentials, telemetry, notices), and nothing is left outside the clone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    return kept | {
        "CDK_OUTDIR": str(out),
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(root / ".local" / "jsii"),
        "CDK_VALIDATION": "false",
        "CDK_DISABLE_CLI_TELEMETRY": "1",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
    }


def _home_inside(root: Path, node: str) -> dict[str, str]:
    """The CDK keeps fingerprints of assets below the home folder, wherever that is: here it is one of the clone's.

    What is called `node` may be a version manager's, which reads the real home: it is asked for the program itself.
    """
    itself = subprocess.run([node, "-p", "process.execPath"], capture_output=True, text=True, check=False)
    return {"HOME": str(root / ".local" / "home"), "JSII_NODE": itself.stdout.strip() or node}


def _last_words(done: "subprocess.CompletedProcess[str]") -> str:
    said = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()
    match done.returncode:
        case 1 if said and said[-1].startswith("refused: "):
            return said[-1].removeprefix("refused: ")
        case _:
            return "the CDK app failed:\n" + "\n".join(said[-30:])


def _drop_code(folder: Path) -> None:
    for asset in _code_assets(folder):
        shutil.rmtree(asset, ignore_errors=True)


def _restage(root: Path, folder: Path, agent_source: Path | None) -> None:
    for asset in _code_assets(folder):
        shutil.rmtree(asset, ignore_errors=True)
        stage_code(root, asset, agent_source)


def _code_assets(folder: Path) -> list[Path]:
    """The folders of zipped assets: by convention they are all the one staged by `cdk.code.stage`."""
    manifest = json.loads((folder / f"{stack_name(folder)}.assets.json").read_text(encoding="utf-8"))
    sources = [asset["source"] for asset in manifest["files"].values()]
    return [folder / source["path"] for source in sources if source["packaging"] == "zip"]
