"""What every A2A object has in common: frozen, camelCase on the wire, unknown members ignored (SPEC 5.5, 5.7)."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer, model_validator
from pydantic.alias_generators import to_camel

JsonObject = dict[str, Any]
"""A JSON object as it travels; only the wire, the store and free-form metadata use it."""


def timestamp_text(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and `Z`, the only form that may be emitted (SPEC 5.6.1)."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _aware(moment: datetime) -> datetime:
    """Old clients leave the zone out and mean UTC."""
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must be a time between the years 1 and 9999 in UTC") from error


Timestamp = Annotated[datetime, AfterValidator(_aware), PlainSerializer(timestamp_text, return_type=str)]


class A2AModel(BaseModel):
    """An object of the A2A data model: read from camelCase or snake_case, written in camelCase without defaults."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="ignore",
        defer_build=True,  # a validator is built when it is first used: most requests use a few
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, value: object) -> object:
        """ProtoJSON: a member that is null is a member that is not there."""
        if isinstance(value, dict) and None in value.values():
            return {name: member for name, member in value.items() if member is not None}
        return value

    @classmethod
    def unset(cls) -> Self:
        """The object with every member at its default, for a default of others: it builds no validator, which a cold
        start would pay for."""
        return cls.model_construct()  # type: ignore[return-value] # the plugin knows it as a method of this class alone

    def to_wire(self) -> JsonObject:
        """The object as JSON-ready data, members at their default left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def to_json(self) -> str:
        """The object as compact JSON text, members at their default left out."""
        # What `model_dump_json` does, without its forty arguments: a page of tasks asks for this a hundred times.
        return self.__pydantic_serializer__.to_json(self, by_alias=True, exclude_defaults=True).decode()

    def but(self, **changes: Any) -> Self:
        """A copy with some members replaced; the new values are taken as they are."""
        return self.model_copy(update=changes)
