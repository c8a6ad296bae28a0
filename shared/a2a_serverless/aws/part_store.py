"""Large content in S3. The name of an object begins with its owner and its task, as every key of the table does."""

import hashlib
from typing import Final

from a2a_serverless.app.ports import LINK_LIFETIME
from a2a_serverless.aws.bucket import Bucket
from a2a_serverless.aws.keys import encoded, owner_text
from a2a_serverless.aws.settings import PARTS_PREFIX
from a2a_serverless.types import TaskKey

_OWNER_BYTES: Final = 16


class S3Parts:
    """PartStore on a bucket."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def put(self, key: TaskKey, digest: str, content: bytes) -> None:
        """Keep content under its hash; the same again writes the same object."""
        self._bucket.put(below(key) + digest, content)

    def get(self, key: TaskKey, digest: str) -> bytes:
        """What is kept.

        Raises:
            LookupError: nothing is.
        """
        return self._bucket.get(below(key) + digest)

    def link(self, key: TaskKey, digest: str, *, media_type: str, filename: str) -> str:
        """A presigned address. It ends with the credentials it was signed with, if those end first."""
        return self._bucket.link(below(key) + digest, media_type=media_type, filename=filename, lifetime=LINK_LIFETIME)

    def forget(self, key: TaskKey) -> int:
        """Delete whatever is kept for a task."""
        return self._bucket.delete_below(below(key))


def below(key: TaskKey) -> str:
    """`parts/{owner}/{task}/`. The owner is the hash of the text that begins his partitions: a name of 1,024 bytes has
    no room for it, a path must not hold `..`, and an address that is passed on says nobody's name."""
    owner = hashlib.sha256(owner_text(key.scope).encode("utf-8", "surrogatepass")).hexdigest()[: 2 * _OWNER_BYTES]
    return f"{PARTS_PREFIX}{owner}/{encoded(key.task_id)}/"
