"""What the two sides are made of: our asset as it is deployed, and what Lambda's runtime brings."""

import hashlib
import io
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cdk.code import REQUIREMENTS, compile_command, stage, without_sources

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).parent
REFERENCE: Final = ROOT / ".venv-bench"
RUNTIME: Final = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six.py")
"""What Lambda's Python runtime has. It comes from the project's environment, pinned as in the reference server's."""
_TOOLS: Final = frozenset({"pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth", "bin"})


@dataclass(frozen=True)
class Places:
    """Where everything is."""

    asset: Path
    requirements: Path
    runtime: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        """What our side imports from, in order."""
        return self.asset, self.requirements, self.runtime


def has_reference() -> bool:
    """Whether the environment of the reference server is there; `make bench` makes it."""
    return (REFERENCE / "bin" / "python").exists()


def prepared(folder: Path) -> Places:
    """Make what is missing of ours. Byte code is shipped as on Lambda: never checked against its sources."""
    places = Places(folder / "asset", folder / f"libraries-{_key()}", folder / "runtime")
    shutil.rmtree(places.asset, ignore_errors=True)
    stage(places.asset, runtime_requirements=False)
    shutil.copy2(HERE / "echo.py", places.asset)
    subprocess.run(compile_command(places.asset, sys.executable), check=True)
    if not places.requirements.exists():
        _install(places.requirements)
        without_sources(places.requirements, sys.executable)
    places.runtime.mkdir(exist_ok=True)
    for name in RUNTIME:
        link = places.runtime / name
        link.unlink(missing_ok=True)
        link.symlink_to(Path(sysconfig.get_path("purelib")) / name)
    return places


def _key() -> str:
    return hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]


def _install(target: Path) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    wanted = ("--require-hashes", "--requirements", str(REQUIREMENTS))
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(target), *wanted]
    subprocess.run(command, check=True)
    shutil.rmtree(target / "bin", ignore_errors=True)


@dataclass(frozen=True)
class Size:
    """Bytes of a package, as files and as the zip that is uploaded."""

    files: int
    zipped: int


def our_package(places: Places) -> Size:
    """What is deployed: our asset with its requirements and its byte code; boto3 is the runtime's."""
    return _size([(folder, file) for folder in (places.asset, places.requirements) for file in _files(folder)])


def reference_package(*, with_boto3: bool) -> Size:
    """What one would deploy of the reference server, as it is installed, without byte code."""
    packages = next((REFERENCE / "lib").glob("python3*")) / "site-packages"
    left_out = _TOOLS if with_boto3 else _TOOLS | {"boto3", "botocore", "s3transfer"}
    chosen = [
        (packages, file)
        for file in _files(packages)
        if file.relative_to(packages).parts[0].partition("-")[0] not in left_out and "__pycache__" not in file.parts
    ]
    return _size(chosen)


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(file for file in folder.rglob("*") if file.is_file())


def _size(files: list[tuple[Path, Path]]) -> Size:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, file in files:
            archive.write(file, file.relative_to(folder).as_posix())
    return Size(sum(file.stat().st_size for _, file in files), packed.tell())
