"""What the core does around the checks: enqueue, remember, observe, start."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from a2a_receiver import (
    Compat,
    ConfigError,
    MemoryChallenges,
    MemoryStore,
    Nudge,
    Observation,
    Receiver,
    Response,
    StandardWebhooks,
    Strict,
    TokenOnly,
)
from tests.receiver.making import (
    AUDIENCE,
    ISSUER,
    LONG_TOKEN,
    MSG,
    NOW,
    SECRET,
    TASK,
    TOKEN,
    good,
    hmac_request,
    sender,
)


def receiver(enqueue: Callable[[Nudge], object], **more: Any) -> Receiver:
    return Receiver(more.pop("proof", None) or sender().strict(), enqueue=enqueue, **more)


def post(to: Receiver, *, seq: int = 7, message: str = MSG) -> Response:
    return to.handle(*good(seq=seq, message=message).parts, now=NOW)


def test_a_nudge_says_which_task_and_version_and_leaves_the_rest_to_the_fetch() -> None:
    nudges: list[Nudge] = []

    answer = post(receiver(nudges.append))

    wanted = Nudge(TASK, 7, "TASK_STATE_COMPLETED", "ctx", MSG, ISSUER)
    assert nudges == [wanted]
    assert answer == Response(202, nudge=wanted)


def test_a_nudge_survives_a_queue_message() -> None:
    nudge = Nudge("täsk", 7, "TASK_STATE_WORKING", "ctx", MSG, ISSUER)

    text = nudge.to_json()

    assert text.isascii()
    assert Nudge.from_json(text) == nudge


def test_a_nudge_that_could_not_be_enqueued_is_taken_at_the_next_try() -> None:
    nudges: list[Nudge] = []
    queue_is_up = False

    def enqueue(nudge: Nudge) -> None:
        if not queue_is_up:
            raise ConnectionError
        nudges.append(nudge)

    strict = receiver(enqueue)
    first = post(strict)
    queue_is_up = True
    second = post(strict)

    assert (first.status, second.status, len(nudges)) == (503, 202, 1)


def test_a_nudge_is_remembered_only_after_it_was_enqueued() -> None:
    order: list[str] = []

    class Watched(MemoryStore):
        def mark(self, *args: Any, **kwargs: Any) -> None:
            order.append("mark")
            super().mark(*args, **kwargs)

    post(receiver(lambda _: order.append("enqueue"), store=Watched()))

    assert order == ["enqueue", "mark"]


class Broken(MemoryStore):
    """A store that is down for one of its calls."""

    def __init__(self, call: str) -> None:
        super().__init__()
        setattr(self, call, self._fail)

    def _fail(self, *_args: object, **_kwargs: object) -> None:
        raise ConnectionError("the store is down in this test")


@pytest.mark.parametrize("call", ["seen", "max_seq"])
def test_a_store_that_cannot_be_asked_makes_the_sender_try_again(call: str) -> None:
    nudges: list[Nudge] = []

    answer = post(receiver(nudges.append, store=Broken(call)))

    assert (answer.status, nudges) == (503, [])


def test_a_store_that_cannot_be_written_costs_a_duplicate_and_no_nudge() -> None:
    nudges: list[Nudge] = []
    forgetful = receiver(nudges.append, store=Broken("mark"))

    statuses = [post(forgetful).status, post(forgetful).status]

    assert (statuses, len(nudges)) == ([202, 202], 2)


def test_the_observer_hears_the_reason_and_the_caller_does_not() -> None:
    seen: list[Observation] = []
    strict = receiver(lambda _: None, observe=seen.append)

    answers = [post(strict), post(strict), strict.handle(*good().with_body(b"x").parts, now=NOW)]

    assert seen == [
        Observation(202, "accepted", "strict", TASK, MSG),
        Observation(202, "duplicate", "strict", TASK, MSG),
        Observation(401, "body_hash", "strict"),
    ]
    assert [(answer.status, answer.headers, answer.body) for answer in answers] == [
        (202, (), b""),
        (202, (), b""),
        (401, (), b""),
    ]


def test_an_observer_that_fails_changes_no_answer() -> None:
    def fail(_: Observation) -> None:
        raise RuntimeError("the metric is down in this test")

    assert post(receiver(lambda _: None, observe=fail)).status == 202


def test_no_log_line_holds_a_token_a_key_or_a_body(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    request = sender().nudge(TASK, seq=7, now=NOW)
    strict = receiver(lambda _: None)

    strict.handle(*request.parts, now=NOW)
    strict.handle(*request.with_body(b"{}").parts, now=NOW)
    proofs = [sender().strict(), StandardWebhooks(secrets=[SECRET]), TokenOnly(notification_tokens=[LONG_TOKEN])]

    written = caplog.text + repr(proofs)
    secrets = [TOKEN, LONG_TOKEN, SECRET, request.header("A2A-Push-Signature")[-40:], request.body.decode()]
    assert [secret for secret in secrets if secret in written] == []


def test_our_own_mistake_is_a_503_so_that_the_sender_tries_again() -> None:
    def broken(_: str) -> bool:
        raise ZeroDivisionError

    assert post(receiver(lambda _: None, knows_task=broken)).status == 503


def test_what_a_weaker_proof_told_does_not_silence_a_stronger_one() -> None:
    store, nudges = MemoryStore(), list[Nudge]()
    by_hmac = receiver(nudges.append, store=store, proof=StandardWebhooks(secrets=[SECRET]))
    strict = receiver(nudges.append, store=store)

    by_hmac.handle(*hmac_request().parts, now=NOW)
    answer = post(strict)

    assert (answer.status, len(nudges)) == (202, 2)


def test_two_receivers_for_the_same_sender_and_url_share_what_they_remember() -> None:
    store, nudges = MemoryStore(), list[Nudge]()

    for _ in range(2):
        post(receiver(nudges.append, store=store))

    assert len(nudges) == 1


def test_an_async_enqueue_is_awaited_before_the_answer() -> None:
    nudges: list[Nudge] = []

    async def enqueue(nudge: Nudge) -> None:
        await asyncio.sleep(0)
        nudges.append(nudge)

    answer = asyncio.run(receiver(enqueue).handle_async(*good().parts, now=NOW))

    assert (answer.status, len(nudges)) == (202, 1)


def test_an_asyncio_queue_takes_nudges_as_it_is() -> None:
    async def push() -> Nudge:
        queue: asyncio.Queue[Nudge] = asyncio.Queue()
        await receiver(queue.put).handle_async(*good().parts, now=NOW)
        return queue.get_nowait()

    assert asyncio.run(push()).task_id == TASK


def test_an_async_enqueue_that_fails_is_a_503() -> None:
    async def enqueue(_: Nudge) -> None:
        raise ConnectionError

    assert asyncio.run(receiver(enqueue).handle_async(*good().parts, now=NOW)).status == 503


def test_a_coroutine_that_nobody_would_await_is_not_taken_for_an_enqueued_nudge() -> None:
    async def enqueue(_: Nudge) -> None: ...

    def unmarked(nudge: Nudge) -> object:
        return enqueue(nudge)

    strict = receiver(unmarked)

    assert post(strict).status == 503
    assert asyncio.run(strict.handle_async(*good().parts, now=NOW)).status == 503


def test_a_first_request_waits_for_no_keys_that_were_loaded_at_the_start() -> None:
    fresh = sender()
    strict = receiver(lambda _: None)
    before = fresh.key_fetches

    assert strict.warm(now=NOW)
    statuses = {post(strict, seq=seq, message=f"msg_{seq}").status for seq in range(50)}

    assert (statuses, fresh.key_fetches - before) == ({202}, 1)


@pytest.mark.parametrize(
    "proof", [StandardWebhooks(secrets=[SECRET]), TokenOnly(notification_tokens=[LONG_TOKEN])], ids=["hmac", "token"]
)
def test_a_proof_without_keys_is_always_warm(proof: Any) -> None:
    assert receiver(lambda _: None, proof=proof).warm(now=NOW)


def test_a_method_that_is_not_taken_is_told_which_one_is() -> None:
    answer = receiver(lambda _: None).handle("PUT", [], b"", now=NOW)

    assert (answer.status, answer.headers) == (405, (("Allow", "POST"),))


@pytest.mark.parametrize("wrong", [None, "strict", object()])
def test_a_receiver_does_not_start_without_a_proof(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Receiver(wrong, enqueue=lambda _: None)


def test_a_receiver_does_not_start_without_a_queue() -> None:
    nothing: Any = None

    with pytest.raises(ConfigError):
        receiver(nothing)


@pytest.mark.parametrize("proof", [Strict, Compat])
@pytest.mark.parametrize(
    "url", ["http://a2a.example.com/keys", "file:///etc/passwd", "https://u@x.example/keys", "/keys", ""]
)
def test_keys_come_from_https_or_not_at_all(proof: Any, url: str) -> None:
    if url == "":
        assert proof(issuer=ISSUER, audience=AUDIENCE, jwks_url=url)  # as if it were not set
        return

    with pytest.raises(ConfigError, match="jwks_url"):
        proof(issuer=ISSUER, audience=AUDIENCE, jwks_url=url)


class TestOwnership:
    """The questions of a sender before it sends."""

    def ask(self, pending: MemoryChallenges, token: str, *, now: float = NOW) -> Response:
        strict = receiver(lambda _: None, challenges=pending)
        return strict.handle("GET", [], b"", now=now, query=f"validationToken={token}")

    def test_an_expected_token_is_returned_as_plain_text(self) -> None:
        pending = MemoryChallenges()
        pending.expect_token("t" * 32, now=NOW)

        answer = self.ask(pending, "t" * 32)

        plain = (("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff"))
        assert answer == Response(200, plain, b"t" * 32)

    def test_a_token_is_expected_for_ten_minutes(self) -> None:
        pending = MemoryChallenges()
        pending.expect_token("t" * 32, now=NOW)

        assert [self.ask(pending, "t" * 32, now=NOW + after).status for after in (599, 600)] == [200, 400]

    def test_the_next_token_is_answered_however_often_it_is_asked_and_no_other_one_is(self) -> None:
        pending = MemoryChallenges()
        pending.expect_next_token(now=NOW)

        asked = ["a" * 32, "a" * 32, "b" * 32]

        assert [self.ask(pending, token).status for token in asked] == [200, 200, 400]

    def test_the_next_token_is_not_waited_for_for_ever(self) -> None:
        pending = MemoryChallenges()
        pending.expect_next_token(now=NOW)

        assert self.ask(pending, "a" * 32, now=NOW + 600).status == 400

    def test_an_expected_sender_is_allowed_by_name(self) -> None:
        pending = MemoryChallenges()
        pending.expect_origin("a2a.example.com", now=NOW)
        strict = receiver(lambda _: None, challenges=pending)

        answer = strict.handle("OPTIONS", [("WebHook-Request-Origin", "a2a.example.com")], b"", now=NOW)

        allowed = (("WebHook-Allowed-Origin", "a2a.example.com"), ("WebHook-Allowed-Rate", "*"), ("Allow", "POST"))
        assert answer == Response(200, allowed)

    def test_a_token_is_no_sender_and_a_sender_no_token(self) -> None:
        pending = MemoryChallenges()
        pending.expect_token("t" * 32, now=NOW)
        pending.expect_origin("o" * 32, now=NOW)
        strict = receiver(lambda _: None, challenges=pending)

        assert self.ask(pending, "o" * 32).status == 400
        assert strict.handle("OPTIONS", [("WebHook-Request-Origin", "t" * 32)], b"", now=NOW).status == 400
