"""`rotate-keys`: the keys that nudges are signed with, shown, renewed before their time, or thrown away."""

import argparse
from datetime import datetime
from typing import Final

from a2a_serverless.aws.signing_keys import ALGORITHMS, KeyMaker, KeyTable, StoredKey
from a2a_serverless.cli import deployment, printed
from a2a_serverless.cli.deployment import in_words
from a2a_serverless.types import JsonObject, timestamp_text
from a2a_serverless.webhook.keys import next_first_use

_HEADER: Final = ("key", "algorithm", "signs from")


def rotate(told: argparse.Namespace) -> int:
    """`rotate-keys [--compromised]`."""
    place = deployment.chosen(stack=told.stack, endpoint=told.endpoint, say=printed.say)
    with in_words(place.stack):
        maker = KeyMaker(place.client("kms"), place.outputs["SealingKey"])
        keys = renewed(place.keys, maker, now=deployment.now(), compromised=told.compromised)
    if told.json:
        printed.show_json([_object(key) for key in keys])
    else:
        printed.show(printed.table(_HEADER, [(key.kid, key.algorithm, printed.moment(key.first_use)) for key in keys]))
    return 0


def renewed(table: KeyTable, maker: KeyMaker, *, now: datetime, compromised: bool) -> tuple[StoredKey, ...]:
    """Make the next key of each algorithm that has none to come; answers all keys there are then.

    It is published at once and signs in a day, when every receiver knows it; the first of all signs at once. Where the
    old ones are compromised it signs at once, and they are published no more.
    """
    known = table.keys()
    for algorithm in ALGORITHMS:
        is_to_come = any(key.algorithm == algorithm and key.first_use > now for key in known)
        if compromised or not is_to_come:
            first_use = now if compromised else next_first_use(known, algorithm, now=now)
            maker.make(algorithm, known=known, first_use=first_use, keep_in=table)
    if compromised:
        for key in known:
            table.forget(key)
    return table.keys()


def _object(key: StoredKey) -> JsonObject:
    return {"kid": key.kid, "alg": key.algorithm, "firstUse": timestamp_text(key.first_use)}
