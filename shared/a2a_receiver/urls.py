"""Which addresses a receiver may be configured with: https, or http on loopback where that was allowed."""

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

_URL: Final = re.compile(r"[!#-;=?-\[\]_a-z~]+")


class ConfigError(ValueError):
    """The receiver would be weak or could not work as configured, so it does not start."""


def configured_url(url: str, what: str, *, allow_loopback_http: bool) -> SplitResult:
    """The parts of an absolute URL from the configuration; `what` names the setting in the message.

    Raises:
        ConfigError: not https (nor allowed loopback http), or with userinfo, fragment, spaces or controls.
    """
    if not is_text(url, _URL):
        raise ConfigError(f"{what} must be an absolute https URL in plain ASCII")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"{what} is not a URL: {error}") from error
    if not host or "@" in parts.netloc or "#" in url:
        raise ConfigError(f"{what} needs a host, and no userinfo or fragment")
    if parts.scheme == "https" or (parts.scheme == "http" and allow_loopback_http and is_loopback(host)):
        return parts
    raise ConfigError(f"{what} must be https; http is for loopback only, with allow_loopback_http=True")


def is_text(value: object, pattern: re.Pattern[str]) -> bool:
    """Whether a setting is text, and all of it matches: settings come from environments, where None is common."""
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def is_loopback(host: str) -> bool:
    """True for `localhost` and for the literal loopback addresses. Other names are not looked up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin(parts: SplitResult) -> str:
    """`https://host:port` of a URL, as written."""
    return f"{parts.scheme}://{parts.netloc}"
