"""What an agent imports has to be on Lambda too, and synth says when it will not be."""

from pathlib import Path

import pytest

from cdk.agent_imports import check_imports
from cdk.context import Refusal

OWN = frozenset({"desk", "single"})


@pytest.fixture
def asset(tmp_path: Path) -> Path:
    """A package of the host's own, and two that were installed."""
    for folder in ("desk", "httpx", "google"):
        (tmp_path / folder).mkdir()
    (tmp_path / "typing_extensions.py").touch()
    (tmp_path / "annotated_types.pyc").touch()
    (tmp_path / "_cffi_backend.cpython-314-aarch64-linux-gnu.so").touch()
    (tmp_path / "desk" / "__init__.py").touch()
    return tmp_path


def check(asset: Path, source: str) -> None:
    (asset / "desk" / "quotes.py").write_text(source)
    check_imports(["desk.quotes"], asset, own=OWN)


@pytest.mark.parametrize(
    "source",
    [
        "import json, os.path",
        "import boto3",
        "import httpx\nfrom google.protobuf import json_format",
        "from typing_extensions import override\nimport annotated_types, _cffi_backend",
        "from __future__ import annotations",
        "from . import rates\nfrom .rates import RATES\nimport desk.rates as again",
        "try:\n    import orjson\nexcept ImportError:\n    orjson = None",
        "import sys\nif sys.version_info < (3, 11):\n    import tomli",
        "def late():\n    import orjson",
    ],
)
def test_what_will_be_there_and_what_nobody_needs_at_the_start_is_no_matter(asset: Path, source: str) -> None:
    (asset / "desk" / "rates.py").write_text("from desk.quotes import *\nRATES = {}\n")

    check(asset, source)


@pytest.mark.parametrize("source", ["import orjson", "from orjson.sub import x", "class Desk:\n    import orjson"])
def test_a_package_that_is_not_installed_is_refused(asset: Path, source: str) -> None:
    with pytest.raises(Refusal, match=r"^desk/quotes.py imports 'orjson.*requirements.txt of agent_source$"):
        check(asset, source)


@pytest.mark.parametrize("source", ["from . import rates", "from .rates import RATES", "import desk.rates"])
def test_so_is_one_that_a_module_of_the_agent_needs_and_so_on(asset: Path, source: str) -> None:
    (asset / "desk" / "rates.py").write_text("import single\n")
    (asset / "single.py").write_text("\nimport orjson\n")

    with pytest.raises(Refusal, match=r"^single.py imports 'orjson' in line 2, which the functions will not have"):
        check(asset, source)


def test_a_package_s_own_imports_count_when_a_module_inside_is_used(asset: Path) -> None:
    (asset / "desk" / "__init__.py").write_text("import orjson\n")

    with pytest.raises(Refusal, match=r"^desk.*imports 'orjson' in line 1"):
        check(asset, "")
