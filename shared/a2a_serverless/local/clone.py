"""Where things are: the clone that is being run, and the folder of each running stack inside it.

Everything that a local run writes lies in `.local/` of the clone (ignored by git), so that it can be
deleted as a whole.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

_MARK = "cdk.json"


class NoCloneError(Exception):
    """The command was started outside a clone of the repository."""


def repository_root(start: Path | None = None) -> Path:
    """The nearest folder with a `cdk.json`, from `start` (default: the working folder, then this file) upwards.

    Raises:
        NoCloneError: there is none, so there is no stack to run.
    """
    starts = [start] if start else [Path.cwd(), Path(__file__).parent]
    for place in starts:
        for folder in (place, *place.parents):
            if (folder / _MARK).is_file():
                return folder
    looked = " and ".join(str(place) for place in starts)
    raise NoCloneError(f"no {_MARK} in {looked} or above: run this inside a clone of the repository")


@dataclass(frozen=True)
class RunFolder:
    """The folder of one running stack: `.local/<port>/` with `tmp/` (gone at exit) and `logs/` (kept)."""

    path: Path

    @property
    def tmp(self) -> Path:
        """What the engine and the functions may write; deleted at exit."""
        return self.path / "tmp"

    @property
    def logs(self) -> Path:
        """One file per hop, written as the functions log."""
        return self.path / "logs"

    @property
    def _owner(self) -> Path:
        return self.path / "pid"

    def open(self) -> None:
        """Take the folder for this process: empty it, and sweep what dead processes left beside it."""
        self.path.parent.mkdir(exist_ok=True)
        _sweep(self.path.parent)
        shutil.rmtree(self.tmp, ignore_errors=True)
        shutil.rmtree(self.logs, ignore_errors=True)
        self.tmp.mkdir(parents=True)
        self.logs.mkdir()
        self._owner.write_text(str(os.getpid()), encoding="ascii")

    def close(self) -> None:
        """Leave the logs and nothing else; leave nothing when nothing was logged."""
        shutil.rmtree(self.tmp, ignore_errors=True)
        self._owner.unlink(missing_ok=True)
        if self.logs.is_dir() and not any(self.logs.iterdir()):
            shutil.rmtree(self.path, ignore_errors=True)


def run_folder(root: Path, port: int) -> RunFolder:
    """The folder of the stack that serves `port`: a port has one owner at a time, so it names the folder."""
    return RunFolder(root / ".local" / str(port))


def _sweep(folders: Path) -> None:
    """Remove what stacks that were killed hard left: their tmp folders, and nothing that still has an owner."""
    for owner in folders.glob("*/pid"):
        if not _is_running(owner):
            shutil.rmtree(owner.parent / "tmp", ignore_errors=True)
            owner.unlink(missing_ok=True)


def _is_running(owner: Path) -> bool:
    try:
        os.kill(int(owner.read_text(encoding="ascii")), 0)
    except (OSError, ValueError):
        return False
    return True
