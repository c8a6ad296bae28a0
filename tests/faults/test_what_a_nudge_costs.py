"""What a nudge costs, counted: the calls that `notify` makes, which are what it bills and makes others wait for."""

from collections import Counter

from . import walk
from .scripts import SCRIPTS, Script
from .world import Present

ONCE_TOLD = next(script for script in SCRIPTS if script.name == "canceled while queued")


def calls_of(present: Present, script: Script) -> Counter[str]:
    """The calls of `notify`, by what is called."""
    calls = walk.play(present, script).faults.calls
    return Counter(call.removeprefix("notify ") for call in calls if call.startswith("notify "))


def test_a_nudge_that_is_taken_at_once_is_four_reads_five_writes_and_a_secret(present: Present) -> None:
    assert calls_of(present, ONCE_TOLD) == {
        "dynamodb.get_item": 4,  # the webhook with its state, the task, the endpoint before and after
        "dynamodb.update_item": 4,  # a place, the claim, the endpoint with its place back, the outcome
        "dynamodb.put_item": 1,  # a line of the log
        "kms.decrypt": 1,
        "partner.post": 1,
    }
