"""Asking an address whether it wants us."""

import pytest

from a2a_serverless.webhook.dial import Dialler
from a2a_serverless.webhook.ownership import Consented, Declined, ask_by_options, ask_by_token
from tests.unit.webhook.loopback import LOCAL, Handler, Network, answering, receiver, url_of

TOKEN = "963e886b-8992-27f9-c46a-6da6d823213f"
AGENT = "a2a-serverless/0.1.0"


def _dialler(port: int) -> Dialler:
    return Network(port, answers=[["127.0.0.1"]]).dialler(policy=LOCAL)


def _echo(body: str, *, status: int = 200) -> Handler:
    return answering(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())


def test_a_receiver_that_repeats_the_token_consents() -> None:
    with receiver(_echo(f"{TOKEN}\n")) as partner:
        url = url_of("http://partner/p?a=1", LOCAL)
        consent = ask_by_token(_dialler(partner.port), url, token=TOKEN, user_agent=AGENT)

    assert consent == Consented()
    assert partner.requests[0].startswith(f"GET /p?a=1&validationToken={TOKEN} HTTP/1.1\r\n".encode())


def test_the_token_is_the_query_of_a_url_that_has_none() -> None:
    with receiver(_echo("a%b")) as partner:
        consent = ask_by_token(_dialler(partner.port), url_of("http://partner/p", LOCAL), token="a%b", user_agent=AGENT)

    assert consent == Consented()
    assert partner.requests[0].startswith(b"GET /p?validationToken=a%25b HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("body", "status"),
    [("", 200), (TOKEN[:-1], 200), (TOKEN + "x", 200), (TOKEN, 404), (TOKEN, 302), (TOKEN + " " * 200, 200)],
)
def test_a_receiver_that_repeats_anything_else_declines(body: str, status: int) -> None:
    with receiver(_echo(body, status=status)) as partner:
        url = url_of("http://partner/p", LOCAL)
        consent = ask_by_token(_dialler(partner.port), url, token=TOKEN, user_agent=AGENT)

    assert isinstance(consent, Declined)
    assert consent.wanted.startswith("must answer GET with validationToken")


@pytest.mark.parametrize(
    ("headers", "consent"),
    [
        ("WebHook-Allowed-Origin: a2a.example.com\r\nWebHook-Allowed-Rate: 120", Consented()),
        ("webhook-allowed-origin: *\r\nwebhook-allowed-rate: *", Consented()),
        ("WebHook-Allowed-Origin: A2A.example.com\r\nWebHook-Allowed-Rate: 1e9", Consented()),
    ],
)
def test_a_receiver_may_consent_by_options(headers: str, consent: Consented) -> None:
    with receiver(answering(f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{headers}\r\n\r\n".encode())) as partner:
        url = url_of("http://partner/p", LOCAL)
        given = ask_by_options(_dialler(partner.port), url, origin="a2a.example.com", user_agent=AGENT)

    assert given == consent
    assert b"\r\nWebHook-Request-Origin: a2a.example.com\r\n" in partner.requests[0]


@pytest.mark.parametrize(
    "answer",
    [
        "HTTP/1.1 200 OK\r\nAllow: OPTIONS, POST",
        "HTTP/1.1 200 OK\r\nWebHook-Allowed-Origin: evil.example",
        "HTTP/1.1 200 OK\r\nWebHook-Allowed-Origin: a2a.example.com.evil.example",
        "HTTP/1.1 405 No\r\nWebHook-Allowed-Origin: *",
    ],
)
def test_a_receiver_that_names_another_origin_declines(answer: str) -> None:
    with receiver(answering(f"{answer}\r\nContent-Length: 0\r\n\r\n".encode())) as partner:
        url = url_of("http://partner/p", LOCAL)
        consent = ask_by_options(_dialler(partner.port), url, origin="a2a.example.com", user_agent=AGENT)

    assert isinstance(consent, Declined)


def test_nobody_at_home_declines() -> None:
    network = Network(1, answers=[[]])
    url = url_of("https://rx.example.com/p")

    by_token = ask_by_token(network.dialler(), url, token=TOKEN, user_agent=AGENT)
    by_options = ask_by_options(network.dialler(), url, origin="a2a.example.com", user_agent=AGENT)

    assert by_token == Declined("must answer GET with validationToken; there was no answer (dns)")
    assert by_options == Declined("must answer OPTIONS; there was no answer (dns)")
