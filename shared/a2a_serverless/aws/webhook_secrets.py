"""Standard Webhooks secrets that owners were issued: sealed by KMS, kept in the table, good until they are replaced.

A deployment needs none: every nudge is signed with the published keys. They are for partners who verify with a library
of Standard Webhooks and want nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from a2a_serverless.aws.items import Attribute, Item, binary, bytes_in, milliseconds, number, number_in, text, text_in
from a2a_serverless.aws.keys import encoded
from a2a_serverless.aws.settings import PARTITION_KEY, SECRET_CONTEXT, SORT_KEY
from a2a_serverless.aws.table import Table, beginning_with
from a2a_serverless.types import Owner

if TYPE_CHECKING:
    from types_boto3_kms.client import KMSClient

GOOD_AFTER_THE_NEXT: Final = timedelta(hours=24)
"""How long a secret goes on signing once there is a newer one: the time its owner has to take the newer one over."""

_SECRETS: Final = "SECRETS"
_WHSEC: Final = "WHSEC#"


@dataclass(frozen=True, slots=True)
class _Kept:
    where: dict[str, Attribute]
    sealed: bytes
    ends: int
    """Milliseconds since the epoch; 0 for the one that has no successor."""


class WebhookSecrets:
    """The secrets of all owners of a deployment."""

    def __init__(self, table: Table, client: KMSClient, sealing_key: str) -> None:
        self._table = table
        self._client = client
        self._sealing_key = sealing_key

    def issue(self, owner: Owner, secret: str, *, now: datetime) -> None:
        """Sign with this secret (`whsec_…`) too; those before it end in 24 hours, unless they end before."""
        answer = self._client.encrypt(
            KeyId=self._sealing_key, Plaintext=secret.encode(), EncryptionContext=_context(owner)
        )
        issued = milliseconds(now)
        before = self._kept(owner)
        self._table.put({**_where(owner, f"{_WHSEC}{issued:013d}"), "sealed": binary(answer["CiphertextBlob"])})
        ends = milliseconds(now + GOOD_AFTER_THE_NEXT)
        for kept in before:
            if kept.ends and kept.ends <= issued:
                self._table.delete(kept.where)
            elif not kept.ends:
                self._table.update(kept.where, {"ends": number(ends)})

    def good(self, owner: Owner, *, now: datetime) -> tuple[str, ...]:
        """The secrets that sign now, newest first; none for an owner who was never issued one. One read."""
        kept = [each for each in self._kept(owner) if not each.ends or each.ends > milliseconds(now)]
        return tuple(self._opened(owner, each) for each in reversed(kept))

    def revoke(self, owner: Owner) -> int:
        """Sign with none of them any more; answers how many there were."""
        kept = self._kept(owner)
        for each in kept:
            self._table.delete(each.where)
        return len(kept)

    def _kept(self, owner: Owner) -> list[_Kept]:
        return [_read(owner, item) for item in self._table.all(beginning_with(_partition(owner), _WHSEC))]

    def _opened(self, owner: Owner, kept: _Kept) -> str:
        answer = self._client.decrypt(
            KeyId=self._sealing_key, CiphertextBlob=kept.sealed, EncryptionContext=_context(owner)
        )
        return answer["Plaintext"].decode()


def _read(owner: Owner, item: Item) -> _Kept:
    return _Kept(_where(owner, text_in(item, SORT_KEY)), bytes_in(item, "sealed"), number_in(item, "ends"))


def _where(owner: Owner, name: str) -> dict[str, Attribute]:
    return {PARTITION_KEY: text(_partition(owner)), SORT_KEY: text(name)}


def _partition(owner: Owner) -> str:
    """Three names, so that it is the partition of no task."""
    return "/".join((_SECRETS, encoded(owner.tenant), encoded(owner.subject)))


def _context(owner: Owner) -> dict[str, str]:
    return {"purpose": SECRET_CONTEXT, "secrets_of": _partition(owner)}
