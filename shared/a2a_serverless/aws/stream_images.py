"""Changes of heads, read off the records of the table's stream as Lambda hands them on (`core.effects` judges them)."""

import base64
from typing import Any

from a2a_serverless.aws.head_codec import decode_outline
from a2a_serverless.aws.items import Attribute, Item
from a2a_serverless.aws.keys import task_key
from a2a_serverless.aws.settings import HEAD, PARTITION_KEY, SORT_KEY
from a2a_serverless.core.head import Head
from a2a_serverless.types import JsonObject, TaskKey


def changed_heads(record: JsonObject) -> tuple[Head | None, Head]:
    """The head before the change (None: the task is new) and after it, as outlines: without the journal's tail, the
    agent's memory and a long status message.

    Raises:
        ValueError: the record tells of no head that was written; the stream's filter lets only those through.
    """
    images = record["dynamodb"]
    if images["Keys"][SORT_KEY]["S"] != HEAD or "NewImage" not in images:
        raise ValueError(f"no head was written: {record.get('eventName')} of {images['Keys'][SORT_KEY]['S']}")
    old = images.get("OldImage")
    return decode_outline(_plain(old)) if old else None, decode_outline(_plain(images["NewImage"]))


def removed_task(record: JsonObject) -> TaskKey | None:
    """The task whose head was deleted, by the TTL or by hand; None if the record tells of something else."""
    keys = record["dynamodb"]["Keys"]
    if record.get("eventName") != "REMOVE" or keys[SORT_KEY]["S"] != HEAD:
        return None
    return task_key(keys[PARTITION_KEY]["S"])


def _plain(image: Any) -> Item:
    """An image with its bytes as bytes: in an event they are base64."""
    return {name: _attribute(value) for name, value in image.items()}


def _attribute(value: Attribute) -> Attribute:
    return {"B": base64.b64decode(value["B"])} if "B" in value else value
