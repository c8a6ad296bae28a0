"""`webhook-secret`: a Standard Webhooks secret for a partner whose library knows no other proof."""

import argparse
import base64
import secrets
from typing import Final

from a2a_serverless.aws.webhook_secrets import GOOD_AFTER_THE_NEXT
from a2a_serverless.cli import deployment, printed
from a2a_serverless.cli.deployment import in_words
from a2a_serverless.types import Owner

_BYTES: Final = 32
"""Standard Webhooks 1.0.0 asks for 24 to 64."""


def issue_or_revoke(told: argparse.Namespace) -> int:
    """`webhook-secret --subject S [--tenant T] [--revoke]`: the secret is shown this once."""
    place = deployment.chosen(stack=told.stack, endpoint=told.endpoint, say=printed.say)
    owner = Owner(told.subject, told.tenant)
    with in_words(place.stack):
        if told.revoke:
            return _revoked(place.webhook_secrets.revoke(owner), as_json=told.json)
        secret = f"whsec_{base64.b64encode(secrets.token_bytes(_BYTES)).decode()}"
        place.webhook_secrets.issue(owner, secret, now=deployment.now())
    if told.json:
        printed.show_json({"subject": owner.subject, "tenant": owner.tenant, "secret": secret})
    else:
        hours = int(GOOD_AFTER_THE_NEXT.total_seconds()) // 3600
        printed.say(f"signs within ten minutes; those issued before it go on for {hours} hours; it is not shown again")
        printed.show([secret])
    return 0


def _revoked(count: int, *, as_json: bool) -> int:
    if as_json:
        printed.show_json({"revoked": count})
    else:
        printed.show([f"{count} revoked: nothing is signed with them any more, at the latest in ten minutes"])
    return 0
