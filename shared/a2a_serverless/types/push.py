"""Where and how a caller wants to be told that a task moved on (SPEC 4.3)."""

from pydantic import StrictStr

from a2a_serverless.types.model import A2AModel


class AuthenticationInfo(A2AModel):
    """Credentials that the receiver of a webhook expects: an IANA scheme name and what follows it."""

    scheme: StrictStr
    credentials: StrictStr | None = None


class TaskPushNotificationConfig(A2AModel):
    """One webhook of one task. `token` and `authentication.credentials` are write-only here."""

    url: StrictStr
    id: StrictStr = ""
    task_id: StrictStr = ""
    tenant: StrictStr = ""
    token: StrictStr = ""
    authentication: AuthenticationInfo | None = None
