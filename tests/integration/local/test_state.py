"""The state file: what is stored is stored together, and by one process at a time."""

import subprocess
import sys
from pathlib import Path

import pytest

from a2a_serverless.local.failure import StackFailedError
from a2a_serverless.local.state.file import StateFile

_HOLD = """
import sys
from pathlib import Path
from a2a_serverless.local.state.file import StateFile
file = StateFile(Path(sys.argv[1]), written_by="test")
print("held", flush=True)
sys.stdin.read()
"""


def test_what_was_written_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    first = StateFile(tmp_path, written_by="test")
    first.set_meta("colour", "blue")
    first.close()

    second = StateFile(tmp_path, written_by="test")

    assert second.meta("colour") == "blue"
    assert second.is_new
    second.close()


def test_changes_made_together_are_stored_together_at_the_end(tmp_path: Path) -> None:
    file = StateFile(tmp_path, written_by="test")

    with file.together():
        file.set_meta("a", "1")
        inside = file.meta("a")

    assert (inside, file.meta("a")) == (None, "1")
    file.close()


def test_a_process_that_is_killed_between_two_changes_made_together_has_stored_neither(tmp_path: Path) -> None:
    code = (
        _HOLD.partition("print(")[0]
        + "import os\n"
        + "with file.together():\n    file.set_meta('a', '1')\n    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)

    file = StateFile(tmp_path, written_by="test")

    assert file.meta("a") is None
    file.close()


def test_a_second_process_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"

    with pytest.raises(StackFailedError, match="in use by another stack"):
        StateFile(tmp_path, written_by="test")

    holder.communicate()
    StateFile(tmp_path, written_by="test").close()


def test_state_of_another_emulator_is_refused_by_name(tmp_path: Path) -> None:
    StateFile(tmp_path, written_by="ministack 1").close()

    with pytest.raises(StackFailedError, match="written by ministack 1, but this is ministack 2"):
        StateFile(tmp_path, written_by="ministack 2")


def test_where_no_state_can_be_kept_it_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "taken" / "state.sqlite").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "state.sqlite").write_text("this is no database of SQLite, but somebody's notes" * 100)

    for name in ("file", "file/below", "taken", "other"):
        with pytest.raises(StackFailedError, match=f"no state can be kept in STATE_DIR={tmp_path / name}: "):
            StateFile(tmp_path / name, written_by="test")
