"""Rotation, with the clock in hand."""

import dataclasses
import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.webhook.keys import (
    KEEP_AFTER,
    LONGEST_CACHE,
    PUBLISH_BEFORE,
    TOKEN_LIFE,
    Algorithm,
    PublicKey,
    jwks_document,
    key_in_use,
    next_first_use,
    published_keys,
)
from tests.unit.webhook.signing import NOW

DAY = dt.timedelta(days=1)
SECOND = dt.timedelta(seconds=1)


def _key(kid: str, first_use: dt.datetime) -> PublicKey:
    members = {"kty": "EC", "crv": "P-256", "x": kid, "y": kid}
    return PublicKey(kid=kid, algorithm=Algorithm.STRICT, members=members, first_use=first_use)


def _kids(keys: tuple[PublicKey, ...], now: dt.datetime) -> list[str]:
    return [key.kid for key in published_keys(keys, now=now)]


def test_the_next_key_is_published_a_day_before_it_signs() -> None:
    keys = (_key("old", NOW - 90 * DAY), _key("new", NOW))

    assert _kids(keys, NOW - DAY - SECOND) == ["old"]
    assert _kids(keys, NOW - DAY) == ["old", "new"]
    assert key_in_use(keys, Algorithm.STRICT, now=NOW - SECOND).kid == "old"
    assert key_in_use(keys, Algorithm.STRICT, now=NOW).kid == "new"


def test_the_old_key_stays_until_nothing_can_carry_it() -> None:
    keys = (_key("old", NOW - 90 * DAY), _key("new", NOW))

    assert _kids(keys, NOW + KEEP_AFTER) == ["old", "new"]
    assert _kids(keys, NOW + KEEP_AFTER + SECOND) == ["new"]


def test_the_algorithms_rotate_apart() -> None:
    strict = _key("es", NOW - 90 * DAY)
    compat = dataclasses.replace(_key("rs", NOW - DAY), algorithm=Algorithm.COMPAT)

    assert key_in_use((strict, compat), Algorithm.STRICT, now=NOW) is strict
    assert key_in_use((strict, compat), Algorithm.COMPAT, now=NOW) is compat
    assert _kids((strict, compat), NOW + 100 * DAY) == ["es", "rs"]
    assert next_first_use((strict,), Algorithm.COMPAT, now=NOW) == next_first_use((), Algorithm.COMPAT, now=NOW)


def test_without_a_key_nothing_is_signed() -> None:
    with pytest.raises(LookupError, match="no ES256 key may sign at 2026-11-30T12:00:00Z"):
        key_in_use((_key("later", NOW + SECOND),), Algorithm.STRICT, now=NOW)


def test_a_first_key_signs_at_once_and_each_later_one_in_a_day() -> None:
    assert next_first_use((), Algorithm.STRICT, now=NOW) < NOW - 60 * SECOND
    assert next_first_use((_key("a", NOW - DAY),), Algorithm.STRICT, now=NOW) == NOW + DAY


def test_the_jwks_says_what_each_key_is_for() -> None:
    document = json.loads(jwks_document((_key("a", NOW - DAY), _key("far", NOW + 2 * DAY)), now=NOW))

    assert document == {
        "keys": [{"kty": "EC", "crv": "P-256", "x": "a", "y": "a", "use": "sig", "alg": "ES256", "kid": "a"}]
    }


@given(
    st.lists(st.integers(24, 2000), min_size=1, max_size=5),
    st.integers(0, 12_000),
    st.floats(0, LONGEST_CACHE.total_seconds()),
    st.floats(0, TOKEN_LIFE.total_seconds()),
)
def test_whoever_cached_the_keys_up_to_a_day_ago_can_verify_what_is_still_valid(
    gaps: list[int], hours: int, cached_for: float, travelled: float
) -> None:
    """A token that was signed at `hours` and travelled for a while meets keys that were fetched before that."""
    starts = [NOW + dt.timedelta(hours=sum(gaps[:at])) for at in range(len(gaps))]
    keys = tuple(_key(str(at), start) for at, start in enumerate(starts))
    signed_at = NOW + dt.timedelta(hours=hours)
    kid = key_in_use(keys, Algorithm.STRICT, now=signed_at).kid
    fetched_at = signed_at + dt.timedelta(seconds=travelled) - dt.timedelta(seconds=cached_for)

    # A cache holds what was published when it was filled; the very first key was there from the beginning.
    assert kid in _kids(keys, max(fetched_at, NOW - PUBLISH_BEFORE))
