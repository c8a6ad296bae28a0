"""How each endpoint does, in a partition of its own: `ENDPOINT#host:port`. Forgotten a day after the last attempt.

Its health is one text, and the last write stands: a lost one makes the guard slower and loses no nudge. The places that
are taken are a set beside it, so that DynamoDB counts them whoever comes at the same time. The name of a place begins
with the time it falls free by itself.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.app.ports import Clock, Ids
from a2a_serverless.aws.delivery_codec import endpoint_of, endpoint_text
from a2a_serverless.aws.items import (
    Attribute,
    Item,
    milliseconds,
    moment_of,
    number,
    number_in,
    text,
    text_in,
    texts_in,
    ttl,
)
from a2a_serverless.aws.settings import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE
from a2a_serverless.aws.table import Condition, Refused, Table
from a2a_serverless.core.delivery_endpoint import EndpointHealth

ENDPOINT: Final = "ENDPOINT#"
HEALTH: Final = "HEALTH"
PLACES: Final = "places"
KEPT: Final = timedelta(days=1)


class EndpointTable:
    """Endpoints on DynamoDB.

    `ids` names places; its last twelve characters must tell senders apart.
    """

    def __init__(self, table: Table, *, clock: Clock, ids: Ids) -> None:
        self._table = table
        self._clock = clock
        self._ids = ids

    def endpoint(self, name: str) -> EndpointHealth:
        """What is known; fresh when nothing is."""
        item = self._table.get(_key(name))
        if item is None or number_in(item, TTL_ATTRIBUTE) <= int(self._clock().timestamp()):
            return EndpointHealth()
        told = text_in(item, "health")
        health = endpoint_of(told) if told else EndpointHealth()
        return replace(health, leases=tuple(sorted(map(_free_at, self._taken(item)))))

    def enter(self, name: str, *, places: int, until: datetime) -> str | None:
        """Take one of so many places, until then at most; None when all are taken."""
        place = f"{milliseconds(until):013d}-{self._ids()[-12:]}"
        full = self._refused(name, place, places)
        if full is None:
            return place
        free = [known for known in texts_in(full, PLACES) if known not in self._taken(full)]
        if not free:
            return None
        self._table.update(_key(name), {}, left={PLACES: free})
        return place if self._refused(name, place, places) is None else None

    def _refused(self, name: str, place: str, places: int) -> Item | None:
        """Take the place; if there is none, the item as it is stored. One that finds itself there has been taken."""
        one_is_free = Condition(
            f"attribute_not_exists({PLACES}) OR size({PLACES}) < :places", {":places": number(places)}
        )
        try:
            self._table.update(_key(name), self._kept(), only_if=one_is_free, joined={PLACES: place})
        except Refused as refused:
            return None if place in texts_in(refused.stored, PLACES) else refused.stored
        return None

    def save_endpoint(self, name: str, health: EndpointHealth, *, leaving: str = "") -> None:
        """Keep what is known, except which places are taken, and give one back."""
        told = endpoint_text(replace(health, leases=()))
        left = {PLACES: [leaving]} if leaving else {}
        self._table.update(_key(name), {"health": text(told), **self._kept()}, left=left)

    def _kept(self) -> dict[str, Attribute]:
        return {TTL_ATTRIBUTE: ttl(self._clock() + KEPT)}

    def _taken(self, item: Item) -> Sequence[str]:
        return [place for place in texts_in(item, PLACES) if _free_at(place) > self._clock()]


def _free_at(place: str) -> datetime:
    return moment_of(int(place.partition("-")[0]))


def _key(name: str) -> dict[str, Attribute]:
    return {PARTITION_KEY: text(ENDPOINT + name), SORT_KEY: text(HEALTH)}
