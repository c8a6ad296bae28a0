"""Entries as bytes, and the chain of segments."""

import pytest

from a2a_serverless.aws import journal_codec
from a2a_serverless.core.journal import ArtifactChanged, Entry, Restarted, Spoken, StatusChanged
from a2a_serverless.types import Artifact, Message, Part, Role, TaskState, TaskStatus
from tests.fakes import START
from tests.integration.aws import build

WORKING = StatusChanged(TaskStatus(state=TaskState.WORKING, timestamp=START))
DONE = StatusChanged(TaskStatus(state=TaskState.COMPLETED, timestamp=START))
HELLO = Message(message_id="m-1", role=Role.USER, parts=(Part(text="hello"), Part(data=None)))


def nested(depth: int) -> ArtifactChanged:
    data: object = "deep"
    for _ in range(depth):
        data = [data]
    return ArtifactChanged(Artifact(artifact_id="a", parts=(Part(data=data),)))


def test_entries_of_every_kind_are_read_back() -> None:
    entries: list[Entry] = [
        Spoken(HELLO),
        Spoken(HELLO, {"order": [7, None]}),
        Spoken(HELLO, {"order": 7}, ("urn:x", "urn:y")),
        WORKING,
        StatusChanged(WORKING.status, {"a": [1, None]}),
        StatusChanged(WORKING.status.but(message=HELLO)),
        build.artifact("x"),
        ArtifactChanged(Artifact(artifact_id="a", parts=(Part(text=""),)), append=True, last_chunk=True),
        ArtifactChanged(Artifact(artifact_id="a", parts=(Part(text=""),)), metadata={"rate": 2}),
        Restarted(0),
        Restarted(12),
    ]

    assert journal_codec.decode(journal_codec.encode(entries)) == tuple(entries)


def test_what_compresses_is_compressed_and_what_does_not_is_left() -> None:
    prose, short = build.artifact("word " * 1000), build.artifact("x")

    assert len(journal_codec.encode([prose])) < 300
    assert journal_codec.encode([short]).startswith(b"[")


@pytest.mark.parametrize("depth", [1, 150, 199, 201, 250])
def test_what_was_accepted_is_readable_however_deep_it_is_nested(depth: int) -> None:
    entry = nested(depth)

    assert journal_codec.decode(journal_codec.encode([entry])) == (entry,)


def test_what_is_nested_too_deep_is_refused_before_it_is_stored() -> None:
    with pytest.raises(ValueError, match="depth"):
        journal_codec.encode([nested(300)])


def test_the_newest_status_is_not_stored_twice() -> None:
    said = StatusChanged(WORKING.status.but(message=HELLO.but(parts=(Part(text=build.incompressible(150)),))))

    marked = journal_codec.encode([WORKING, said], shown=said.status)

    assert len(marked) < len(journal_codec.encode([WORKING, said])) - 150
    assert journal_codec.decode(marked, shown=said.status) == (WORKING, said)


def test_what_a_status_says_of_the_task_is_not_in_the_head_and_stays() -> None:
    last = StatusChanged(DONE.status, {"a": 1})

    marked = journal_codec.encode([WORKING, last], shown=DONE.status)

    assert journal_codec.decode(marked, shown=DONE.status) == (WORKING, last)


def test_only_the_entry_that_says_what_the_head_says_is_left_out() -> None:
    journals: list[list[Entry]] = [[WORKING, DONE], [DONE, build.artifact("x"), WORKING], [DONE, DONE, WORKING, DONE]]

    for entries in journals:
        encoded = journal_codec.encode(entries, shown=DONE.status)

        assert journal_codec.decode(encoded, shown=DONE.status) == tuple(entries)


def test_a_chain_of_segments_tells_positions_by_its_names() -> None:
    first = journal_codec.seal([WORKING, DONE], after="")
    second = journal_codec.seal([Restarted(1)], after=first[-1].name)

    assert [(segment.first, segment.end) for segment in (*first, *second)] == [(0, 2), (2, 3)]
    assert second[0].before == first[-1].name


def test_names_of_segments_sort_by_position() -> None:
    entries = [build.artifact(build.incompressible(20_000)) for _ in range(120)]

    names = [segment.name for segment in journal_codec.seal(entries, after="")]

    assert len(names) == 120
    assert names == sorted(names)


def test_the_same_entries_behind_the_same_segment_are_the_same_segment() -> None:
    one, other = (journal_codec.seal([WORKING], after="00000002.abc") for _ in range(2))

    assert one == other


def test_other_entries_or_another_segment_before_make_another_name() -> None:
    names = {
        journal_codec.seal([entry], after=before)[0].name
        for entry in (WORKING, DONE)
        for before in ("00000002.abc", "00000002.abd")
    }

    assert len(names) == 4


def test_entries_share_segments_up_to_their_size() -> None:
    chunks = [build.artifact(f"{at}" * 4_096) for at in range(9)]

    segments = journal_codec.seal(chunks, after="")

    assert [segment.end - segment.first for segment in segments] == [7, 2]


def test_an_entry_that_fits_into_no_item_has_a_segment_of_its_own() -> None:
    large = build.artifact(build.incompressible(600_000))

    segments = journal_codec.seal([WORKING, large, DONE], after="")

    assert [segment.end - segment.first for segment in segments] == [1, 1, 1]
    assert len(segments[1].body) > journal_codec.LARGEST_BODY
    assert journal_codec.decode(segments[1].body) == (large,)
