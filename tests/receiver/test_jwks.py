"""The key cache: how often it asks, what it serves meanwhile, and what it never does."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from a2a_receiver import JwksCache
from a2a_receiver.https import HttpAnswer, HttpRequest
from a2a_receiver.jwks import COLD_RETRY, MAX_TTL, MIN_TTL, REFRESH_INTERVAL, STALE_IF_ERROR
from a2a_receiver.keys import Key, NoKey
from tests.receiver.making import NOW, key_set

URL = "https://a2a.example.com/.well-known/jwks.json"
KID = "test-es"


class Issuer:
    """The network, as far as the cache sees it."""

    def __init__(self) -> None:
        self.asked: list[HttpRequest] = []
        self.answer: Callable[[], HttpAnswer] = self.ok
        self.document: object = key_set()

    def ok(self, **headers: str) -> HttpAnswer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return HttpAnswer(200, named, json.dumps(self.document).encode())

    def is_down(self) -> None:
        def fail() -> HttpAnswer:
            raise TimeoutError

        self.answer = fail

    def __call__(self, request: HttpRequest) -> HttpAnswer:
        self.asked.append(request)
        return self.answer()


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def cache(issuer: Issuer) -> JwksCache:
    return JwksCache(URL, ask=issuer)


def test_keys_are_asked_for_once_while_they_are_fresh(cache: JwksCache, issuer: Issuer) -> None:
    found = {type(cache.find(KID, "ES256", now=NOW + after)) for after in range(0, MIN_TTL, 10)}

    assert found == {Key}
    assert [(request.method, request.url) for request in issuer.asked] == [("GET", URL)]


@pytest.mark.parametrize(
    ("stated", "lifetime"),
    [
        ("max-age=600", 600),
        ("public, max-age=600, must-revalidate", 600),
        ("max-age=1", MIN_TTL),
        ("max-age=0", MIN_TTL),
        ("no-store", MIN_TTL),
        ("max-age=999999999", MAX_TTL),
        ("max-age=-5", MIN_TTL),
        ("max-age=abc", MIN_TTL),
        ("s-maxage=600", MIN_TTL),
        ("", MIN_TTL),
    ],
)
def test_keys_live_as_long_as_the_issuer_says_within_limits(
    cache: JwksCache, issuer: Issuer, stated: str, lifetime: int
) -> None:
    issuer.answer = lambda: issuer.ok(cache_control=stated)
    cache.warm(now=NOW)

    cache.find(KID, "ES256", now=NOW + lifetime - 1)
    before = len(issuer.asked)
    cache.find(KID, "ES256", now=NOW + lifetime)

    assert (before, len(issuer.asked)) == (1, 2)


def test_an_unknown_kid_is_looked_for_once_a_minute_whatever_it_is_called(cache: JwksCache, issuer: Issuer) -> None:
    cache.warm(now=NOW - REFRESH_INTERVAL)

    found = {cache.find(f"kid-{number}", "ES256", now=NOW + number) for number in range(REFRESH_INTERVAL)}

    assert found == {NoKey.UNKNOWN}
    assert len(issuer.asked) == 2


def test_a_kid_that_was_just_looked_for_causes_no_second_look(cache: JwksCache, issuer: Issuer) -> None:
    cache.warm(now=NOW - REFRESH_INTERVAL)
    cache.find("absent", "ES256", now=NOW)

    cache.find("absent", "ES256", now=NOW + REFRESH_INTERVAL + 1)

    assert len(issuer.asked) == 2


def test_a_new_key_is_found_as_soon_as_it_is_published(cache: JwksCache, issuer: Issuer) -> None:
    issuer.document = {"keys": []}
    cache.warm(now=NOW - REFRESH_INTERVAL)
    issuer.document = key_set()

    assert isinstance(cache.find(KID, "ES256", now=NOW), Key)


def test_a_kid_guessed_before_its_time_does_not_keep_the_key_out(cache: JwksCache, issuer: Issuer) -> None:
    issuer.document = {"keys": []}
    cache.warm(now=NOW - REFRESH_INTERVAL)
    cache.find(KID, "ES256", now=NOW)
    issuer.document = key_set()

    assert isinstance(cache.find(KID, "ES256", now=NOW + MIN_TTL), Key)


def test_a_withdrawn_key_is_gone_after_the_next_refresh(cache: JwksCache, issuer: Issuer) -> None:
    cache.warm(now=NOW)
    issuer.document = {"keys": []}

    assert cache.find(KID, "ES256", now=NOW + MIN_TTL) is NoKey.UNKNOWN


def test_keys_outlive_an_outage_by_a_day_and_no_longer(cache: JwksCache, issuer: Issuer) -> None:
    cache.warm(now=NOW)
    issuer.is_down()

    last = NOW + MIN_TTL + STALE_IF_ERROR

    assert isinstance(cache.find(KID, "ES256", now=last - 1), Key)
    assert cache.find(KID, "ES256", now=last) is NoKey.UNAVAILABLE


def test_an_outage_is_asked_about_once_a_minute(cache: JwksCache, issuer: Issuer) -> None:
    cache.warm(now=NOW)
    issuer.is_down()

    for after in range(600):
        cache.find(KID, "ES256", now=NOW + MIN_TTL + after)

    assert len(issuer.asked) == 1 + 10


def test_an_unknown_kid_in_an_outage_is_our_trouble_and_not_the_senders(cache: JwksCache, issuer: Issuer) -> None:
    cache.warm(now=NOW - REFRESH_INTERVAL)
    issuer.is_down()

    found = [cache.find("new", "ES256", now=NOW + after) for after in (0, 1)]

    assert found == [NoKey.UNAVAILABLE] * 2
    assert len(issuer.asked) == 2


def test_a_cold_cache_in_an_outage_tries_again_soon(cache: JwksCache, issuer: Issuer) -> None:
    issuer.is_down()

    found = {cache.find(KID, "ES256", now=NOW + after) for after in range(COLD_RETRY * 3)}

    assert found == {NoKey.UNAVAILABLE}
    assert len(issuer.asked) == 3


def test_a_clock_that_was_set_back_does_not_stop_refreshes(cache: JwksCache, issuer: Issuer) -> None:
    issuer.document = {"keys": []}
    cache.warm(now=NOW)
    issuer.document = key_set()

    assert isinstance(cache.find(KID, "ES256", now=NOW - 3600), Key)


@pytest.mark.parametrize(
    "answer",
    [
        HttpAnswer(404, {}, b"{}"),
        HttpAnswer(302, {"location": "file:///etc/passwd"}, b""),
        HttpAnswer(200, {}, b""),
        HttpAnswer(200, {}, b"<html>"),
        HttpAnswer(200, {}, b'{"keys": {}}'),
        HttpAnswer(200, {}, b'{"keys": []' + b" " * 65536 + b"}"),
        HttpAnswer(200, {}, b"[" * 60000),
    ],
    ids=["404", "redirect", "empty", "html", "no list", "too large", "nested"],
)
def test_an_answer_that_is_no_key_set_leaves_the_held_keys_in_use(
    cache: JwksCache, issuer: Issuer, answer: HttpAnswer
) -> None:
    cache.warm(now=NOW)
    issuer.answer = lambda: answer

    assert isinstance(cache.find(KID, "ES256", now=NOW + MIN_TTL), Key)
    assert len(issuer.asked) == 2


def test_a_fetch_function_may_raise_whatever_it_likes(cache: JwksCache, issuer: Issuer) -> None:
    def raise_oddly() -> HttpAnswer:
        raise KeyError("a client library's own")

    issuer.answer = raise_oddly

    assert cache.find(KID, "ES256", now=NOW) is NoKey.UNAVAILABLE


def test_while_one_fetch_runs_known_keys_answer_and_nobody_else_asks(cache: JwksCache, issuer: Issuer) -> None:
    cache.warm(now=NOW)
    asked, may_answer = threading.Event(), threading.Event()

    def slow() -> HttpAnswer:
        asked.set()
        assert may_answer.wait(5)
        return issuer.ok()

    issuer.answer = slow
    later = NOW + MIN_TTL
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(cache.find, KID, "ES256", now=later)
        assert asked.wait(5)

        known = cache.find(KID, "ES256", now=later)
        unknown = cache.find("new", "ES256", now=later)
        may_answer.set()

        assert isinstance(first.result(5), Key)
    assert isinstance(known, Key)
    assert unknown is NoKey.UNAVAILABLE
    assert len(issuer.asked) == 2


def test_first_requests_that_come_together_share_one_fetch(cache: JwksCache, issuer: Issuer) -> None:
    start = threading.Barrier(8)

    def find() -> object:
        start.wait(5)
        return cache.find(KID, "ES256", now=NOW)

    with ThreadPoolExecutor(8) as pool:
        found = [future.result(5) for future in [pool.submit(find) for _ in range(8)]]

    assert {type(key) for key in found} == {Key}
    assert len(issuer.asked) == 1
