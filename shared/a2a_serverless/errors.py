"""Every error that may leave in a response, in one table, and the few that must not.

Grouped by who must act. An `A2AError` is the caller's fault (or a plain refusal) and travels; a `Conflict` is a lost
race and is decided again; everything else is ours, is logged where it happens, and leaves as an internal error.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One row of SPEC 5.4: the codes of an error in each binding.

    `reason` is the ErrorInfo reason, `http_status` and `rpc_status` (google.rpc.Code) those of v1.0.1,
    `v03_name` the class name under which clients of the 0.3 line know it.
    """

    code: int
    http_status: int
    rpc_status: str
    reason: str
    v03_name: str


class A2AError(Exception):
    """An error a caller gets to see. The message is for a developer at the other end: nothing internal in it."""

    kind: ClassVar[ErrorKind]

    def __init__(self, message: str, **metadata: str) -> None:
        super().__init__(message)
        self.message = message
        self.metadata = metadata
        """Goes into ErrorInfo.metadata, so string to string."""


class ParseError(A2AError):
    """The body is no JSON."""

    kind = ErrorKind(-32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR", "JSONParseError")


class InvalidRequest(A2AError):
    """The body is JSON but no request."""

    kind = ErrorKind(-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", "InvalidRequestError")


class MethodNotFound(A2AError):
    """There is no such operation."""

    kind = ErrorKind(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND", "MethodNotFoundError")


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """Which member was wrong and what would be right (google.rpc.BadRequest)."""

    field: str
    description: str


class InvalidParams(A2AError):
    """A member of the request is missing or wrong."""

    kind = ErrorKind(-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "InvalidParamsError")

    def __init__(self, message: str, *violations: FieldViolation) -> None:
        super().__init__(message)
        self.violations = violations

    @classmethod
    def of(cls, field: str, description: str) -> "InvalidParams":
        """One wrong member."""
        return cls(f"{field}: {description}", FieldViolation(field, description))


class InternalError(A2AError):
    """Ours. Says nothing more than 0.3 has for it (SPEC03 8.1)."""

    kind = ErrorKind(-32603, 500, "INTERNAL", "INTERNAL_ERROR", "InternalError")

    def __init__(self, message: str = "Internal error") -> None:
        super().__init__(message)


class TaskNotFound(A2AError):
    """No such task for this caller; whether another has it is nobody's business (SPEC 13.1).

    Said in the very words of 0.3 (SPEC03 8.2): there are clients that read no others.
    """

    kind = ErrorKind(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", "TaskNotFoundError")

    def __init__(self, message: str = "Task not found") -> None:
        super().__init__(message)


class TaskNotCancelable(A2AError):
    """The task has ended."""

    kind = ErrorKind(-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "TaskNotCancelableError")


class PushNotificationNotSupported(A2AError):
    """This deployment sends no webhooks."""

    kind = ErrorKind(
        -32003,
        400,
        "FAILED_PRECONDITION",
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
        "PushNotificationNotSupportedError",
    )


class UnsupportedOperation(A2AError):
    """The task is in a state, or the agent of a kind, that this cannot be done with."""

    kind = ErrorKind(-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", "UnsupportedOperationError")


class ContentTypeNotSupported(A2AError):
    """The agent takes no part of this media type, or the request came as something other than JSON."""

    kind = ErrorKind(-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError")


class InvalidAgentResponse(A2AError):
    """The agent said something that is no valid answer."""

    kind = ErrorKind(-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE", "InvalidAgentResponseError")


class ExtendedAgentCardNotConfigured(A2AError):
    """The card promises an extended card that nobody wrote."""

    kind = ErrorKind(
        -32007,
        400,
        "FAILED_PRECONDITION",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        "AuthenticatedExtendedCardNotConfiguredError",
    )


class ExtensionSupportRequired(A2AError):
    """The agent insists on an extension that the request did not name."""

    kind = ErrorKind(-32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED", "ExtensionSupportRequiredError")


class VersionNotSupported(A2AError):
    """A2A-Version names a version that is not spoken here."""

    kind = ErrorKind(-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED", "VersionNotSupportedError")


class Conflict(Exception):
    """Another writer came first: read again, decide again."""


class LeaseLost(Exception):
    """Another runner has the task, or the task has ended: nothing more may be written."""


class EntryTooLarge(ValueError):
    """One message, status or artifact is larger than the store can keep; nothing was written."""


class IllegalChange(RuntimeError):
    """A change the lifecycle does not know: a fault in the kit, or an agent that speaks after its end."""
