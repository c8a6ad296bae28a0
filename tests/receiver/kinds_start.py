"""Configurations under which a receiver must not start."""

import base64
from collections.abc import Iterator
from typing import Any

from tests.receiver.harness import REFUSED_TO_START, Case
from tests.receiver.making import LONG_TOKEN, SECRET, TOKEN, case_of, good

BAD_URLS = {
    "http": "http://a2a.example.com",
    "no scheme": "a2a.example.com",
    "nothing": "",
    "a file": "file:///etc/passwd",
    "a user": "https://u:p@a2a.example.com",
    "a fragment": "https://a2a.example.com/#x",
    "a space": "https://a2a.example.com/ x",
    "a wide dot": "https://127。0。0。1/",
    "a port that is none": "https://a2a.example.com:x",
    "no host": "https:///x",
    "a backslash": "https://a\\b.example.com",
    "loopback http": "http://127.0.0.1:8000",
}
SHORT_SECRET = base64.b64encode(b"current-secret-32-bytes").decode()
WEAK_SECRETS = {
    "no secret": [],
    "empty secret": [""],
    "prefix only": ["whsec_"],
    "secret of 23 bytes": [f"whsec_{SHORT_SECRET}"],
    "a good one and a weak one": [SECRET, "whsec_c2hvcnQ="],
    "not base64": ["whsec_" + "%" * 44],
    "plain text": ["default_secret_of_quite_some_length"],
    "one byte over and over": ["whsec_" + "A" * 43 + "="],
    "a public key": ["whpk_" + "A" * 43 + "="],
    "not text": [None],
    "one string": SECRET,
    "too many": [SECRET] * 11,
}
WEAK_TOKENS = {
    "no token": None,
    "a short token": TOKEN,
    "a token of one letter": "x" * 40,
    "a token with a space": LONG_TOKEN + " x",
    "an empty token": "",
}
WEAK_AUTHORIZATIONS = {
    "a short credential": ["Bearer x"],
    "no scheme": [LONG_TOKEN],
    "a comma": [f"Bearer {LONG_TOKEN},{LONG_TOKEN}"],
    "one string": f"Bearer {LONG_TOKEN}",
    "not text": [None],
}
BAD_TOKENS = {
    "an empty token": "",
    "a token with a space": "a b",
    "a token with a newline": "a\n",
    "a token too long": "x" * 513,
    "a token that is not text": 7,
}


def start_cases() -> Iterator[Case]:
    for name, secrets in WEAK_SECRETS.items():
        yield _refused(f"HMAC with {name}", "hmac", hmac_secrets=secrets)
    raw_secret = base64.b64decode(SECRET.removeprefix("whsec_")).decode()
    yield _refused("HMAC with the token as secret", "hmac", notification_token=raw_secret)
    for name, token in WEAK_TOKENS.items():
        yield _refused(f"token only with {name}", "token", notification_token=token)
    for name, values in WEAK_AUTHORIZATIONS.items():
        yield _refused(f"token only with {name} to authorize", "token", notification_token=None, authorizations=values)
    yield from _token_proof_cases()


def _token_proof_cases() -> Iterator[Case]:
    for name, url in BAD_URLS.items():
        for setting in ("issuer", "audience"):
            yield _refused(f"strict with {setting} of {name}", "strict", **{setting: url})
    yield _refused("compat with http issuer", "compat", issuer="http://a2a.example.com")
    for name, token in BAD_TOKENS.items():
        yield _refused(f"strict with {name}", "strict", notification_token=token)
    yield _refused("strict with one string for tokens", "strict", notification_tokens=TOKEN)
    for size in (0, -1, 100, 10**9):
        yield _refused(f"strict with a body cap of {size}", "strict", max_body=size)


def _refused(name: str, mode: str, **fx: Any) -> Case:
    return case_of(f"start: {name}", REFUSED_TO_START, "", good(), mode=mode, fx=fx)
