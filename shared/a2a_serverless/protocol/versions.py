"""A2A-Version: which semantics a request asks for (SPEC 3.6)."""

import re
from typing import Final

from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import VersionNotSupported
from a2a_serverless.protocol.http import Request

HEADER: Final = "a2a-version"
_VERSION: Final = re.compile(r"([0-9]{1,4}\.[0-9]{1,4})(\.[0-9]{1,6})?")
_COMMON: Final = {version.value: version for version in WireVersion} | {"": WireVersion.V0_3}
SPOKEN: Final = ", ".join(version.value for version in WireVersion)


def requested(request: Request) -> WireVersion:
    """The version of the header, else of the query parameter of the same name, else 0.3 (a MUST of SPEC 3.6.2).

    A patch number changes nothing.

    Raises:
        VersionNotSupported: it is none of ours, or no version at all.
    """
    wanted = request.header(HEADER) or _in_query(request)
    if wanted in _COMMON:
        return _COMMON[wanted]
    names = {part.strip() for part in wanted.split(",")}  # a repeated header comes joined by commas
    version = _VERSION.fullmatch(names.pop()) if len(names) == 1 else None
    if version is None or version.group(1) not in set(WireVersion):
        raise VersionNotSupported(f"A2A-Version {wanted[:40]!r} is not spoken here; send one of {SPOKEN}")
    return WireVersion(version.group(1))


def _in_query(request: Request) -> str:
    if HEADER not in request.query.lower():
        return ""
    found = [value for name, value in request.query_fields().items() if name.lower() == HEADER]
    return found[0].strip() if found else ""


def mismatch(named: str, *, belongs_to: WireVersion, asked: WireVersion) -> VersionNotSupported:
    """A method or path of one version came in a request of the other."""
    return VersionNotSupported(
        f"{named} belongs to version {belongs_to.value}, but the request is of version {asked.value}"
        f" (no A2A-Version means 0.3); send the header A2A-Version: {belongs_to.value}"
    )
