"""Secrets of webhooks, encrypted by KMS and bound to their task and config by the encryption context.

KMS encrypts up to 4,096 bytes itself, which spares the functions a library for cryptography. The longest secrets that
may be registered are a little longer than that, but are of few different characters: compressed they fit.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Final

from a2a_serverless.aws.journal_codec import expanded
from a2a_serverless.aws.keys import task_text
from a2a_serverless.aws.settings import SECRET_CONTEXT
from a2a_serverless.core.push import PushSecrets
from a2a_serverless.types import TaskKey, compact_json

if TYPE_CHECKING:
    from types_boto3_kms.client import KMSClient

LONGEST_PLAINTEXT: Final = 4096


class KmsSealer:
    """Sealer on KMS: one call each way."""

    def __init__(self, client: KMSClient, sealing_key: str) -> None:
        self._client = client
        self._sealing_key = sealing_key

    def seal(self, secrets: PushSecrets, key: TaskKey, config_id: str) -> bytes:
        """Ciphertext that only `open` with the same key and id turns back.

        Raises:
            ValueError: the secrets are longer than any that may be registered.
        """
        plain = compact_json([secrets.credentials, secrets.token]).encode()
        if len(plain) > LONGEST_PLAINTEXT:
            plain = zlib.compress(plain, 9)
        if len(plain) > LONGEST_PLAINTEXT:
            raise ValueError(f"secrets of {len(plain)} bytes: KMS encrypts {LONGEST_PLAINTEXT}")
        answer = self._client.encrypt(
            KeyId=self._sealing_key, Plaintext=plain, EncryptionContext=_context(key, config_id)
        )
        return answer["CiphertextBlob"]

    def open(self, sealed: bytes, key: TaskKey, config_id: str) -> PushSecrets:
        """The secrets in the clear.

        Raises:
            ClientError: they were sealed for another task or config, or by another key.
        """
        answer = self._client.decrypt(
            KeyId=self._sealing_key, CiphertextBlob=sealed, EncryptionContext=_context(key, config_id)
        )
        credentials, token = json.loads(expanded(answer["Plaintext"]))
        return PushSecrets(credentials=credentials, token=token)


def _context(key: TaskKey, config_id: str) -> dict[str, str]:
    return {"purpose": SECRET_CONTEXT, "task": task_text(key), "config": config_id}
