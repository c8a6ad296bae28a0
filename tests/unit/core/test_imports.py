"""The inner layers load nothing that costs a cold start or ties them to AWS."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FORBIDDEN = {"boto3", "botocore", "aws_lambda_powertools", "asyncio", "a2a", "ssl"}
BY_CHOICE = "a2a_serverless.agent.executor"
"""Of the extra `a2a-sdk`: a host imports it, and nothing of the kit may."""

PROBE = """
import importlib, pkgutil, sys
package = importlib.import_module({package!r})
for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if found.name != {left_out!r}:
        importlib.import_module(found.name)
print("\\n".join(sorted(sys.modules)))
"""


def loaded_by(package: str) -> set[str]:
    """Every module that is there once the package and all below it are imported, in a process of its own."""
    probe = PROBE.format(package=package, left_out=BY_CHOICE)
    ran = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'shared')!r})\n{probe}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stdout.split())


@pytest.mark.parametrize("layer", ["types", "core", "agent", "app"])
def test_a_layer_loads_neither_aws_nor_asyncio_nor_a_network(layer: str) -> None:
    loaded = loaded_by(f"a2a_serverless.{layer}")

    assert loaded & FORBIDDEN == set()
