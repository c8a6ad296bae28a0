"""The hosts that an owner's webhooks were pointed at within the hour: `HOSTS/tenant/subject`, an item for each hour.

A set of texts that DynamoDB counts, so that callers at the same time cannot have more between them. A process remembers
what it was told, so that the webhooks of a busy caller cost one write an hour.
"""

from datetime import datetime, timedelta
from typing import Final

from a2a_serverless.aws.items import text, ttl
from a2a_serverless.aws.keys import encoded
from a2a_serverless.aws.settings import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE
from a2a_serverless.aws.table import Condition, Refused, Table
from a2a_serverless.types import Owner

_HOSTS: Final = "HOSTS"
_KEPT: Final = timedelta(days=1)
_REMEMBERED: Final = 4096

_Known = tuple[Owner, str, str]


class HostTable:
    """WebhookHosts on DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._known: set[_Known] = set()

    def admit(self, owner: Owner, host: str, *, most: int, now: datetime) -> bool:
        """Count a host to this hour of its owner; False when it would be one more than `most`."""
        known = (owner, host, f"{now:%Y-%m-%dT%H}")
        if known in self._known:
            return True
        if not self._counted(known, most, now):
            return False
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known.add(known)
        return True

    def _counted(self, known: _Known, most: int, now: datetime) -> bool:
        owner, host, hour = known
        partition = "/".join((_HOSTS, encoded(owner.tenant), encoded(owner.subject)))
        there_is_room = Condition(
            "attribute_not_exists(hosts) OR contains(hosts, :host) OR size(hosts) < :most",
            {":host": text(host), ":most": {"N": str(most)}},
        )
        try:
            self._table.update(
                {PARTITION_KEY: text(partition), SORT_KEY: text(hour)},
                {TTL_ATTRIBUTE: ttl(now + _KEPT)},
                only_if=there_is_room,
                joined={"hosts": host},
            )
        except Refused:
            return False
        return True
