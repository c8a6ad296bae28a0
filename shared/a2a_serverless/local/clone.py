"""Where things are: the clone that is being run, and the folder of each running stack inside it.

Everything that a local run writes lies in `.local/` of the clone (ignored by git), so that it can be
deleted as a whole.
"""

import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

_MARK = "cdk.json"
_PATIENCE = 5.0
"""Seconds until a worker that was told to stop is killed, and some more."""


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

    def announce(self, ready: str) -> None:
        """Say where the stack is (JSON, as on the line READY), for tools that are started beside it."""
        self._ready.write_text(ready, encoding="utf-8")

    @property
    def announced(self) -> str | None:
        """What the running stack of this folder announced; None when there is none."""
        if not self._owner.is_file() or not _is_running(self._owner.read_text(encoding="ascii")):
            return None
        return self._ready.read_text(encoding="utf-8") if self._ready.is_file() else None

    @property
    def _ready(self) -> Path:
        return self.path / "ready.json"

    @property
    def _owner(self) -> Path:
        return self.path / "pid"

    def open(self) -> None:
        """Take the folder for this process: empty it, and sweep what dead processes left beside it."""
        self.path.parent.mkdir(exist_ok=True)
        _sweep(self.path.parent)
        shutil.rmtree(self.tmp, ignore_errors=True)
        shutil.rmtree(self.logs, ignore_errors=True)
        self._ready.unlink(missing_ok=True)
        self.tmp.mkdir(parents=True)
        self.logs.mkdir()
        self._owner.write_text(str(os.getpid()), encoding="ascii")

    def close(self) -> None:
        """Leave the logs and nothing else; leave nothing when nothing was logged."""
        self._ready.unlink(missing_ok=True)
        _remove(self.tmp)
        self._owner.unlink(missing_ok=True)
        if self.logs.is_dir() and not any(self.logs.iterdir()):
            shutil.rmtree(self.path, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Remove a folder in which a worker on its way out may still write."""
    until = time.monotonic() + _PATIENCE
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > until:
            return
        time.sleep(0.02)


def run_folder(root: Path, port: int) -> RunFolder:
    """The folder of the stack that serves `port`: a port has one owner at a time, so it names the folder."""
    return RunFolder(root / ".local" / str(port))


def announced(root: Path) -> list[str]:
    """What each stack that runs in this clone announced."""
    found = (RunFolder(owner.parent).announced for owner in sorted((root / ".local").glob("*/pid")))
    return [ready for ready in found if ready is not None]


LOGS_KEPT = 10
"""Folders of logs of stacks that have ended; older ones are removed by the next start."""


def edited_folder(root: Path) -> Path:
    """A new name for an assembly that this process edits; it is removed when the process is gone."""
    return root / ".local" / f"edited-{os.getpid()}-{secrets.token_hex(4)}"


def _sweep(folders: Path) -> None:
    """Remove what stacks that were killed hard left, and all but the newest logs; nothing that has an owner."""
    for owner in folders.glob("*/pid"):
        if not _is_running(owner.read_text(encoding="ascii")):
            shutil.rmtree(owner.parent / "tmp", ignore_errors=True)
            owner.unlink(missing_ok=True)
    for edited in folders.glob("edited-*"):
        if not _is_running(edited.name.split("-")[1]):
            shutil.rmtree(edited, ignore_errors=True)
    ended = [folder for folder in folders.glob("[0-9]*") if not (folder / "pid").exists()]
    for folder in sorted(ended, key=lambda folder: folder.stat().st_mtime, reverse=True)[LOGS_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except PermissionError:
        return True  # another user's
    except (OSError, ValueError):
        return False
    return True
