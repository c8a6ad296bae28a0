"""The CDK app: `python -m cdk.app` writes the cloud assembly, alone or under the CDK command line."""

import argparse
import json
import os
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aws_cdk import App, aws_lambda

from .agent_imports import check_imports
from .agents import Place, check_agents
from .code import Target, stage
from .context import Choices, Refusal, check_spelling, read
from .stack import A2aServerless

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_OUT = "cdk.out"


def main(arguments: Sequence[str]) -> int:
    """Write the assembly to `CDK_OUTDIR`; a refusal is one sentence on stderr and exit status 1."""
    try:
        build(_context_of(arguments), Path(os.environ.get("CDK_OUTDIR", DEFAULT_OUT))).synth()
    except Refusal as refusal:
        sys.stderr.write(f"refused: {refusal}\n")
        return 1
    return 0


def build_code(choices: Choices, folder: Path) -> Path:
    """Stage the code that was chosen into an empty folder, and check that its agents are in it.

    Raises:
        Refusal: an agent is not there, or the requirements cannot be had.
    """
    staged = stage(
        folder,
        runtime_requirements=not choices.is_local,
        agent_source=choices.agent_source,
        runs_on=Target(python=choices.python, architecture=choices.architecture),
    )
    modules = check_agents(choices.agents, _places(choices, staged))
    if not choices.is_local:
        check_imports(modules, staged, own=_own(choices.agent_source))
    return staged


def build(context: Mapping[str, str], out: Path, *, code: Callable[[Choices, Path], Path] = build_code) -> App:
    """Make the app of one deployment, to be synthesized into the folder `out`; `code` fills a folder with the asset.

    Raises:
        Refusal: the context asks for something that cannot stand.
    """
    app = App(outdir=str(out), context=_project_context(), post_cli_context=dict(context))
    check_spelling(app.node.get_all_context())
    choices = read(app.node.try_get_context)
    with tempfile.TemporaryDirectory(prefix="a2a-serverless-") as folder:
        asset = aws_lambda.Code.from_asset(str(code(choices, Path(folder))))
        A2aServerless(app, choices=choices, code=asset)
    return app


def _own(agent_source: Path | None) -> frozenset[str]:
    """What lies at the top of the asset and is not installed there."""
    brought = agent_source.iterdir() if agent_source is not None else ()
    return frozenset({"functions", "a2a_serverless", *(entry.stem for entry in brought)})


def _places(choices: Choices, staged: Path) -> Sequence[Place]:
    """Where a function finds its agents: in the asset, and in a local run in the environment of its workers too."""
    asset = "the project (functions/, shared/a2a_serverless/)"
    if choices.agent_source is not None:
        asset += f", {choices.agent_source}"
    if choices.is_local:
        return [Place(staged, asset), Place(Path(sysconfig.get_path("purelib")), "the installed packages")]
    return [Place(staged, f"{asset}, the installed requirements")]


def _project_context() -> Mapping[str, object]:
    """What cdk.json says, for a run without the CDK command line (which passes it on by itself)."""
    context: Mapping[str, object] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return context


def _context_of(arguments: Sequence[str]) -> Mapping[str, str]:
    parser = argparse.ArgumentParser(prog="python -m cdk.app", description=__doc__)
    parser.add_argument("-c", "--context", action="append", default=[], metavar="KEY=VALUE")
    given: Sequence[str] = parser.parse_args(arguments).context
    return dict(pair.partition("=")[::2] for pair in given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
