"""Hostile requests of every kind the specification names, in the format of the sample."""

from collections.abc import Sequence
from functools import cache

from tests.receiver.harness import Case
from tests.receiver.kinds_body import body_cases, replay_cases
from tests.receiver.kinds_claims import claim_cases
from tests.receiver.kinds_foreign import compat_cases, hmac_cases, token_only_cases
from tests.receiver.kinds_http import http_cases
from tests.receiver.kinds_start import start_cases
from tests.receiver.kinds_token import signature_cases, token_cases

MAKERS = (
    token_cases,
    signature_cases,
    claim_cases,
    http_cases,
    body_cases,
    replay_cases,
    compat_cases,
    hmac_cases,
    token_only_cases,
    start_cases,
)


@cache
def all_cases() -> Sequence[Case]:
    """Every case; made once, since keys take time to make."""
    cases = [case for maker in MAKERS for case in maker()]
    assert len({case.id for case in cases}) == len(cases), "two cases share a name"
    return cases
