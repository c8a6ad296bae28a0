"""The distribution by itself: built, installed where nothing else is, and used."""

import json
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "shared" / "a2a_receiver"
NEEDED = ("pyjwt", "cryptography", "cffi", "pycparser")

PROGRAM = """
import json, sys, time
from a2a_receiver import MemoryStore, Receiver
import a2a_receiver.credentials, a2a_receiver.reconcile, a2a_receiver.tasks
import a2a_receiver.adapters.asgi, a2a_receiver.adapters.aws_lambda, a2a_receiver.adapters.wsgi
import a2a_receiver.stores.dynamodb, a2a_receiver.stores.redis, a2a_receiver.stores.sqlite
from a2a_receiver.testing import Sender
sender = Sender(issuer="https://agent.example", audience="https://me.example/a2a/push")
receiver = Receiver(sender.strict(), enqueue=lambda _: None, store=MemoryStore())
good = receiver.handle(*sender.nudge("task-1", seq=1, now=time.time()).parts, now=time.time())
bad = [receiver.handle(*attack.parts, now=time.time()).status
       for attack in sender.attacks("task-1", now=time.time()).values()]
missing = []
for framework in ("flask", "django"):
    try:
        __import__(f"a2a_receiver.adapters.{framework}")
    except ModuleNotFoundError as error:
        missing.append(error.name)
print(json.dumps({
    "good": good.status, "bad": sorted(set(bad)), "missing": missing,
    "modules": sorted({name.partition(".")[0] for name in sys.modules}),
    "standard": sorted(sys.stdlib_module_names),
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as `python -m build` makes it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def bare_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that sees the wheel, PyJWT, cryptography and what that needs; nothing else."""
    home = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home / "venv")], check=True)
    (packages,) = (home / "venv" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    for name in NEEDED:
        installed = distribution(name)
        for entry in {Path(str(file)).parts[0] for file in installed.files or () if ".." not in str(file)}:
            (packages / entry).symlink_to(str(installed.locate_file(entry)))
    return home / "venv" / "bin" / "python"


def test_the_wheel_holds_the_package_and_its_types_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    in_package = {name for name in names if name.startswith("a2a_receiver/")}
    in_source = {
        f"a2a_receiver/{path.relative_to(SOURCE)}"
        for path in (*SOURCE.rglob("*.py"), SOURCE / "py.typed")
        if "build" not in path.relative_to(SOURCE).parts
    }

    assert in_package == in_source
    assert {name.partition("/")[0] for name in names} == {"a2a_receiver", "a2a_receiver-0.1.0.dist-info"}
    assert "a2a_receiver-0.1.0.dist-info/licenses/LICENSE" in names


def test_the_guide_installs_what_its_own_command_builds(wheel: Path) -> None:
    guide = (SOURCE.parents[1] / "docs" / "partner-guide.md").read_text(encoding="utf-8")

    built = re.search(r"^python -m build --wheel --outdir (\S+) shared/a2a_receiver$", guide, re.MULTILINE)

    assert built
    assert f"pip install {built.group(1)}/{wheel.name}\n" in guide


def test_the_wheel_asks_for_pyjwt_with_cryptography_and_nothing_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read("a2a_receiver-0.1.0.dist-info/METADATA").decode()
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra" not in line]

    assert required == ["Requires-Dist: pyjwt[crypto]<3,>=2.15.1"]


def test_the_wheel_works_where_nothing_else_is_installed(bare_python: Path) -> None:
    ran = subprocess.run([bare_python, "-I", "-W", "error", "-c", PROGRAM], check=False, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    own_and_cryptography = {"__main__", "a2a_receiver", "cryptography", "_cffi_backend", "_openssl"}
    foreign = set(said["modules"]) - set(said["standard"]) - own_and_cryptography
    assert (said["good"], said["bad"]) == (202, [400, 401])
    assert {name for name in foreign if not name.startswith("__")} <= {"jwt", "typing_extensions"}
    assert said["missing"] == ["flask", "django"]


def test_importing_the_core_loads_no_cryptography_no_network_and_no_loop(bare_python: Path) -> None:
    program = "import a2a_receiver, sys; print(*sys.modules)"

    ran = subprocess.run([bare_python, "-I", "-c", program], check=True, capture_output=True, text=True)

    heavy = {"jwt", "cryptography", "asyncio", "http.client", "ssl", "sqlite3", "concurrent.futures", "urllib.request"}
    assert heavy & set(ran.stdout.split()) == set()
