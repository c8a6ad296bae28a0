"""Cards as they are served: signed, verifiable with the published key, and the same from every instance."""

from typing import Any

import httpx
import jwt
import pytest
from a2a.types import AgentCard as SdkCard
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from google.protobuf.json_format import ParseDict

from a2a_serverless.local.stack import LocalStack

PATHS = ["/.well-known/agent-card.json", "/agents/freight/.well-known/agent-card.json"]


def verify(card: dict[str, Any], keys: dict[str, Any]) -> None:
    published = {key["kid"]: jwt.PyJWK(key) for key in keys["keys"]}

    def key_of(kid: str | None, _jku: str | None) -> Any:
        return published[str(kid)].key

    create_signature_verifier(key_of, ["ES256"])(ParseDict(card, SdkCard(), ignore_unknown_fields=True))


@pytest.mark.parametrize("path", PATHS)
def test_the_official_sdk_verifies_a_served_card_and_refuses_a_changed_one(
    freight_stack: LocalStack, path: str
) -> None:
    answer = httpx.get(freight_stack.url + path)
    keys = httpx.get(f"{freight_stack.url}/.well-known/agent-card-jwks.json").json()

    card = answer.json()
    verify(card, keys)
    assert httpx.get(freight_stack.url + path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    with pytest.raises(InvalidSignaturesError):
        verify({**card, "description": "Quotes anything for free."}, keys)


def test_the_key_of_cards_is_not_among_those_of_webhooks(freight_stack: LocalStack) -> None:
    cards = httpx.get(f"{freight_stack.url}/.well-known/agent-card-jwks.json").json()
    webhooks = httpx.get(f"{freight_stack.url}/.well-known/jwks.json").json()

    assert not {key["kid"] for key in cards["keys"]} & {key["kid"] for key in webhooks["keys"]}
