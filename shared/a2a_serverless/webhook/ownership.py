"""Asking an address whether it wants webhooks, before the first one is sent to it. Optional, over the same dialler.

Without it anybody can point nudges at somebody else's server; with it that server must have agreed.
"""

import hmac
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from a2a_serverless.core.delivery_outcome import Answer, NoAnswer
from a2a_serverless.webhook.dial import Dialler
from a2a_serverless.webhook.exchange import Exchange, Request
from a2a_serverless.webhook.url import WebhookUrl, replace_target

COMPARED: Final = 128
"""Bytes of an answer that are looked at."""


@dataclass(frozen=True, slots=True)
class Consented:
    """The address takes our webhooks. How many a minute is for its answers to say, by 429 and Retry-After."""


@dataclass(frozen=True, slots=True)
class Declined:
    """It does not, or did not say so in a way we know. `wanted` is for the developer at the other end."""

    wanted: str


Consent = Consented | Declined


def ask_by_token(dialler: Dialler, url: WebhookUrl, *, token: str, user_agent: str) -> Consent:
    """GET the URL with `validationToken`; the answer must be 200 with the token as its whole body.

    Args:
        dialler: sends it.
        url: the checked URL of the config.
        token: fresh and unguessable, used once, good for ten minutes at most.
        user_agent: as on every nudge.
    """
    joint = "&" if "?" in url.target else "?"
    asked = replace_target(url, f"{url.target}{joint}validationToken={quote(token, safe='')}")
    exchange = dialler.send(Request(method="GET", url=asked, headers=(("User-Agent", user_agent),)))
    match exchange.outcome:
        case Answer(status=200) if _repeats(exchange.body, token):
            return Consented()
        case Answer(status=status):
            return Declined(f"must answer GET with validationToken by 200 and the token as text; answered {status}")
        case NoAnswer(fault=fault):
            return Declined(f"must answer GET with validationToken; there was no answer ({fault.value})")


def _repeats(body: bytes, token: str) -> bool:
    return len(body) <= COMPARED and hmac.compare_digest(body.strip(), token.encode())


def ask_by_options(dialler: Dialler, url: WebhookUrl, *, origin: str, user_agent: str) -> Consent:
    """The OPTIONS handshake of CloudEvents webhooks 1.0: `WebHook-Allowed-Origin` must name us or everybody.

    Args:
        dialler: sends it.
        url: the checked URL of the config.
        origin: the host name of this deployment.
        user_agent: as on every nudge.
    """
    headers = (("User-Agent", user_agent), ("WebHook-Request-Origin", origin))
    exchange = dialler.send(Request(method="OPTIONS", url=url, headers=headers))
    match exchange.outcome:
        case Answer(status=status) if 200 <= status <= 299 and _allows(exchange, origin):
            return Consented()
        case Answer(status=status):
            return Declined(f"must answer OPTIONS with WebHook-Allowed-Origin: {origin}; answered {status} without it")
        case NoAnswer(fault=fault):
            return Declined(f"must answer OPTIONS; there was no answer ({fault.value})")


def _allows(exchange: Exchange, origin: str) -> bool:
    return exchange.headers.get("webhook-allowed-origin", "").lower() in {"*", origin.lower()}
