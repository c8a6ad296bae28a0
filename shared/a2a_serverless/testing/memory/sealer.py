"""A sealer that seals nothing, but notices secrets that are opened for another task or config."""

import json

from a2a_serverless.core.push import PushSecrets
from a2a_serverless.types import TaskKey


class PlainSealer:
    """Sealer."""

    def seal(self, secrets: PushSecrets, key: TaskKey, config_id: str) -> bytes:
        return json.dumps([_bound(key, config_id), secrets.credentials, secrets.token]).encode()

    def open(self, sealed: bytes, key: TaskKey, config_id: str) -> PushSecrets:
        bound, credentials, token = json.loads(sealed)
        if bound != _bound(key, config_id):
            raise ValueError("these secrets belong to another task or config")
        return PushSecrets(credentials=credentials, token=token)


def _bound(key: TaskKey, config_id: str) -> list[str]:
    owner = key.scope.owner
    return [key.scope.agent, owner.tenant, owner.subject, key.task_id, config_id]
