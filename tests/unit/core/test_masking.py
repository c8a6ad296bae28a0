"""What is not written down of requests and answers."""

import json

import pytest

from a2a_serverless.core.masking import HIDDEN, without_callbacks, without_query, without_secrets, without_signatures
from a2a_serverless.protocol.witness import kept_body

CONFIG = {
    "url": "https://partner.example/hook?key=secret",
    "token": "secret",
    "authentication": {"scheme": "Bearer", "credentials": "secret"},
}


@pytest.mark.parametrize(
    "request_",
    [
        CONFIG,
        {"params": {"taskId": "t", **CONFIG}},
        {"params": {"pushNotificationConfig": CONFIG}},
        {"params": {"configuration": {"taskPushNotificationConfig": CONFIG}}},
        {"params": {"configuration": {"task_push_notification_config": CONFIG}}},
        {"result": {"configs": [CONFIG, CONFIG]}},
        {"params": {"token": {"value": "secret"}}},
    ],
)
def test_the_secrets_of_a_config_are_hidden_wherever_it_stands(request_: dict[str, object]) -> None:
    kept = json.dumps(without_secrets(request_))

    assert "secret" not in kept
    assert HIDDEN in kept


def test_what_callers_and_agents_say_is_theirs() -> None:
    said = {"parts": [{"text": "my token is x"}, {"data": {"token": "x"}}, {"url": "https://a.example/?b=c"}]}

    for place in (
        {"params": {"message": said}},
        {"result": {"task": {"history": [said], "status": {"message": said}}}},
    ):
        assert without_secrets(place) == place


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://a.example/b", "https://a.example/b"),
        ("https://a.example/b?", "https://a.example/b?"),
        ("https://a.example/b?c=d?e", "https://a.example/b?(not kept)"),
    ],
)
def test_an_address_is_kept_without_its_query(url: str, kept: str) -> None:
    assert without_query(url) == kept


def test_an_address_that_opens_content_opens_nothing_when_it_is_kept() -> None:
    url = "http://x/k?X-Amz-Credential=ASIA%2Fx&X-Amz-Security-Token=abc%2B&X-Amz-Signature=0123af&x=1"

    kept = without_signatures(json.dumps({"url": url}))

    assert "0123af" not in kept
    assert "abc" not in kept
    assert json.loads(kept)["url"].endswith("&x=1")


@pytest.mark.parametrize(
    "address",
    [
        "https://a.example/callbacks/id-1?key=SECRET_-x",
        "https://a.example/base/callbacks/0a-b?key=SECRET_-x",
        '"https:\\/\\/a.example\\/callbacks\\/id-1?key=SECRET_-x"',
        "https://qr.example/?for=https%3A%2F%2Fa.example%2Fcallbacks%2Fid-1%3Fkey%3DSECRET_-x&size=9",
    ],
)
def test_an_address_that_resumes_a_task_opens_nothing_when_it_is_kept(address: str) -> None:
    kept = without_callbacks(f"at {address}, please")

    assert "SECRET" not in kept
    assert kept == f"at {address}, please".replace("SECRET_-x", HIDDEN)


def test_words_about_callbacks_are_kept() -> None:
    text = "our /callbacks/ are described in docs/callbacks/index and callbacks. See callbacks/."

    assert without_callbacks(text) == text


def test_a_body_without_secrets_is_kept_byte_for_byte() -> None:
    body = b'{ "method":"GetTask" , "params":{"id":"t","url":"https://a.example/"} }'

    assert kept_body(body).encode() == body


def test_a_secret_whose_name_is_written_in_escapes_is_hidden_too() -> None:
    assert "secret" not in kept_body(b'{"params":{"t\\u006fken":"secret"}}')


def test_a_body_that_cannot_be_read_is_not_kept() -> None:
    assert kept_body(b'{"token":"secret"') == ""
