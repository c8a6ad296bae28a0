"""Agent cards: what is served where, to whom, and how it may be kept (SPEC 8)."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # it has none
import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.compat.v0_3 import types as legacy
from a2a.types import AgentCard as SdkCard
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped] # it has none
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from a2a_serverless import Agent, AgentCard, AgentExtension, AgentSkill
from a2a_serverless.protocol.authentication import Identity, Security
from a2a_serverless.protocol.cards import Document
from a2a_serverless.protocol.faults import Refusal
from a2a_serverless.protocol.http import Request
from a2a_serverless.types import AgentCapabilities
from tests.fakes import START

from .door import PUBLIC_URL, Door, WithExtended, json_of

SCHEMAS = json.loads((Path(__file__).parents[2] / "data" / "a2a" / "a2a-v1.0.1.schema.json").read_text())


def fits_schema(name: str, value: object) -> None:
    """Names and types only: the published schema requires nothing, but refuses what it does not know."""
    definitions = SCHEMAS["definitions"]
    files = {f"lf.a2a.v1.{title.replace(' ', '')}.jsonschema.json": schema for title, schema in definitions.items()}
    files |= {
        f"google.protobuf.{title}.jsonschema.json": definitions[title] for title in ("Struct", "Timestamp", "Value")
    }
    resources = [(uri, DRAFT202012.create_resource(schema)) for uri, schema in files.items()]
    registry: Registry[Any] = Registry().with_resources(resources)
    jsonschema.Draft202012Validator(definitions[name], registry=registry).validate(value)


class Bearer:
    """Asks for a token, and takes any."""

    def authenticate(self, request: Request) -> Identity | Refusal:
        return Identity(subject="alice")

    def security(self) -> Security:
        scheme = {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}
        return Security({"bearer": scheme}, ({"schemes": {"bearer": {"list": ["a2a"]}}},))


def card(door: Door, path: str = "/.well-known/agent-card.json") -> Any:
    return json_of(door.request("GET", path))


def test_under_an_agents_address_the_card_is_pure_one_zero() -> None:
    found = card(Door(authenticator=Bearer()), "/agents/tester/.well-known/agent-card.json")

    fits_schema("Agent Card", found)
    ParseDict(found, SdkCard())
    assert found["supportedInterfaces"] == [
        {"url": f"{PUBLIC_URL}/agents/tester", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": f"{PUBLIC_URL}/agents/tester", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    ]
    assert found["capabilities"] | {"extensions": []} == {
        "streaming": True,
        "pushNotifications": True,
        "extendedAgentCard": False,
        "extensions": [],
    }


def test_at_the_root_clients_of_both_versions_read_it() -> None:
    found = card(Door(authenticator=Bearer()))

    old: Any = legacy.AgentCard.model_validate(found)
    new = parse_agent_card(found)
    assert {(entry.protocol_binding, entry.protocol_version) for entry in new.supported_interfaces} == {
        ("JSONRPC", "1.0"),
        ("HTTP+JSON", "1.0"),
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "0.3"),
    }
    assert (old.url, old.preferred_transport, old.protocol_version) == (PUBLIC_URL, "JSONRPC", "0.3")
    assert [entry.transport for entry in old.additional_interfaces] == ["HTTP+JSON"]
    assert old.security == [{"bearer": ["a2a"]}]
    assert old.security_schemes["bearer"].root.scheme == "Bearer"
    assert new.security_schemes["bearer"].http_auth_security_scheme.bearer_format == "JWT"


@pytest.mark.parametrize(
    ("wrapped", "flat"),
    [
        (
            {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}},
            {"type": "apiKey", "in": "header", "name": "x-key"},
        ),
        ({"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://i"}}, {"type": "openIdConnect"}),
        ({"mtlsSecurityScheme": {"description": "a certificate"}}, {"type": "mutualTLS"}),
        ({"oauth2SecurityScheme": {"flows": {}}}, {"type": "oauth2", "flows": {}}),
    ],
)
def test_a_scheme_reads_as_both_versions_write_it(wrapped: dict[str, Any], flat: dict[str, Any]) -> None:
    class Other(Bearer):
        def security(self) -> Security:
            return Security({"s": wrapped}, ({"schemes": {"s": {}}},))

    scheme = card(Door(authenticator=Other()))["securitySchemes"]["s"]

    assert wrapped.items() <= scheme.items()
    assert flat.items() <= scheme.items()


@pytest.mark.parametrize(
    "path", ["/", "", "/.well-known/agent-card.json", "/.well-known/agent.json", "/.well-known/agent-card.json/"]
)
def test_the_root_card_is_at_each_of_its_addresses(path: str) -> None:
    door = Door()

    assert card(door, path) == card(door)


@pytest.mark.parametrize("path", ["/agents/other", "/agents/other/", "/agents/other/.well-known/agent.json"])
def test_each_agent_has_its_card_at_its_address(path: str) -> None:
    assert card(Door(), path)["supportedInterfaces"][0]["url"] == f"{PUBLIC_URL}/agents/other"


def test_the_address_comes_from_configuration_and_never_from_the_request() -> None:
    door = Door()

    response = door.request("GET", "/", host="evil.example", x_forwarded_host="evil.example")

    assert "evil" not in response.body


def test_a_prefix_of_a_custom_domain_is_part_of_the_address() -> None:
    door = Door(public_url="https://api.example/a2a", agent_url="/a2a")

    assert card(door)["url"] == "https://api.example/a2a"
    assert door.result("ListTasks", {})["totalSize"] == 0


def test_what_is_required_is_there_even_when_it_is_empty() -> None:
    class Bare(Agent):
        card = AgentCard(name="n", description="d", version="1", skills=(), default_output_modes=())

    found = card(Door(Bare()), "/agents/tester")

    required = {"name", "description", "version", "capabilities", "skills", "supportedInterfaces"}
    assert required | {"defaultInputModes", "defaultOutputModes"} <= set(found)
    assert found["defaultInputModes"] == ["text/plain"]
    assert found["defaultOutputModes"] == []


def test_a_card_may_be_kept_and_asked_for_again() -> None:
    door = Door()
    first = door.request("GET", "/.well-known/agent-card.json")
    etag = first.headers["etag"]

    again = door.request("GET", "/.well-known/agent-card.json", if_none_match=f'"x", W/{etag}')

    assert first.headers["cache-control"] == "public, max-age=300"
    assert etag.startswith('"')
    assert first.headers["last-modified"] == "Mon, 30 Nov 2026 12:00:00 GMT"
    assert (again.status, again.body, again.headers["etag"]) == (304, "", etag)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"if_none_match": "*"}, 304),
        ({"if_none_match": '"other"'}, 200),
        ({"if_modified_since": "Mon, 30 Nov 2026 12:00:00 GMT"}, 304),
        ({"if_modified_since": "Mon, 30 Nov 2026 11:59:59 GMT"}, 200),
        ({"if_modified_since": "yesterday"}, 200),
        ({"if_modified_since": "Mon, 30 Nov 2026 12:00:00"}, 200),
        ({"if_none_match": '"other"', "if_modified_since": "Mon, 30 Nov 2026 12:00:00 GMT"}, 200),
    ],
)
def test_conditions_are_those_of_http(headers: dict[str, Any], status: int) -> None:
    assert Door().request("GET", "/.well-known/agent-card.json", **headers).status == status


def test_the_validator_changes_with_the_card() -> None:
    one, two = Door(), Door(WithExtended())

    assert one.request("GET", "/").headers["etag"] != two.request("GET", "/").headers["etag"]
    assert one.request("GET", "/").headers["etag"] == Door().request("GET", "/").headers["etag"]


def test_head_tells_what_get_would() -> None:
    door = Door()

    head, get = door.request("HEAD", "/"), door.request("GET", "/")

    assert head.headers == get.headers
    assert head.body == ""


def test_a_card_takes_no_other_verb() -> None:
    response = Door().request("POST", "/.well-known/agent-card.json", b"{}")

    assert response.status == 405
    assert response.headers["allow"] == "GET, HEAD"


def test_keys_of_webhooks_are_published() -> None:
    response = Door().request("GET", "/.well-known/jwks.json")

    assert json_of(response) == {"keys": []}
    assert response.headers["cache-control"] == "public, max-age=300"


def test_nothing_else_is_well_known() -> None:
    assert Door().request("GET", "/.well-known/openid-configuration").status == 404
    assert Door().request("GET", "/.well-known/agent-card-jwks.json").status == 404


def test_a_deployment_without_webhooks_does_not_promise_them() -> None:
    capabilities = card(Door(push_supported=False))["capabilities"]

    assert capabilities["pushNotifications"] is False
    assert not any("push" in extension["uri"] for extension in capabilities["extensions"])


def test_webhook_receivers_find_in_the_card_how_they_are_signed() -> None:
    extensions = {extension["uri"]: extension for extension in card(Door())["capabilities"]["extensions"]}

    assert extensions["https://a2a-serverless.dev/ext/push-nudge/v1"]["params"] == {
        "issuer": PUBLIC_URL,
        "jwksUri": f"{PUBLIC_URL}/.well-known/jwks.json",
        "algs": ["ES256"],
        "header": "A2A-Push-Signature",
    }


def test_the_extended_card_comes_in_the_shape_of_the_version() -> None:
    door = Door(WithExtended())

    pure, hybrid = door.result("GetExtendedAgentCard"), door.legacy("agent/getAuthenticatedExtendedCard")

    fits_schema("Agent Card", pure)
    assert "url" not in pure
    assert hybrid["url"] == PUBLIC_URL
    assert card(door)["supportsAuthenticatedExtendedCard"] is True
    assert card(door)["capabilities"]["extendedAgentCard"] is True


def test_the_security_of_a_skill_is_told_to_both_versions() -> None:
    class Guarded(Agent):
        card = AgentCard(
            name="n",
            description="d",
            version="1",
            skills=(
                AgentSkill(
                    id="s",
                    name="s",
                    description="s",
                    tags=("t",),
                    security_requirements=({"schemes": {"bearer": {"list": ["pay"]}}},),
                ),
            ),
            capabilities=AgentCapabilities(extensions=(AgentExtension(uri="urn:x", required=True),)),
        )

    found = card(Door(Guarded(), authenticator=Bearer()))

    assert found["skills"][0]["security"] == [{"bearer": ["pay"]}]
    assert found["capabilities"]["extensions"][0] == {"uri": "urn:x", "required": True}


def test_a_moment_within_a_second_counts_as_that_second() -> None:
    since = START.replace(microsecond=600_000)
    request = Request("GET", "/", headers={"if-modified-since": "Mon, 30 Nov 2026 12:00:00 GMT"})

    assert Document.of({}, since=since).response(request).status == 304


def test_the_scopes_of_a_skill_are_told_in_terms_of_the_deployments_scheme() -> None:
    class Books(Agent):
        card = AgentCard(
            name="Books",
            description="Books.",
            version="1.0.0",
            skills=(AgentSkill(id="b", name="B", description="Books.", tags=("t",), required_scopes=("pay", "book")),),
        )

    (skill,) = card(Door(Books(), authenticator=Bearer()))["skills"]

    assert skill["securityRequirements"] == [{"schemes": {"bearer": {"list": ["book", "pay"]}}}]
    assert skill["security"] == [{"bearer": ["book", "pay"]}]
    assert "requiredScopes" not in skill


@pytest.mark.parametrize("path", ["/", "/agents/tester"])
def test_a_scheme_without_scopes_is_told_with_an_empty_list_of_them(path: str) -> None:
    class Unscoped(Bearer):
        def security(self) -> Security:
            return Security(super().security().schemes, ({"schemes": {"bearer": {}}},))

    class Books(Agent):
        card = AgentCard(
            name="Books",
            description="Books.",
            version="1.0.0",
            skills=(
                AgentSkill(
                    id="b",
                    name="B",
                    description="Books.",
                    tags=("t",),
                    security_requirements=({"schemes": {"bearer": {}, "other": {"list": ["x"]}}},),
                ),
            ),
        )

    shown = card(Door(Books(), authenticator=Unscoped()), path)

    assert shown["securityRequirements"] == [{"schemes": {"bearer": {"list": []}}}]
    assert shown["skills"][0]["securityRequirements"] == [
        {"schemes": {"bearer": {"list": []}, "other": {"list": ["x"]}}}
    ]


def test_a_client_whose_base_address_lacks_the_slash_is_told_so() -> None:
    """It resolves `.well-known/agent-card.json` against `/agents/tester`, which is not below it (RFC 3986 5.2.3)."""
    door = Door()

    lost = door.request("GET", "/agents/.well-known/agent-card.json")
    found = door.request("GET", "/agents/tester/.well-known/agent-card.json")

    assert (lost.status, found.status) == (404, 200)
    assert "with a slash at the end: /agents/NAME/" in json_of(lost)["error"]["message"]
