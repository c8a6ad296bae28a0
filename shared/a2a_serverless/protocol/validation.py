"""From plain JSON to a request of the right type, or to an error that says which member was wrong and what is right."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from a2a_serverless.errors import FieldViolation, InvalidParams

_MOST_VIOLATIONS: Final = 10

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], wire: Mapping[str, Any]) -> Model:
    """The request that `wire` spells.

    Raises:
        InvalidParams: each wrong member, by its name on the wire.
    """
    try:
        return model.model_validate(wire)
    except ValidationError as error:
        raise invalid(error) from error


def invalid(error: ValidationError) -> InvalidParams:
    """The error that a caller gets: each wrong member, by its name on the wire."""
    found = _apart(error.errors(include_url=False, include_input=False))[:_MOST_VIOLATIONS]
    violations = [FieldViolation(_name(detail["loc"]), _right(detail)) for detail in found]
    told = [f"{wrong.field}: {wrong.description}" if wrong.field else wrong.description for wrong in violations]
    return InvalidParams("; ".join(told), *violations)


def _apart(found: list[ErrorDetails]) -> list[ErrorDetails]:
    """The errors without those that only follow: an array whose elements are wrong is not too short as well."""
    broken = {detail["loc"][:end] for detail in found for end in range(len(detail["loc"]))}
    return [detail for detail in found if detail["type"] != "too_short" or detail["loc"] not in broken]


def _name(location: Sequence[str | int]) -> str:
    """`message.parts[0].mediaType`, whichever spelling the caller used."""
    name = ""
    for step in location:
        if isinstance(step, int):
            name += f"[{step}]"
        else:
            spelt = to_camel(step) if "_" in step else step
            name += f".{spelt}" if name else spelt
    return name


_SENTENCES: Final = {
    "missing": "must be given",
    "string_type": "must be a string",
    "string_too_short": "must not be empty",
    "int_type": "must be an integer",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "tuple_type": "must be an array",
    "list_type": "must be an array",
}


def _right(detail: ErrorDetails) -> str:
    """What would have been right, in a few words."""
    kind, context = detail["type"], detail.get("ctx", {})
    match kind:
        case "too_short":
            return f"must have at least {context['min_length']} element"
        case "too_long":
            return f"must have at most {context['max_length']} elements"
        case "string_too_long":
            return f"must have at most {context['max_length']} characters"
        case "greater_than_equal":
            return f"must be {context['ge']} or more"
        case "less_than_equal":
            return f"must be {context['le']} or less"
        case "enum" | "literal_error":
            return f"must be {context['expected']}"
        case "value_error":
            return str(context["error"])
        case _:
            return _SENTENCES.get(kind, "is not what it must be")
