"""A synthesized template as tests read it: names without the CDK's hashes, references as the names they mean."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Json = Any
_HASH = re.compile(r"[0-9A-F]{8}$")


@dataclass(frozen=True)
class Template:
    """One stack's template and where it was written."""

    out: Path
    body: Mapping[str, Json]

    @classmethod
    def of(cls, out: Path) -> "Template":
        """Read the one template of an assembly."""
        return cls(out, json.loads((out / "A2aServerless.template.json").read_text()))

    @property
    def file(self) -> Path:
        """The template's own file."""
        return self.out / "A2aServerless.template.json"

    @cached_property
    def resources(self) -> Mapping[str, Json]:
        """All resources by name."""
        return {named(key): resource for key, resource in self.body["Resources"].items()}

    def of_type(self, kind: str) -> Mapping[str, Json]:
        """The properties of all resources of a type, by name, with references resolved to names."""
        return {
            name: said(resource["Properties"]) for name, resource in self.resources.items() if resource["Type"] == kind
        }

    def statements(self) -> Iterator[tuple[str, Json]]:
        """Every statement of every role's policies, as (role, statement)."""
        for policy in self.of_type("AWS::IAM::Policy").values():
            for role in policy["Roles"]:
                for statement in policy["PolicyDocument"]["Statement"]:
                    yield role, statement


def named(logical_id: str) -> str:
    """A logical id without the hash that the CDK puts behind it."""
    return _HASH.sub("", logical_id)


def said(value: Json) -> Json:
    """A value with its CloudFormation functions said in words: `Table.Arn`, `Table.Arn/index/due`, `$Agents`."""
    match value:
        case {"Ref": target}:
            return f"${target}" if target in ("Agents", "Issuers", "PublicUrl") else named(target)
        case {"Fn::GetAtt": [target, attribute]}:
            return f"{named(target)}.{attribute}"
        case {"Fn::Join": [glue, parts]}:
            return glue.join(str(said(part)) for part in parts)
        case {"Fn::If": [condition, then, otherwise]}:
            return f"{condition} ? {said(then)} : {said(otherwise)}"
        case dict():
            return {key: said(inner) for key, inner in value.items()}
        case list():
            return [said(inner) for inner in value]
        case _:
            return value
