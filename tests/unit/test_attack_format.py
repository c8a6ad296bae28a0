"""What a file of attacks says is understood word by word, or named: nothing passes for not having been run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.attack_format import SAMPLE, Entry, attack_files, entries, problems, vectors


@pytest.mark.parametrize("entry", entries(*attack_files()), ids=lambda entry: entry.id)
def test_every_vector_is_understood(entry: Entry) -> None:
    assert not entry.problems, f"{entry.id} was not run: {'; '.join(entry.problems)}"


RECEIVED: dict[str, Any] = {
    "id": "R-1",
    "side": "receiver",
    "input": {"mode": "strict", "requests": [{"method": "POST", "url": "https://rx.example.com/a2a/push"}]},
    "expected": {"status": 401, "reason": "no_signature"},
}
REGISTERED: dict[str, Any] = {
    "id": "S-1",
    "side": "sender",
    "input": {"op": "register", "url": "https://rx.example.com/"},
    "expected": {"result": "accept"},
}
DELIVERED: dict[str, Any] = {
    "id": "S-2",
    "side": "sender",
    "input": {"op": "deliver", "url": "https://rx.example.com/", "dns": ["8.8.8.8"]},
    "expected": {"result": "dial:8.8.8.8"},
}
ATTEMPTED: dict[str, Any] = {
    "id": "S-3",
    "side": "sender",
    "input": {"op": "attempt", "attempt": 0, "response": {"status": 500}},
    "expected": {"verdict": "retry", "delay_s": 5},
}


def with_input(vector: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return vector | {"input": vector["input"] | changed}


def with_expected(vector: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return vector | {"expected": vector["expected"] | changed}


def with_request(**changed: Any) -> dict[str, Any]:
    return with_input(RECEIVED, requests=[RECEIVED["input"]["requests"][0] | changed])


def with_response(**response: Any) -> dict[str, Any]:
    return with_input(ATTEMPTED, response=response)


UNDERSTOOD = [
    RECEIVED,
    REGISTERED,
    DELIVERED,
    ATTEMPTED,
    with_request(headers={"webhook-id": "m"}, now=0, body_b64="e30=", query={"a": "b"}),
    with_input(RECEIVED, requests=[], fx_override={"hmac_secrets": [""]}, jwks_down=True, max_jwks_fetches=0),
    with_input(DELIVERED, dns_second=["127.0.0.1"]),
    with_input(DELIVERED, dns=[["8.8.8.8"], ["127.0.0.1"]]),
    with_expected(DELIVERED, resolutions=1),
    with_input(ATTEMPTED, content_type="application/json"),
    with_response(error="tls_no_such_cipher"),
    with_response(status=200, headers=[["Retry-After", "1"], ["Retry-After", "2"]], body="gzip bomb"),
    with_expected(ATTEMPTED, verdict="dead_letter", delay_s=None, followed=False),
    REGISTERED | {"note": "words about a vector are free"},
]


@pytest.mark.parametrize("vector", UNDERSTOOD)
def test_a_vector_of_the_format_has_no_problem(vector: dict[str, Any]) -> None:
    assert list(problems(vector)) == []


NOT_UNDERSTOOD = {
    "must be an object": "x",
    "id must be text": {name: value for name, value in RECEIVED.items() if name != "id"},
    "input and expected": {"id": "x", "side": "sender"},
    "side is 'proxy'": RECEIVED | {"side": "proxy"},
    "input.op is 'ping'": with_input(REGISTERED, op="ping"),
    "input.op is None": REGISTERED | {"input": {"url": "x"}},
    "input.mode cannot be": with_input(RECEIVED, mode="mtls"),
    "input.mode is missing": RECEIVED | {"input": {"requests": []}},
    "input.clock_skew is not understood": with_input(RECEIVED, clock_skew=5),
    "input.jwks_down cannot be": with_input(RECEIVED, jwks_down="yes"),
    "input.max_jwks_fetches cannot be": with_input(RECEIVED, max_jwks_fetches=True),
    "input.fx_override cannot be": with_input(RECEIVED, fx_override=[]),
    "input.fx_override.keys is not understood": with_input(RECEIVED, fx_override={"keys": []}),
    "input.requests cannot be": with_input(RECEIVED, requests={}),
    "input.requests[0] must be an object": with_input(RECEIVED, requests=["POST"]),
    "input.requests[0].trailers is not understood": with_request(trailers=[]),
    "input.requests[0].method cannot be": with_request(method=None),
    "input.requests[0].headers cannot be": with_request(headers=[["a"]]),
    "input.requests[0].body_b64 cannot be": with_request(body_b64="%%"),
    "input.requests[0].now cannot be": with_request(now="today"),
    "input.requests[0].query cannot be": with_request(query="a=b"),
    "input.requests[0].url is missing": with_input(RECEIVED, requests=[{"method": "GET"}]),
    "expected.status cannot be": with_expected(RECEIVED, status=None),
    "expected.status is missing": RECEIVED | {"expected": {}},
    "expected.log is not understood": with_expected(RECEIVED, log="x"),
    "input.url cannot be": with_input(REGISTERED, url=None),
    "input.header is not understood": with_input(REGISTERED, header="X-A: b"),
    "input.token cannot be": with_input(REGISTERED, token=7),
    "expected.result cannot be": with_expected(REGISTERED, result="maybe"),
    "input.dns is missing": DELIVERED | {"input": {"op": "deliver", "url": "x"}},
    "input.dns cannot be": with_input(DELIVERED, dns=["127.1"]),
    "input.ttl cannot be": with_input(DELIVERED, ttl=0),
    'result cannot be "dial"': with_expected(DELIVERED, result="dial"),
    "input.attempt cannot be": with_input(ATTEMPTED, attempt=-1),
    "input.breaker is not understood": with_input(ATTEMPTED, breaker="open"),
    "input.content_type cannot be": with_input(ATTEMPTED, content_type="text/plain"),
    "input.response.trailers is not understood": with_response(status=200, trailers={}),
    "input.response.error cannot be": with_response(error="gremlins"),
    "input.response.status cannot be": with_response(status="200"),
    "must have a status or an error": with_response(body="x"),
    "expected.verdict cannot be": with_expected(ATTEMPTED, verdict="shrug"),
    "expected.delay_s cannot be": with_expected(ATTEMPTED, delay_s="5"),
    "expected.followed cannot be": with_expected(ATTEMPTED, followed=True),
    "expected.alerts is not understood": with_expected(ATTEMPTED, alerts=1),
}


@pytest.mark.parametrize(("said", "vector"), NOT_UNDERSTOOD.items(), ids=NOT_UNDERSTOOD)
def test_what_is_not_understood_is_named(said: str, vector: object) -> None:
    assert [problem for problem in problems(vector) if said in problem]


def test_a_vector_that_is_not_understood_takes_no_other_with_it(tmp_path: Path) -> None:
    file = tmp_path / "attacks.json"
    file.write_text(json.dumps([RECEIVED, with_input(REGISTERED, op="ping"), 7, ATTEMPTED]), encoding="utf-8")

    read = entries(file)

    assert [(entry.id, bool(entry.problems)) for entry in read] == [
        ("R-1", False),
        ("S-1", True),
        ("attacks.json, entry 3", True),
        ("S-3", False),
    ]
    assert vectors("receiver", file) == [RECEIVED]
    assert vectors("sender", file, op="attempt") == [ATTEMPTED]


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "null", "\ufeff[]"])
def test_a_file_that_holds_no_vectors_is_named_itself(tmp_path: Path, text: str) -> None:
    file = tmp_path / "attacks.json"
    file.write_text(text, encoding="utf-8")

    (entry,) = entries(file)

    assert entry.id == "attacks.json"
    assert entry.problems


def test_a_file_that_is_not_there_is_named_itself(tmp_path: Path) -> None:
    (entry,) = entries(tmp_path / "attacks.json")

    assert entry.id == "attacks.json"
    assert entry.problems


def test_the_files_are_the_sample_and_our_own_unless_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEBHOOK_ATTACKS", raising=False)
    assert SAMPLE in attack_files()

    monkeypatch.setenv("WEBHOOK_ATTACKS", "/elsewhere/attacks.json")
    assert attack_files() == (Path("/elsewhere/attacks.json"),)
