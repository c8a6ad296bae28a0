"""The code asset: what is in it, that it stands alone, and that equal sources make an equal asset."""

import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from cdk.code import REQUIREMENTS, Target, compile_command, install_command, is_released, stage, without_sources
from cdk.context import Refusal
from tests.infra.template import Template

ROOT = Path(__file__).resolve().parents[2]
HANDLERS = sorted(file.parent.name for file in (ROOT / "functions").glob("*/handler.py"))
LAMBDA = Target(python="3.14", architecture="arm64")


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The asset of a local run."""
    return stage(tmp_path_factory.mktemp("asset"), runtime_requirements=False)


# What is in it


def test_the_asset_holds_the_functions_and_what_they_import(staged: Path) -> None:
    assert {entry.name for entry in staged.iterdir()} == {"functions", "a2a_serverless"}
    assert (staged / "a2a_serverless" / "aws" / "settings.py").is_file()


def test_nothing_ships_that_no_function_runs(staged: Path) -> None:
    names = {file.relative_to(staged).as_posix() for file in staged.rglob("*")}

    assert not [
        name
        for name in names
        if name.startswith(("a2a_serverless/local", "a2a_serverless/cli", "a2a_serverless/testing"))
    ]
    assert not [name for name in names if name.endswith((".pyc", "__pycache__")) or "/." in name]


def test_staging_twice_gives_the_same_bytes(staged: Path, tmp_path: Path) -> None:
    again = stage(tmp_path, runtime_requirements=False)

    assert _digest(again) == _digest(staged)


def test_two_synths_of_the_same_sources_have_the_same_asset(local: Template, production: Template) -> None:
    def hashes(template: Template) -> set[str]:
        return {function["Code"]["S3Key"] for function in template.of_type("AWS::Lambda::Function").values()}

    assert hashes(local) == hashes(production)


@pytest.mark.parametrize("hop", HANDLERS)
def test_every_handler_imports_from_the_asset_alone(staged: Path, hop: str) -> None:
    # -S leaves out the .pth file by which this project's own folders are importable in development.
    program = f"""
import json, sys
sys.path[:0] = [{str(staged)!r}]
sys.path.append({sysconfig.get_path("purelib")!r})
import functions.{hop}.handler as module
assert callable(module.handler)
ours = {{name: str(each.__file__) for name, each in sys.modules.items()
         if name.partition(".")[0] in ("functions", "a2a_serverless") and getattr(each, "__file__", None)}}
print(json.dumps(ours))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", program], capture_output=True, text=True, env=_told(hop)
    )

    assert done.returncode == 0, done.stderr
    ours = json.loads(done.stdout.splitlines()[-1])
    assert ours
    assert all(file.startswith(str(staged)) for file in ours.values())


def test_staging_needs_no_cdk_so_that_a_local_start_is_quick() -> None:
    program = "import sys, cdk.code; assert not {'aws_cdk', 'jsii'} & set(sys.modules)"

    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


# A host's own agents


def test_a_host_s_own_agents_are_importable_from_the_top(tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    (agents / "desk").mkdir(parents=True)
    (agents / "desk" / "quotes.py").write_text("agent = 1\n")
    (agents / "single.py").write_text("agent = 1\n")
    (agents / "requirements.txt").write_text("httpx\n")
    (agents / ".env").write_text("SECRET=1\n")

    staged = stage(tmp_path / "asset", runtime_requirements=False, agent_source=agents)

    assert {entry.name for entry in staged.iterdir()} == {"functions", "a2a_serverless", "desk", "single.py"}


def test_a_function_can_read_what_nobody_else_may_read_on_this_machine(tmp_path: Path) -> None:
    """As under a umask of 077: a zip file keeps modes, and Lambda runs as another user."""
    agents = tmp_path / "agents"
    (agents / "desk").mkdir(parents=True)
    for name in ("single.py", "desk/quotes.py"):
        (agents / name).write_text("agent = 1\n")
        (agents / name).chmod(0o600)
    (agents / "desk").chmod(0o700)

    staged = stage(tmp_path / "asset", runtime_requirements=False, agent_source=agents)

    modes = {path: path.stat().st_mode for path in staged.rglob("*")}
    assert [path for path, mode in modes.items() if not mode & 0o004] == []
    assert [path for path, mode in modes.items() if path.is_dir() and not mode & 0o001] == []
    assert modes[staged / "desk" / "quotes.py"] & 0o022 == 0


def test_a_host_s_own_agents_cannot_replace_the_kit(tmp_path: Path) -> None:
    (tmp_path / "agents" / "functions").mkdir(parents=True)

    with pytest.raises(Refusal, match="agent_source holds 'functions', which is the name of a folder of the kit"):
        stage(tmp_path / "asset", runtime_requirements=False, agent_source=tmp_path / "agents")


# Requirements


def test_wheels_are_taken_for_lambda_and_not_for_this_machine(tmp_path: Path, wheels: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"demo==1.0 {_hashes(wheels)}\n")
    command = install_command(tmp_path / "asset", LAMBDA, ["--require-hashes", "--requirements", str(requirements)])

    subprocess.run([*command, "--no-index", "--offline", "--find-links", str(wheels)], check=True)

    assert (tmp_path / "asset" / "demo" / "built_for.txt").read_text() == "aarch64"


def test_a_wheel_with_another_hash_is_not_taken(tmp_path: Path, wheels: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"demo==1.0 --hash=sha256:{'0' * 64}\n")
    command = install_command(tmp_path / "asset", LAMBDA, ["--require-hashes", "--requirements", str(requirements)])

    done = subprocess.run(
        [*command, "--no-index", "--offline", "--find-links", str(wheels)], capture_output=True, text=True
    )

    assert done.returncode != 0
    assert "hash" in done.stderr.lower()


def test_what_cannot_be_installed_is_told_without_colours(tmp_path: Path, wheels: Path) -> None:
    command = install_command(tmp_path / "asset", LAMBDA, ["nowhere-to-be-found"])

    done = subprocess.run(
        [*command, "--no-index", "--offline", "--find-links", str(wheels)],
        env=os.environ | {"FORCE_COLOR": "1"},
        capture_output=True,
        text=True,
    )

    assert "nowhere-to-be-found" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_preview_of_a_python_compiles_nothing_for_lambda(tmp_path: Path) -> None:
    preview = tmp_path / "python"
    says = "import sys, types; sys.version_info = types.SimpleNamespace(releaselevel='candidate')"
    preview.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{says}; exec(sys.argv[1])" "$3"\n')
    preview.chmod(0o755)

    assert is_released(sys.executable)
    assert not is_released(str(preview))


def test_byte_code_is_never_checked_and_names_the_folder_on_lambda(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("def where(): return where.__code__.co_filename\n")

    subprocess.run(compile_command(tmp_path, sys.executable), check=True)

    (compiled,) = (tmp_path / "__pycache__").iterdir()
    flags = int.from_bytes(compiled.read_bytes()[4:8], "little")
    assert flags == 0b01  # PEP 552: hash-based, and the source is not checked
    assert b"/var/task/module.py" in compiled.read_bytes()
    assert str(tmp_path).encode() not in compiled.read_bytes()


def test_libraries_run_without_their_sources(tmp_path: Path) -> None:
    package = tmp_path / "library"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import where\n")
    (package / "__init__.pyi").write_text("def where() -> str: ...\n")
    (package / "inner.py").write_text("def where(): return where.__code__.co_filename\n")
    (package / "data.json").write_text("{}")

    without_sources(tmp_path, sys.executable)

    assert {file.name for file in package.iterdir()} == {"__init__.pyc", "inner.pyc", "data.json"}
    assert int.from_bytes((package / "inner.pyc").read_bytes()[4:8], "little") == 0b01
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import library; print(library.where())"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "/var/task/library/inner.py\n"


def test_the_functions_ship_the_versions_that_are_tested() -> None:
    tested, shipped = _pins(ROOT / "requirements" / "dev.txt"), _pins(REQUIREMENTS)

    assert shipped
    assert shipped == {name: tested[name] for name in shipped}


def test_what_the_lambda_runtime_brings_is_not_shipped_again() -> None:
    assert not {"boto3", "botocore", "urllib3", "s3transfer"} & set(_pins(REQUIREMENTS))


def test_requirements_name_no_place_to_take_them_from() -> None:
    assert not re.search(r"https?://|--(extra-)?index|--find-links", REQUIREMENTS.read_text())


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one package, built by hand for two processors."""
    folder = tmp_path_factory.mktemp("wheels")
    for processor in ("aarch64", "x86_64"):
        tag = f"cp314-cp314-manylinux_2_28_{processor}"
        with zipfile.ZipFile(folder / f"demo-1.0-{tag}.whl", "w") as wheel:
            wheel.writestr("demo/__init__.py", "")
            wheel.writestr("demo/built_for.txt", processor)
            wheel.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
            wheel.writestr("demo-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
            wheel.writestr("demo-1.0.dist-info/RECORD", "")
    return folder


def _hashes(wheels: Path) -> str:
    return " ".join(f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}" for wheel in wheels.iterdir())


def _pins(requirements: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", requirements.read_text(), re.MULTILINE))


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        digest.update(file.relative_to(folder).as_posix().encode())
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()


def _told(hop: str) -> dict[str, str]:
    """An environment as Lambda has it, with the names of things that are not there."""
    from a2a_serverless.aws.settings import Variable

    return {
        **{str(name): "" for name in Variable if not name.endswith("_SECONDS")},
        Variable.STAGE: "test",
        Variable.AGENTS: "freight=functions.agents.freight:agent",
        Variable.ISSUERS: "[]",
        Variable.PUBLIC_URL: "https://agents.example.com",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_REGION": "eu-west-1",
        "AWS_LAMBDA_FUNCTION_NAME": hop,
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
    }
