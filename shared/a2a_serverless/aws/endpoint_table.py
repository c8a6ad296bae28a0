"""How each endpoint does, in a partition of its own: `ENDPOINT#host:port`. Forgotten a day after the last attempt."""

from datetime import timedelta
from typing import Final

from a2a_serverless.app.ports import Clock
from a2a_serverless.aws.delivery_codec import endpoint_of, endpoint_text
from a2a_serverless.aws.items import Attribute, number_in, text, text_in, ttl
from a2a_serverless.aws.settings import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE
from a2a_serverless.aws.table import Table
from a2a_serverless.core.delivery_endpoint import EndpointHealth

ENDPOINT: Final = "ENDPOINT#"
HEALTH: Final = "HEALTH"
KEPT: Final = timedelta(days=1)


class EndpointTable:
    """Endpoints on DynamoDB. The last write stands: a lost one makes the guard slower and loses no nudge."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def endpoint(self, name: str) -> EndpointHealth:
        """What is known; fresh when nothing is."""
        item = self._table.get(_key(name))
        if item is None or number_in(item, TTL_ATTRIBUTE) <= int(self._clock().timestamp()):
            return EndpointHealth()
        return endpoint_of(text_in(item, "health"))

    def save_endpoint(self, name: str, health: EndpointHealth) -> None:
        """Keep what is known."""
        expires_at = ttl(self._clock() + KEPT)
        self._table.put({**_key(name), "health": text(endpoint_text(health)), TTL_ATTRIBUTE: expires_at})


def _key(name: str) -> dict[str, Attribute]:
    return {PARTITION_KEY: text(ENDPOINT + name), SORT_KEY: text(HEALTH)}
