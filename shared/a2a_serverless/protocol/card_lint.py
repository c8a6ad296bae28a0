"""A linter for agent cards: what a model that reads the card would miss, and what the deployment would not keep.

It judges the card as its author wrote it, before the deployment adds its part. A finding is a sentence that says
where, what, and what would be right.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from a2a_serverless.types import AgentCard, AgentSkill

SHORTEST_DESCRIPTION: Final = 40
"""Characters below which a description hardly says when to call something, and when not."""

_VAGUE: Final = re.compile(
    r"\b(helpful|powerful|intelligent|smart|versatile|general[- ]purpose|does (?:stuff|things)|handles? everything"
    r"|anything|various tasks|any task|ai (?:agent|assistant)|todo|lorem ipsum|placeholder)\b",
    re.IGNORECASE,
)
_NEEDS: Final = re.compile(
    r"\b(needs?|requires?|gives?|provides?|sends?|names?|states?|say|includes?|expects?|takes?|accepts?|inputs?|must"
    r"|from (?:a|an|the|your)|given|with (?:a|an|the|your)|nothing else)\b",
    re.IGNORECASE,
)
_REFUSES: Final = re.compile(
    r"\b(refuses?|rejects?|declines?|not|no|only|never|cannot|can't|won't|without|except|excludes?|unsupported"
    r"|limited to|at most|nothing)\b",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(
    r"\bAKIA[0-9A-Z]{16}\b|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.|\b(?:password|secret|api[_-]?key)\s*[=:]\s*\S+",
    re.IGNORECASE,
)
_INTERNAL: Final = re.compile(
    r"\barn:aws|\b(?:10|127)\.\d{1,3}\.\d{1,3}\.\d{1,3}\b|\b192\.168\.\d{1,3}\.\d{1,3}\b|\blocalhost\b|\.internal\b"
)
_MEDIA_TYPE: Final = re.compile(r"[\w.+*-]+/[\w.+*-]+(;.*)?")
_VERSION: Final = re.compile(r"\d+(\.\d+){0,2}([-+][\w.+-]+)?")
_SKILL_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What the deployment can do, for the capabilities that a card claims."""

    push_notifications: bool = True
    extended_card: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to better. `where` is the member of the card, as it is named on the wire."""

    where: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}"


def lint(card: AgentCard, offered: Offered) -> tuple[Finding, ...]:
    """Everything to better about a card, in the order of its members; empty when it is good."""
    return (
        *_text_findings("description", card.description),
        *_version_findings(card),
        *_mode_findings("defaultInputModes", card.default_input_modes),
        *_mode_findings("defaultOutputModes", card.default_output_modes),
        *_provider_findings(card),
        *_capability_findings(card, offered),
        *_deployment_findings(card),
        *_skill_findings(card),
        *_leak_findings(card),
    )


def _text_findings(where: str, text: str) -> Iterator[Finding]:
    if len(text.strip()) < SHORTEST_DESCRIPTION:
        yield Finding(
            where,
            f"says little in {len(text.strip())} characters; say in a sentence or two when to call it and when not to",
        )
    elif vague := _VAGUE.search(text):
        yield Finding(where, f"{vague.group()!r} tells a model nothing; say what exactly is done, for whom, from what")


def _version_findings(card: AgentCard) -> Iterator[Finding]:
    if not _VERSION.fullmatch(card.version):
        yield Finding("version", f"{card.version!r} is no version; number it like 1.4.0, and raise it with each change")


def _mode_findings(where: str, modes: tuple[str, ...]) -> Iterator[Finding]:
    if not modes:
        yield Finding(where, "is empty; name at least one media type, such as text/plain")
    for mode in modes:
        if not _MEDIA_TYPE.fullmatch(mode):
            yield Finding(where, f"{mode!r} is no media type; write it like text/plain or application/json")


def _provider_findings(card: AgentCard) -> Iterator[Finding]:
    if card.provider is None:
        yield Finding("provider", "is missing; say which organization answers for the agent, and its web address")


def _capability_findings(card: AgentCard, offered: Offered) -> Iterator[Finding]:
    claimed = card.capabilities
    if claimed.push_notifications and not offered.push_notifications:
        yield Finding(
            "capabilities.pushNotifications", "is claimed, but this deployment sends none; leave it to the deployment"
        )
    if claimed.extended_agent_card and not offered.extended_card:
        yield Finding(
            "capabilities.extendedAgentCard",
            "is claimed, but the agent has no `extended_card`; write one or unclaim it",
        )
    for uri, count in Counter(extension.uri for extension in claimed.extensions).items():
        if count > 1:
            yield Finding("capabilities.extensions", f"names {uri} {count} times; name it once")
    for extension in claimed.extensions:
        if extension.required and not extension.description:
            yield Finding(
                "capabilities.extensions",
                f"insists on {extension.uri} without a word; describe what a client must do to be served",
            )


def _deployment_findings(card: AgentCard) -> Iterator[Finding]:
    for where, written in (
        ("supportedInterfaces", card.supported_interfaces),
        ("securitySchemes", card.security_schemes),
        ("securityRequirements", card.security_requirements),
        ("signatures", card.signatures),
    ):
        if written:
            yield Finding(where, "is overwritten by the deployment, which alone knows it; leave it empty")


def _skill_findings(card: AgentCard) -> Iterator[Finding]:
    if not card.skills:
        yield Finding(
            "skills", "is empty; a client finds nothing to call the agent for, so describe at least one skill"
        )
    for skill_id, count in Counter(skill.id for skill in card.skills).items():
        if count > 1:
            yield Finding("skills", f"has {count} skills with the id {skill_id!r}; give each an id of its own")
    for position, skill in enumerate(card.skills):
        yield from _findings_about(skill, f"skills[{position}]")


def _findings_about(skill: AgentSkill, where: str) -> Iterator[Finding]:
    description = f"{where}.description"
    yield from _text_findings(description, skill.description)
    if not _NEEDS.search(skill.description):
        yield Finding(description, "does not say what the skill needs; name what a message must hold, such as a weight")
    if not _REFUSES.search(skill.description):
        yield Finding(description, "does not say what the skill refuses; name what it does not do, such as booking")
    if skill.description.strip().lower() == skill.name.strip().lower():
        yield Finding(description, "repeats the name; say what the skill does, needs and refuses")
    if not _SKILL_ID.fullmatch(skill.id):
        yield Finding(f"{where}.id", f"{skill.id!r} is hard to refer to; use letters, digits, '.', '_' and '-'")
    if not skill.tags:
        yield Finding(f"{where}.tags", "is empty; give words that a client would search for")
    yield from _example_findings(skill, where)
    for name, modes in (("inputModes", skill.input_modes), ("outputModes", skill.output_modes)):
        if modes:
            yield from _mode_findings(f"{where}.{name}", modes)


def _example_findings(skill: AgentSkill, where: str) -> Iterator[Finding]:
    if not skill.examples:
        yield Finding(f"{where}.examples", "is empty; give at least one whole message as a client would send it")
    for position, example in enumerate(skill.examples):
        if len(example.strip()) < 8:
            yield Finding(
                f"{where}.examples[{position}]", f"{example!r} is no message that could be answered; write a whole one"
            )


def _leak_findings(card: AgentCard) -> Iterator[Finding]:
    """The card is public (SPEC 14.3)."""
    text = card.to_json()
    if secret := _SECRET.search(text):
        yield Finding(
            "card", f"holds what looks like a credential ({secret.group()[:8]}…); the card is public: remove it"
        )
    if internal := _INTERNAL.search(text):
        yield Finding("card", f"names something internal ({internal.group()}); the card is public: remove it")
