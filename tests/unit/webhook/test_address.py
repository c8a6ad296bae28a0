"""Addresses: IANA's registries are written down here a second time, from the registries."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.webhook.address import Blocked, Vetted, is_allowed, vet
from a2a_serverless.webhook.policy import WebhookPolicy
from tests.unit.webhook.loopback import LOCAL, PUBLIC, STRICT

IPV6 = WebhookPolicy(allow_ipv6=True)

IANA_IPV4_SPECIAL = (
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32"),
    *("192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"),
    *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32"),
    *("224.0.0.0/4", "168.63.129.16/32"),
)
IANA_IPV6_SPECIAL = (
    *("::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64"),
    *("2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32"),
    *("2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16"),
    *("2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "::/8"),
)

ISATAP = re.compile(r":0[02]00:5efe:[0-9a-f]{4}:[0-9a-f]{4}$")


@given(st.sampled_from(IANA_IPV4_SPECIAL).map(IPv4Network), st.integers(0, 2**32 - 1))
def test_no_special_ipv4_address_is_dialled(block: IPv4Network, offset: int) -> None:
    address = block[offset % block.num_addresses]

    assert not is_allowed(str(address), STRICT)
    assert not is_allowed(str(address), IPV6)


@given(st.sampled_from(IANA_IPV6_SPECIAL).map(IPv6Network), st.integers(0, 2**128 - 1))
def test_no_special_ipv6_address_is_dialled(block: IPv6Network, offset: int) -> None:
    address = block[offset % block.num_addresses]

    assert not is_allowed(str(address), IPV6)


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_what_is_dialled_is_in_no_special_ipv4_block(address: IPv4Address) -> None:
    special = any(address in IPv4Network(block) for block in IANA_IPV4_SPECIAL)

    assert is_allowed(str(address), STRICT) is not special


@given(st.integers(0, 2**128 - 1).map(IPv6Address) | st.integers(0x2000 << 112, (0x4000 << 112) - 1).map(IPv6Address))
def test_what_is_dialled_is_a_global_unicast_ipv6_address(address: IPv6Address) -> None:
    special = any(address in IPv6Network(block) for block in IANA_IPV6_SPECIAL) or ISATAP.search(address.exploded)

    assert is_allowed(str(address), IPV6) is (address in IPv6Network("2000::/3") and not special)
    assert not is_allowed(str(address), STRICT)


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_no_ipv4_address_hides_in_an_ipv6_one(address: IPv4Address) -> None:
    number = int(address)
    hidden = (
        IPv6Address(number),
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0xFFFF << 48) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80) | 1),
        IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),
        IPv6Address((0xFE80 << 112) | (0x5EFE << 32) | number),
        IPv6Address((0x26064700 << 96) | (0x5EFE << 32) | number),
        IPv6Address((0x26064700 << 96) | (0x02005EFE << 32) | number),
    )

    assert not any(is_allowed(str(each), IPV6) for each in hidden)


@pytest.mark.parametrize("text", ["2606:4700::100:5efe:a00:1", "2606:4700::5eff:a00:1", "2606:4700::5efe:0:a00:1"])
def test_what_only_looks_like_a_tunnel_is_dialled(text: str) -> None:
    assert is_allowed(text, IPV6)


@given(st.text(max_size=20))
def test_what_is_no_address_is_not_dialled(text: str) -> None:
    try:
        ip_address(text)
    except ValueError:
        assert not is_allowed(text, IPV6)


@pytest.mark.parametrize(
    "text", ["2130706433", "0x7f000001", "127.1", "010.0.0.1", "fe80::1%eth0", "2606:4700::1%0", ""]
)
def test_no_other_spelling_is_taken(text: str) -> None:
    assert not is_allowed(text, IPV6)


@pytest.mark.parametrize("text", ["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1"])
def test_local_runs_may_dial_private_addresses(text: str) -> None:
    assert is_allowed(text, LOCAL)


def test_local_runs_with_ipv6_may_dial_loopback_but_no_other_special_block() -> None:
    policy = WebhookPolicy(allow_private=True, allow_ipv6=True)

    assert is_allowed("::1", policy)
    assert not any(is_allowed(text, policy) for text in ("fd00::1", "fe80::1", "::ffff:127.0.0.1", "fd00:ec2::254"))
    assert not is_allowed("::1", IPV6)


@pytest.mark.parametrize(
    "text", ["169.254.169.254", "169.254.170.2", "168.63.129.16", "0.0.0.0", "224.0.0.1", "100.64.0.1"]
)
def test_local_runs_do_not_dial_metadata(text: str) -> None:
    assert not is_allowed(text, LOCAL)


def test_one_bad_answer_spoils_all() -> None:
    assert vet([PUBLIC, "8.8.8.8"], STRICT) == Vetted((PUBLIC, "8.8.8.8"))
    assert vet([PUBLIC, "10.0.0.1"], STRICT) == Blocked("10.0.0.1")
    assert vet([PUBLIC, "2606:4700::1"], STRICT) == Blocked("2606:4700::1")
    assert vet([PUBLIC, "2606:4700::1"], IPV6) == Vetted((PUBLIC, "2606:4700::1"))
