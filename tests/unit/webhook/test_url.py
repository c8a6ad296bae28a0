"""The registration grammar, beside the attack vectors."""

from urllib.parse import urlsplit

import httpx
import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.core.registration import Refused
from a2a_serverless.webhook.policy import WebhookPolicy
from a2a_serverless.webhook.url import WebhookUrl, check_url
from tests.unit.webhook.loopback import LOCAL, STRICT

_FRAGMENTS = st.sampled_from(
    [
        *("https://", "HTTPS://", "http://", "//", "/", "?", "#", "@", ":", "\\", "%", "[", "]", ".", "..", "-", "&"),
        *("rx.example.com", "example.com", "127.0.0.1", "0x7f.1", "2130706433", "localhost", "xn--", "xn--bcher-kva"),
        *(":443", ":8443", ":0443", ":22", "user:pw@", "%31", "\t", "\r\n", "\0", "。", "①", "ex\u00adample", "a" * 64),
    ]
)
_MIXED = st.lists(_FRAGMENTS | st.text(max_size=3), max_size=8).map("".join)
_URLS = _MIXED | _MIXED.map("https://rx.example.com".__add__) | _MIXED.map("https://".__add__) | st.text(max_size=80)


@given(_URLS)
def test_what_is_taken_is_read_alike_by_every_parser(text: str) -> None:
    url = check_url(text, STRICT)

    if isinstance(url, WebhookUrl):
        split, other, third = urlsplit(url.text), urllib3.util.parse_url(url.text), httpx.URL(url.text)
        assert (split.hostname, split.port or 443) == (url.host, url.port)
        assert (other.host, other.port or 443) == (url.host, url.port)
        assert (third.host, third.port or 443) == (url.host, url.port)
        assert url.port in {443, 8443}


@given(_URLS)
def test_a_url_that_was_taken_is_taken_again_unchanged(text: str) -> None:
    for policy in (STRICT, LOCAL):
        url = check_url(text, policy)

        assert isinstance(url, Refused) or check_url(url.text, policy) == url


@given(_URLS)
def test_what_is_taken_can_stand_in_a_request(text: str) -> None:
    url = check_url(text, LOCAL)

    if isinstance(url, WebhookUrl):
        line = f"POST {url.target} HTTP/1.1"
        assert line.isascii()
        assert line.isprintable()
        assert line.count(" ") == 2
        assert url.target.startswith("/")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("https://rx.example.com", "/"),
        ("https://rx.example.com?a=1", "/?a=1"),
        ("https://rx.example.com/a//b/../c?d=%zz&e=[f]", "/a//b/../c?d=%zz&e=[f]"),
        ("https://rx.example.com/@x:y", "/@x:y"),
        ("https://rx.example.com:443/p", "/p"),
    ],
)
def test_path_and_query_are_sent_as_registered(text: str, target: str) -> None:
    url = check_url(text, STRICT)

    assert isinstance(url, WebhookUrl)
    assert (url.target, url.text) == (target, text)


def test_only_scheme_and_host_are_lowered() -> None:
    assert check_url("HTTPS://RX.Example.COM:8443/Path?Q", STRICT) == WebhookUrl(
        "https", "rx.example.com", 8443, "/Path?Q", "https://rx.example.com:8443/Path?Q"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "scheme"),
        ("https", "scheme"),
        ("http://rx.example.com/", "scheme"),
        ("https://rx.example.com/ü", "non_ascii"),
        ("https://rx。example。com/", "non_ascii"),
        ("https://rx.example.com/ ", "forbidden_char"),
        ("https://rx.example.com/\x00", "forbidden_char"),
        ("https://rx.example.com/\x7f", "forbidden_char"),
        ("https://rx.example.com\\@evil.example/", "forbidden_char"),
        ("https://%72x.example.com/", "encoded_host"),
        ("https://rx.example.com%2fevil/", "encoded_host"),
        ("https://rx.example.com./", "trailing_dot"),
        ("https://rx.example.com../", "trailing_dot"),
        ("https://rx..example.com/", "host_label"),
        ("https://[rx.example.com/", "ip_literal"),
        ("https://rx.example.com]/", "ip_literal"),
        ("https:", "scheme"),
        ("https:/rx.example.com/", "scheme"),
        ("https:rx.example.com/", "scheme"),
        ("ftp://rx.example.com/", "scheme"),
        ("https://", "no_host"),
        ("https://:443/", "no_host"),
        ("https://user@rx.example.com/", "userinfo"),
        ("https://@rx.example.com/", "userinfo"),
        ("https://rx.example.com:/", "port"),
        ("https://rx.example.com:80/", "port"),
        ("https://rx.example.com:443:443/", "port"),
        ("https://rx.example.com:-443/", "port"),
        ("https://rx.example.com:+443/", "port"),
        ("https://[::1]:443/", "ip_literal"),
        ("https://[v1.x]/", "ip_literal"),
        ("https://017700000001/", "ip_literal"),
        ("https://1.2.3.4./", "ip_literal"),
        ("https://rx.0x/", "ip_literal"),
        ("https://rx_1.example.com/", "host_label"),
        ("https://rx-.example.com/", "host_label"),
        ("https://xn--localhost-.example.com/", "host_label"),
        ("https://xn--.example.com/", "host_label"),
        ("https://xn--99999999.example.com/", "host_label"),
        ("https://xn--a.example.com/", "host_label"),  # a control character
        ("https://xn--rx-f1t.example.com/", "host_label"),  # a blank of no width
        ("https://xn--rx-h4t.example.com/", "host_label"),  # turns the writing round
        ("https://xn--x-ro7g.example.com/", "host_label"),  # private use
        ("https://xn--x-qc4g.example.com/", "host_label"),  # half a character
        ("https://xn--8g7ccp.example.com/", "host_label"),  # 127, in wide digits
        ("https://xn--com-zp0a.example.com/", "host_label"),  # a dot
        ("https://xn--e-xbb.example.com/", "host_label"),  # an accent apart from its letter
        ("https://" + "a." * 126 + "com/", "host_label"),
        ("https://com/", "single_label"),
        ("https://rx.example/", "reserved_suffix"),
        ("https://1.0.0.127.in-addr.arpa/", "reserved_suffix"),
        ("https://a2a.example.com/hook", "own_host"),
        ("https://sub.A2A.example.com/hook", "own_host"),
        ("https://rx.example.com/#", "fragment"),
        ("https://rx.example.com#@evil.example", "fragment"),
        ("https://rx.example.com/" + "a" * 2048, "length"),
    ],
)
def test_what_is_refused_says_why(text: str, reason: str) -> None:
    refused = check_url(text, WebhookPolicy(own_hosts=frozenset({"a2a.example.com"})))

    assert isinstance(refused, Refused)
    assert (refused.field, refused.reason) == ("url", reason)
    assert refused.wanted.startswith("must ")


@pytest.mark.parametrize(
    "text",
    [
        "https://xn--bcher-kva.example.com/",
        "https://xn--zca.example.com/",
        "https://xn--mgba3gch31f060k.com/",
        "https://xn--ls8h.la/",
        "https://xn--1ugz855pea.example.com/",
        "https://a.co/",
        "https://r3---sn-x.example.com/",
        "https://1a.example.com/",
    ],
)
def test_uncommon_but_proper_names_are_taken(text: str) -> None:
    assert isinstance(check_url(text, STRICT), WebhookUrl)


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:9000/hook",
        "http://localhost:1/",
        "https://partner/hook",
        "http://10.0.0.7/",
        "http://rx.example.com/",
    ],
)
def test_local_runs_may_use_plain_http_any_port_and_addresses(text: str) -> None:
    assert isinstance(check_url(text, LOCAL), WebhookUrl)


@pytest.mark.parametrize(
    "text",
    [
        *("http://u@localhost/", "http://localhost/#f", "http://local host/", "file:///etc/passwd", "http://[::1]/"),
        *(
            "http://127.1/",
            "http://0x7f000001/",
            "http://127.0.0.01/",
            "http://300.0.0.1/x",
            "http://h:0/",
            "http://h:65536/",
        ),
    ],
)
def test_local_runs_keep_to_the_rest_of_the_grammar(text: str) -> None:
    refused = check_url(text, LOCAL)

    assert isinstance(refused, Refused)


def test_the_longest_url_has_2048_characters() -> None:
    start = "https://rx.example.com/"

    assert isinstance(check_url(start + "a" * (2048 - len(start)), STRICT), WebhookUrl)
    assert isinstance(check_url(start + "a" * (2049 - len(start)), STRICT), Refused)


@pytest.mark.parametrize(
    ("host", "taken"),
    [
        ("a" * 63, True),
        ("a" * 64, False),
        (".".join(["a" * 63] * 3 + ["a" * 57]), True),
        (".".join(["a" * 63] * 3 + ["a" * 58]), False),
    ],
)
def test_labels_have_63_characters_and_hosts_253(host: str, taken: bool) -> None:
    assert isinstance(check_url(f"https://{host}.com/", STRICT), WebhookUrl) is taken


@pytest.mark.parametrize(
    ("port", "taken"),
    [("1", True), ("65535", True), ("65536", False), ("0", False), ("01", False), ("", False), ("x", False)],
)
def test_local_runs_may_use_any_port_there_is(port: str, taken: bool) -> None:
    assert isinstance(check_url(f"http://localhost:{port}/", LOCAL), WebhookUrl) is taken


@pytest.mark.parametrize(
    ("text", "authority", "endpoint"),
    [
        ("https://rx.example.com/", "rx.example.com", "rx.example.com:443"),
        ("https://rx.example.com:8443/", "rx.example.com:8443", "rx.example.com:8443"),
        ("http://localhost/", "localhost", "localhost:80"),
    ],
)
def test_the_host_header_names_a_port_only_where_it_must(text: str, authority: str, endpoint: str) -> None:
    url = check_url(text, LOCAL)

    assert isinstance(url, WebhookUrl)
    assert (url.authority, url.endpoint) == (authority, endpoint)
