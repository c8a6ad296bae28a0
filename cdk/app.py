"""The CDK app: `python -m cdk.app` writes the cloud assembly, alone or under the CDK command line."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .context import Refusal, read

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_OUT = "cdk.out"


def main(arguments: Sequence[str]) -> int:
    """Write the assembly to `CDK_OUTDIR`; a refusal is one sentence on stderr and exit status 1."""
    try:
        synthesize(_context_of(arguments), Path(os.environ.get("CDK_OUTDIR", DEFAULT_OUT)))
    except Refusal as refusal:
        sys.stderr.write(f"refused: {refusal}\n")
        return 1
    return 0


def synthesize(context: Mapping[str, str], out: Path) -> None:
    """Write the assembly of one deployment into the folder `out`.

    Raises:
        Refusal: the context asks for something that cannot stand.
    """
    from aws_cdk import App, aws_lambda  # a second and a half that a test of the refusals need not wait for

    from .code import stage
    from .stack import A2aServerless

    app = App(outdir=str(out), context=_project_context(), post_cli_context=dict(context))
    choices = read(app.node.try_get_context)
    with tempfile.TemporaryDirectory(prefix="a2a-serverless-") as folder:
        code = stage(Path(folder), runtime_requirements=not choices.is_local)
        A2aServerless(app, choices=choices, code=aws_lambda.Code.from_asset(str(code)))
        app.synth()


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
