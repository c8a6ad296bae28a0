"""Partition keys: nobody's name reaches into somebody else's partition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.aws.keys import fits, owner_text, task_key, task_text
from a2a_serverless.types import Owner, Scope, TaskKey

any_text = st.text(st.characters(exclude_categories=[]))
hostile = st.sampled_from(["/", "//", "a/b", "..", ".", "%2F", "%", "%zz", "#", "a#b", " ", "ü", "\ud800", "\x00", "~"])
names = st.one_of(hostile, any_text, st.lists(hostile, max_size=4).map("".join))
filled = names.filter(bool)
keys = st.builds(TaskKey, st.builds(Scope, filled, st.builds(Owner, filled, names)), names)


@given(keys)
def test_a_key_is_read_back_whatever_the_names(key: TaskKey) -> None:
    assert task_key(task_text(key)) == key


@given(keys, keys)
def test_two_tasks_never_share_a_partition(one: TaskKey, other: TaskKey) -> None:
    assert (task_text(one) == task_text(other)) == (one == other)


@given(keys, keys)
def test_no_partition_of_an_owner_is_that_of_another_or_of_a_task(one: TaskKey, other: TaskKey) -> None:
    assert (owner_text(one.scope) == owner_text(other.scope)) == (one.scope == other.scope)
    assert owner_text(one.scope) != task_text(other)


@given(keys)
def test_a_key_is_plain_text_that_sorts_and_travels(key: TaskKey) -> None:
    text = task_text(key)

    assert text.isascii()
    assert text.isprintable()
    assert text.count("/") == 3


def test_without_an_owner_there_is_no_key() -> None:
    nobody = Owner("somebody")
    object.__setattr__(nobody, "subject", "")  # the type refuses it; the key must not rely on that

    for scope in (Scope("freight", nobody), Scope("", Owner("alice"))):
        with pytest.raises(ValueError, match="owner"):
            owner_text(scope)
        with pytest.raises(ValueError, match="owner"):
            task_text(TaskKey(scope, "t-1"))


@pytest.mark.parametrize("text", ["", "KEYS", "a/b/c", "a/b/c/d/e", "/t/s/x", "a/t//x", "ENDPOINT#a:1"])
def test_what_is_no_partition_of_a_task_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no partition of a task"):
        task_key(text)


def test_what_dynamodb_does_not_take_as_a_key_does_not_fit() -> None:
    assert fits("x" * 2048)
    assert not fits("x" * 2049)
    assert not fits("ü" * 1025)
    assert not fits("")
