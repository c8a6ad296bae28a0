"""Webhook addresses before they are registered: checked, and asked whether they want webhooks where the deployment says
so.

One that does not pays nothing for it: the dialler is imported when the first address is to be asked.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from a2a_serverless.app.host import everybody_wants
from a2a_serverless.core.registration import Refused
from a2a_serverless.errors import InvalidParams
from a2a_serverless.webhook.url import WebhookUrl, check_url
from functions import wiring

if TYPE_CHECKING:
    from a2a_serverless.webhook.dial import Dialler
    from a2a_serverless.webhook.ownership import Consent

_SECONDS: Final = 5.0
"""For the whole question: a caller waits for the answer."""


def asked_by(how: str) -> Callable[[str], None]:
    """What asks by `token` or by `options`; nobody is asked by anything else."""
    match how:
        case "token":
            return lambda url: _insist(_by_token(checked(url)))
        case "options":
            return lambda url: _insist(_by_options(checked(url)))
        case _:
            return everybody_wants


def _by_token(url: WebhookUrl) -> "Consent":
    from a2a_serverless.webhook.ownership import ask_by_token

    return ask_by_token(_dialler(), url, token=wiring.secret(), user_agent=wiring.USER_AGENT)


def _by_options(url: WebhookUrl) -> "Consent":
    from a2a_serverless.webhook.ownership import ask_by_options

    origin = urlsplit(wiring.settings().public_url).hostname or ""
    return ask_by_options(_dialler(), url, origin=origin, user_agent=wiring.USER_AGENT)


def _insist(consent: "Consent") -> None:
    from a2a_serverless.webhook.ownership import Declined

    if isinstance(consent, Declined):
        raise InvalidParams.of("url", consent.wanted)


def checked(text: str) -> WebhookUrl:
    """The address, by the registration grammar.

    Raises:
        InvalidParams: it is none that may be registered.
    """
    url = check_url(text, wiring.webhook_policy())
    if isinstance(url, Refused):
        raise InvalidParams.of(url.field, url.wanted)
    return url


@cache
def _dialler() -> "Dialler":
    from a2a_serverless.webhook.dial import Dialler, trust
    from a2a_serverless.webhook.exchange import Limits

    return Dialler(trust(), policy=wiring.webhook_policy(), limits=Limits(connect=3.0, total=_SECONDS))
