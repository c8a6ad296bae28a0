"""What of an exchange may be written down: neither secrets nor proofs, not even where the partner echoes them."""

import json
from collections.abc import Iterable
from typing import Final

from a2a_serverless.app.attempt import ANSWER_BYTES, Seen
from a2a_serverless.core.masking import HIDDEN, without_query
from a2a_serverless.core.push import PushSecrets
from a2a_serverless.webhook.exchange import Exchange, Request

SENT: Final = frozenset({"content-type", "user-agent", "a2a-version", "webhook-id", "webhook-timestamp"})
ANSWERED: Final = frozenset(
    {"content-type", "content-length", "date", "location", "retry-after", "server", "webhook-delivery"}
)
"""Headers that say what happened. All others are left out: a name that is not known may carry anything."""

LONGEST_HEADER: Final = 500
_SHORTEST_SECRET: Final = 4


def seen(request: Request, exchange: Exchange, secrets: PushSecrets) -> Seen:
    """Both sides of a request, for the record of exchanges."""
    words = _words(request, secrets)
    answered = {name: _hidden(value, words)[:LONGEST_HEADER] for name, value in exchange.headers.items()}
    # Hidden before it is cut, so that no half of a secret stands at the end.
    body = _hidden(exchange.body.decode("utf-8", "replace"), words)
    return Seen(
        url=without_query(request.url.text),
        headers={name: value for name, value in request.headers if name.lower() in SENT},
        body=request.body.decode("utf-8", "replace"),
        answer_headers={name: value for name, value in answered.items() if name in ANSWERED},
        answer_body=body.encode()[:ANSWER_BYTES].decode("utf-8", "ignore"),
    )


def _words(request: Request, secrets: PushSecrets) -> tuple[str, ...]:
    """Everything that this request carried and nobody else should have, the longest first."""
    carried = [value for name, value in request.headers if name.lower() not in SENT | {"content-digest"}]
    words = {secrets.token, secrets.credentials, *carried, *(value.partition(" ")[2] for value in carried)}
    words |= {json.dumps(word)[1:-1] for word in words}
    return tuple(sorted((word for word in words if len(word) >= _SHORTEST_SECRET), key=len, reverse=True))


def _hidden(text: str, words: Iterable[str]) -> str:
    for word in words:
        text = text.replace(word, HIDDEN)
    return text
