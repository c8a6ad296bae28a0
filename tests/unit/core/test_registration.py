"""What callers bring for headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.core.registration import (
    Authentication,
    NotificationToken,
    Refused,
    check_authentication,
    check_token,
)


@given(st.text(max_size=10) | st.sampled_from(["Bearer", "basic"]), st.text(max_size=30))
def test_what_is_taken_is_one_header_value(scheme: str, credentials: str) -> None:
    checked = check_authentication(scheme, credentials)

    if isinstance(checked, Authentication):
        assert checked.header.isascii()
        assert checked.header.isprintable()
        assert checked.header == f"{scheme.capitalize()} {credentials}"


@given(st.text(max_size=30))
def test_a_token_that_is_taken_is_one_header_value(token: str) -> None:
    checked = check_token(token)

    if isinstance(checked, NotificationToken):
        assert checked.value.isascii()
        assert checked.value.isprintable()
        assert " " not in checked.value


@pytest.mark.parametrize(
    ("scheme", "credentials", "field"),
    [
        ("Digest", "x", "authentication.scheme"),
        ("Negotiate", "x", "authentication.scheme"),
        ("", "x", "authentication.scheme"),
        (None, "x", "authentication.scheme"),
        ("Bearer ", "x", "authentication.scheme"),
        ("Basic", None, "authentication.credentials"),
        ("Bearer", "", "authentication.credentials"),
        ("Bearer", "a b", "authentication.credentials"),
        ("Bearer", "a\n", "authentication.credentials"),
        ("Bearer", "=", "authentication.credentials"),
        ("Bearer", "a=b", "authentication.credentials"),
        ("Bearer", "é", "authentication.credentials"),
        ("Bearer", "a" * 4097, "authentication.credentials"),
    ],
)
def test_a_refusal_names_the_member(scheme: str | None, credentials: str | None, field: str) -> None:
    refused = check_authentication(scheme, credentials)

    assert isinstance(refused, Refused)
    assert refused.field == field
    assert credentials is None or credentials not in {"a b", "é"} or credentials not in refused.wanted


@pytest.mark.parametrize("token", ["", " ", "a b", "a\n", "tok\x7f", "ü", "t" * 513])
def test_a_token_is_visible_ascii(token: str) -> None:
    assert isinstance(check_token(token), Refused)


def test_limits_are_inclusive() -> None:
    assert isinstance(check_token("t" * 512), NotificationToken)
    assert isinstance(check_authentication("Basic", "a" * 4095 + "="), Authentication)


def test_a_config_may_bring_nothing() -> None:
    assert check_authentication(None, None) is None
    assert check_token(None) is None


def test_a_receiver_of_our_own_bearer_brings_no_credentials() -> None:
    assert check_authentication("bearer", None) == Authentication("Bearer")


def test_printing_shows_no_secret() -> None:
    shown = repr((check_authentication("Bearer", "s3cret"), check_token("s3cret")))

    assert "s3cret" not in shown
