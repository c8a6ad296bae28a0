"""The card linter: what a model would miss, in sentences a host can act on."""

from typing import Any

import pytest

from a2a_serverless import AgentCard, AgentExtension, AgentProvider, AgentSkill
from a2a_serverless.protocol.card_lint import Finding, Offered, lint
from a2a_serverless.types import AgentCapabilities, AgentInterface
from functions.agents.freight import agent as freight

SKILL = AgentSkill(
    id="quote",
    name="Quote a shipment",
    description="Give the goods, where from, where to and the weight. Refuses dangerous goods and books nothing.",
    tags=("freight",),
    examples=("Quote 3 pallets, Pune to Rotterdam, 400 kg",),
)
CARD = AgentCard(
    name="Freight quotes",
    description="Quotes the price of palletised freight between two places; it books nothing.",
    version="1.0.0",
    provider=AgentProvider(organization="Example Freight", url="https://freight.example"),
    skills=(SKILL,),
)


INTERFACE = AgentInterface(url="u", protocol_binding="b", protocol_version="1")
INSISTED = AgentExtension(uri="urn:x", required=True)


def found(card: AgentCard = CARD, offered: Offered | None = None) -> tuple[Finding, ...]:
    return lint(card, offered or Offered())


def where(**members: Any) -> set[str]:
    return {finding.where for finding in found(CARD.but(**members))}


def about_skill(**members: Any) -> set[str]:
    return {finding.where for finding in found(CARD.but(skills=(SKILL.but(**members),)))}


def test_a_good_card_has_nothing_to_better() -> None:
    assert found() == ()
    assert lint(freight.card, Offered()) == ()


def test_a_finding_says_where_and_what_would_be_right() -> None:
    finding = found(CARD.but(version="latest"))[0]

    assert str(finding) == "version: 'latest' is no version; number it like 1.4.0, and raise it with each change"


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"description": "Freight."}, "description"),
        ({"description": "A helpful AI assistant that answers all the questions you may have."}, "description"),
        ({"version": "one"}, "version"),
        ({"provider": None}, "provider"),
        ({"default_input_modes": ()}, "defaultInputModes"),
        ({"default_output_modes": ("text",)}, "defaultOutputModes"),
        ({"skills": ()}, "skills"),
        ({"skills": (SKILL, SKILL)}, "skills"),
        (
            {"supported_interfaces": (AgentInterface(url="u", protocol_binding="b", protocol_version="1"),)},
            "supportedInterfaces",
        ),
        ({"security_schemes": {"x": {}}}, "securitySchemes"),
        ({"description": CARD.description + " Use password=hunter2 to enter."}, "card"),
        ({"documentation_url": "http://10.0.0.7/docs"}, "card"),
        (
            {"capabilities": AgentCapabilities(extensions=(AgentExtension(uri="urn:x", required=True),))},
            "capabilities.extensions",
        ),
        ({"capabilities": AgentCapabilities(extended_agent_card=True)}, "capabilities.extendedAgentCard"),
    ],
)
def test_a_weakness_of_the_card_is_found(members: dict[str, Any], place: str) -> None:
    assert where(**members) == {place}


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"description": "Quotes."}, "skills[0].description"),
        ({"description": "Quotes the price of palletised freight, and refuses live animals."}, "skills[0].description"),
        (
            {"description": "Give the weight of the goods in kg to get the price."},
            "skills[0].description",
        ),
        ({"description": "Give anything: it handles everything you ask for, without limits."}, "skills[0].description"),
        ({"examples": ()}, "skills[0].examples"),
        ({"examples": ("hi",)}, "skills[0].examples[0]"),
        ({"tags": ()}, "skills[0].tags"),
        ({"id": "quote it!"}, "skills[0].id"),
        ({"input_modes": ("json",)}, "skills[0].inputModes"),
    ],
)
def test_a_weakness_of_a_skill_is_found(members: dict[str, Any], place: str) -> None:
    assert about_skill(**members) == {place}


def test_a_claim_that_the_deployment_does_not_keep_is_found() -> None:
    card = CARD.but(capabilities=AgentCapabilities(push_notifications=True, extended_agent_card=True))

    assert found(card, Offered(push_notifications=True, extended_card=True)) == ()
    assert [finding.where for finding in found(card, Offered(push_notifications=False, extended_card=False))] == [
        "capabilities.pushNotifications",
        "capabilities.extendedAgentCard",
    ]
