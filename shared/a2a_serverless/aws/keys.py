"""How owners and tasks are spelled in the table's keys: the one place that writes and reads them.

A partition key begins with the owner, so that a task of somebody else is simply not there. Each name is percent-encoded
on its own: no name can reach into its neighbour.
"""

from typing import Final
from urllib.parse import quote, unquote

from a2a_serverless.types import Owner, Scope, TaskKey

LONGEST_PARTITION_KEY: Final = 2048
"""Bytes that DynamoDB takes as a partition key."""


def owner_text(scope: Scope) -> str:
    """`agent/tenant/subject`: the partition of what one owner has with one agent.

    Raises:
        ValueError: there is no agent or no subject. Nothing is ever stored or found without an owner.
    """
    if not scope.agent or not scope.owner.subject:
        raise ValueError("a scope needs an agent and an owner with a subject")
    return "/".join(map(encoded, (scope.agent, scope.owner.tenant, scope.owner.subject)))


def task_text(key: TaskKey) -> str:
    """`agent/tenant/subject/task_id`: the partition of one task.

    Raises:
        ValueError: there is no owner.
    """
    return f"{owner_text(key.scope)}/{encoded(key.task_id)}"


def task_key(text: str) -> TaskKey:
    """The task whose partition this is.

    Raises:
        ValueError: it is the partition of something else.
    """
    names = text.split("/")
    if len(names) != 4 or not names[0] or not names[2]:
        raise ValueError(f"no partition of a task: {text[:200]!r} should be agent/tenant/subject/task_id")
    agent, tenant, subject, task_id = map(_decoded, names)
    return TaskKey(Scope(agent, Owner(subject, tenant)), task_id)


def fits(text: str) -> bool:
    """Whether DynamoDB takes this as a partition key; a task with a longer one cannot be there."""
    return 0 < len(text.encode()) <= LONGEST_PARTITION_KEY


def encoded(name: str) -> str:
    """A name that somebody else chose, as a part of a key."""
    # A lone surrogate is no text, but a caller may send one: it is a name like any other, of nothing that exists.
    return quote(name, safe="", errors="surrogatepass")


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogatepass")
