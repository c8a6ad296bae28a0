"""Which addresses may be dialled. Judged after resolution, on every answer, and the judged address is the dialled one.

IPv4 by a list of what is not somebody's public host; IPv6, when it is on at all, by a list of what is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from a2a_serverless.webhook.policy import WebhookPolicy

IPV4_REFUSED: Final = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared address space, VPCs among them
        "127.0.0.0/8",  # loopback: the Lambda runtime API, its extensions
        "168.63.129.16/32",  # Azure's wire server, in no registry
        "169.254.0.0/16",  # link-local: instance, task and pod credentials
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112 direct delegation
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # class E and broadcast
    )
)
"""Every block of IANA's IPv4 special-purpose registry, multicast, class E, and one address that no registry names."""

IPV6_ALLOWED: Final = IPv6Network("2000::/3")
IPV6_REFUSED: Final = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # IETF protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries any IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)

_ISATAP: Final = 0x0000_5EFE
_UNIVERSAL: Final = 0x0200_0000
"""The bit that says whether the IPv4 address is one of a kind; a sender of it is not believed."""

_PRIVATE: Final = tuple(
    IPv4Network(block) for block in ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)


@dataclass(frozen=True, slots=True)
class Vetted:
    """Addresses that may be dialled, in the resolver's order."""

    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Blocked:
    """At least one answer leads where no webhook may."""

    address: str


def vet(answers: Sequence[str], policy: WebhookPolicy) -> Vetted | Blocked:
    """Judge all answers of one resolution: one bad answer spoils them all, since it shows who made them."""
    for answer in answers:
        if not is_allowed(answer, policy):
            return Blocked(answer)
    return Vetted(tuple(answers))


def is_allowed(address: str, policy: WebhookPolicy) -> bool:
    """Whether a numeric address, in its usual spelling, may be dialled."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        return _is_allowed_v6(parsed, policy)
    return _is_allowed_v4(parsed, policy)


def _is_allowed_v4(address: IPv4Address, policy: WebhookPolicy) -> bool:
    if policy.allow_private and _in_any(address, _PRIVATE):
        return True
    return not _in_any(address, IPV4_REFUSED)


def _is_allowed_v6(address: IPv6Address, policy: WebhookPolicy) -> bool:
    if not policy.allow_ipv6 or address.scope_id is not None:
        return False
    if policy.allow_private and address.is_loopback:
        return True
    if address not in IPV6_ALLOWED or any(address in block for block in IPV6_REFUSED):
        return False
    return not _is_isatap(address)


def _is_isatap(address: IPv6Address) -> bool:
    """Whether any prefix, a public one too, leads through a tunnel to the IPv4 address at the end (RFC 5214 6.1)."""
    return int(address) >> 32 & ~_UNIVERSAL & 0xFFFF_FFFF == _ISATAP


def _in_any(address: IPv4Address, blocks: Iterable[IPv4Network]) -> bool:
    return any(address in block for block in blocks)
