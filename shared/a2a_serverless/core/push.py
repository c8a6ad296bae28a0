"""A webhook as it is kept: what may be shown, and the secrets sealed apart from it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from a2a_serverless.types import AuthenticationInfo, TaskPushNotificationConfig


class WireVersion(StrEnum):
    """The protocol version a request was made in; a webhook is answered in the version that registered it."""

    V1_0 = "1.0"
    V0_3 = "0.3"


@dataclass(frozen=True, slots=True)
class PushSecrets:
    """What a receiver checks the sender by. Only `notify` sees it in the clear."""

    credentials: str = ""
    token: str = ""

    def __repr__(self) -> str:
        return "PushSecrets(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConfig:
    """One webhook of one task. `sealed` is the ciphertext of its `PushSecrets`, empty when it has none."""

    id: str
    url: str
    """As normalised by the registration grammar; this is what is dialled and signed for."""
    scheme: str = ""
    sealed: bytes = b""
    has_token: bool = False
    wire_version: WireVersion = WireVersion.V1_0
    created_at: datetime

    def shown(self, task_id: str) -> TaskPushNotificationConfig:
        """The config as its owner may read it: without secrets."""
        return TaskPushNotificationConfig(
            id=self.id,
            task_id=task_id,
            url=self.url,
            authentication=AuthenticationInfo(scheme=self.scheme) if self.scheme else None,
        )
