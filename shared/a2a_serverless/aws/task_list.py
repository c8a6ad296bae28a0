"""ListTasks on the list index: one owner's tasks by status time, newest first. Costs what the owner has, never what
others have."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from a2a_serverless.app.ports import Listed, ListPage, ListQuery, Position
from a2a_serverless.aws.head_codec import CONTEXT, IN_JOURNAL, STATE, STATUS, listed_text, told_status
from a2a_serverless.aws.items import Attribute, Item, number, text, text_in
from a2a_serverless.aws.keys import owner_text
from a2a_serverless.aws.settings import (
    OWNER_INDEX,
    OWNER_INDEX_SORT,
    TTL_ATTRIBUTE,
)
from a2a_serverless.aws.table import Condition, Question, Table
from a2a_serverless.types import Scope, TaskKey, TaskStatus, timestamp_text

Statuses = Callable[[Sequence[TaskKey]], Mapping[TaskKey, TaskStatus]]
"""The statuses of tasks whose message the index does not carry."""

_SHOWN: Final = (OWNER_INDEX_SORT, CONTEXT, STATE, STATUS)
"""What a page is made of: the owner and the keys are known, and reading them would take as long again."""
_FIRST: Final = "0"
_PAST_ALL: Final = "~"
_LONGEST_STEP: Final = 4_000
"""Entries of one Query that looks for a few among many; 1 MB holds about as many."""


def page(table: Table, query: ListQuery, *, statuses: Statuses) -> ListPage:
    """One page of a scope's tasks, and how many there are in all: a first page that is not the last counts the rest."""
    question = _question(query)
    found, goes_on = _matching(table, question, query)
    shown = found[: query.page_size]
    total = query.after.total if query.after is not None else len(found) + table.count(question, after=goes_on)
    is_last = len(found) <= query.page_size
    return ListPage(_listed(query.scope, shown, statuses), None if is_last else _position(shown[-1], total), total)


def _matching(table: Table, question: Question, query: ListQuery) -> tuple[list[Item], Item | None]:
    """The entries of the page and at least one more, if there is one, and where it goes on behind those. A filter that
    takes few of many is asked in ever longer steps."""
    passed = _passed(query)
    found: list[Item] = []
    step = query.page_size + (2 if passed else 1)
    goes_on: Item | None = None
    while True:
        got = table.query(question, limit=step, after=goes_on)
        found += [item for item in got.items if text_in(item, OWNER_INDEX_SORT) != passed]
        goes_on = got.goes_on
        if len(found) > query.page_size or goes_on is None:
            return found, goes_on
        step = min(step * 4, _LONGEST_STEP)


def _passed(query: ListQuery) -> str:
    """The entry that the page before this one ended with; empty on a first page."""
    return listed_text(query.after.status_time, query.after.task_id) if query.after is not None else ""


def _question(query: ListQuery) -> Question:
    oldest = _since(query.status_since) if query.status_since is not None else _FIRST
    newest = max(_passed(query) or _PAST_ALL, oldest)  # bounds in the wrong order are an error of DynamoDB
    of_the_owner = Condition(
        f"#owner = :owner AND {OWNER_INDEX_SORT} BETWEEN :oldest AND :newest",
        {":owner": text(owner_text(query.scope)), ":oldest": text(oldest), ":newest": text(newest)},
    )
    return Question(where=of_the_owner, only=_filter(query), index=OWNER_INDEX, names=_SHOWN, backwards=True)


def _since(moment: datetime) -> str:
    """The first entry that may stand at a moment or behind it: entries have milliseconds."""
    truncated = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    if truncated == moment:
        return timestamp_text(moment)
    return f"{timestamp_text(truncated)}{_PAST_ALL}"


def _filter(query: ListQuery) -> Condition:
    sentences = [f"(attribute_not_exists({TTL_ATTRIBUTE}) OR {TTL_ATTRIBUTE} > :now)"]
    values: dict[str, Attribute] = {":now": number(int(query.now.timestamp()))}
    if query.context_id:
        sentences.append(f"{CONTEXT} = :context")
        values[":context"] = text(query.context_id)
    if query.state is not None:
        sentences.append("#state = :state")
        values[":state"] = text(query.state.name)
    return Condition(" AND ".join(sentences), values)


def _listed(scope: Scope, items: Sequence[Item], statuses: Statuses) -> tuple[Listed, ...]:
    keys = [TaskKey(scope, text_in(item, OWNER_INDEX_SORT).partition("#")[2]) for item in items]
    long = [key for key, item in zip(keys, items, strict=True) if text_in(item, STATUS) == IN_JOURNAL]
    told = statuses(long) if long else {}
    return tuple(
        Listed(key, text_in(item, CONTEXT), told.get(key) or told_status(item))
        for key, item in zip(keys, items, strict=True)
    )


def _position(item: Item, total: int) -> Position:
    moment, _, task_id = text_in(item, OWNER_INDEX_SORT).partition("#")
    return Position(datetime.fromisoformat(moment), task_id, total)
