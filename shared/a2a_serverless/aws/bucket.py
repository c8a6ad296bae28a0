"""One S3 bucket, spoken to in objects: what is too large for the table. Knows nothing of what is in them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

_BATCH: Final = 1000
"""Objects that one DeleteObjects takes, and one page of a listing has."""


class Bucket:
    """The bucket of that name. Its client is made when it is first needed, which most processes never come to."""

    def __init__(self, client: Callable[[], S3Client], name: str) -> None:
        self._client = client
        self._name = name

    def put(self, name: str, content: bytes) -> None:
        """Write an object."""
        self._client().put_object(Bucket=self._name, Key=name, Body=content, ContentType="application/octet-stream")

    def get(self, name: str) -> bytes:
        """Read an object.

        Raises:
            LookupError: there is none. Without leave to list the bucket, S3 says 403 of that as of anything else that
                it refuses, so this may be a lack of permission too.
        """
        try:
            return self._client().get_object(Bucket=self._name, Key=name)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] in {"NoSuchKey", "AccessDenied"}:
                raise LookupError(f"there is no object {name}, or it may not be read") from error
            raise

    def link(self, name: str, *, media_type: str, filename: str, lifetime: timedelta) -> str:
        """An address that whoever has it can read the object at; signed here, without a request."""
        shown: dict[str, Any] = {"ResponseContentType": media_type} if media_type else {}
        if filename:
            shown["ResponseContentDisposition"] = f"attachment; filename*=UTF-8''{quote(filename, safe='')}"
        return self._client().generate_presigned_url(
            "get_object",
            Params={"Bucket": self._name, "Key": name, **shown},
            ExpiresIn=int(lifetime.total_seconds()),
        )

    def delete_below(self, prefix: str) -> int:
        """Delete all objects whose names begin so; answers how many those were."""
        client, deleted = self._client(), 0
        while True:
            page = client.list_objects_v2(Bucket=self._name, Prefix=prefix, MaxKeys=_BATCH)
            names = [found["Key"] for found in page.get("Contents", [])]
            if not names:
                return deleted
            answer = client.delete_objects(
                Bucket=self._name, Delete={"Objects": [{"Key": name} for name in names], "Quiet": True}
            )
            if errors := answer.get("Errors"):
                raise RuntimeError(f"{len(errors)} of {len(names)} objects were not deleted: {errors[0].get('Code')}")
            deleted += len(names)
