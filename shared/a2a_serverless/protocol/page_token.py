"""Page tokens of ListTasks: where a page ended, and for which list. Opaque to callers, and theirs to lose.

A token holds a position within the caller's own tasks, so a forged one shows nothing that he may not see. What it is
bound to (owner and filters) is there to tell him of a mistake instead of answering with a wrong page.
"""

import base64
import binascii
import hashlib
import json
from datetime import UTC, datetime
from typing import Final

from a2a_serverless.app.ports import Position
from a2a_serverless.errors import InvalidParams
from a2a_serverless.protocol.task_requests import ListTasksRequest
from a2a_serverless.protocol.use_cases import TASK_ID
from a2a_serverless.types import Scope

_FORMAT: Final = 1
_LONGEST: Final = 512
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS: Final = 1_000_000


def encode(position: Position, *, scope: Scope, request: ListTasksRequest) -> str:
    """The token of a page that ended at `position`."""
    since = position.status_time - _EPOCH
    ticks = (since.days * 86400 + since.seconds) * _MICROSECONDS + since.microseconds
    content = [_FORMAT, ticks, position.task_id, position.total, _list_digest(scope, request)]
    return base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).rstrip(b"=").decode()


def decode(token: str, *, scope: Scope, request: ListTasksRequest) -> Position:
    """Where to go on.

    Raises:
        InvalidParams: it is no token of ours, or of another owner, agent or filter.
    """
    position = _read(token, _list_digest(scope, request))
    if position is None:
        raise InvalidParams.of(
            "pageToken", "must be the nextPageToken of this very list, with the same filters; leave it out to begin"
        )
    return position


def _read(token: str, digest: str) -> Position | None:
    if len(token) > _LONGEST:
        return None
    try:
        content = json.loads(base64.b64decode(token.encode() + b"=" * (-len(token) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return None
    match content:
        case [int(version), int(ticks), str(task_id), int(total), str(of)] if (
            version == _FORMAT and of == digest and TASK_ID.fullmatch(task_id) and 0 <= total < 2**53
        ):
            moment = _moment(ticks)
            return None if moment is None else Position(moment, task_id, total)
    return None


def _moment(ticks: int) -> datetime | None:
    seconds, microseconds = divmod(ticks, _MICROSECONDS)
    try:
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=microseconds)
    except (ValueError, OverflowError, OSError):
        return None


def _list_digest(scope: Scope, request: ListTasksRequest) -> str:
    """What must not change from page to page: whose tasks of which agent, and the filters."""
    since = request.status_timestamp_after
    filters = [request.context_id, request.status or "", since.isoformat() if since else ""]
    told = json.dumps([scope.agent, scope.owner.tenant, scope.owner.subject, *filters])
    return hashlib.sha256(told.encode()).hexdigest()[:16]
