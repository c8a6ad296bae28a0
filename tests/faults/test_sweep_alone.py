"""The stream drops every record: `relay` is never called, and `sweep` alone keeps tasks going, by its index."""

from typing import Final

import pytest

from . import walk
from .scripts import SCRIPTS, Script
from .test_walk import each_script
from .world import Present

FINDS: Final = {
    "asked and answered": {"turn not taken", "wait not held"},
    "approved by callback": {"turn not taken", "wait not held"},
    "late webhook": {"turn not taken", "wait not held"},
    "expired": {"turn not taken", "wait not held"},
    "canceled while waiting": {"turn not taken", "wait not held", "cancel not noticed"},
    "canceled while working": {"turn not taken", "cancel not noticed"},
    "canceled while queued": {"cancel not noticed"},
}
"""What it must have reported of a life, at least; of every other, that a turn was not taken."""


@each_script
def test_the_sweep_alone_brings_every_life_to_its_end_and_says_what_it_found(present: Present, script: Script) -> None:
    world = walk.play(present, script, stream_is_lost=True)

    found = {why for _, why in world.repaired}
    assert found >= FINDS.get(script.name, {"turn not taken"}), found


@pytest.mark.parametrize(("present", "script"), [(SCRIPTS[0], SCRIPTS[0])], ids=str, indirect=["present"])
def test_the_sweep_never_reads_the_whole_table(present: Present, script: Script) -> None:
    world = walk.play(present, script, stream_is_lost=True)

    asked = {call for call in world.faults.calls if call.startswith("sweep ")}
    assert "sweep dynamodb.scan" not in asked
    assert "sweep dynamodb.query" in asked
