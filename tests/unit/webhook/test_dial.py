"""The dialler against receivers that are slow, greedy, lying or somebody else."""

import errno
import gzip
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from a2a_serverless.core.delivery_outcome import Answer, Fault, NoAnswer
from a2a_serverless.webhook.connection import UNACKNOWLEDGED, tcp_connect
from a2a_serverless.webhook.dial import Dialler, trust
from a2a_serverless.webhook.exchange import LIMITS, Limits, Request
from a2a_serverless.webhook.http1 import BODY_LIMIT
from a2a_serverless.webhook.pool import PER_ENDPOINT
from tests.unit.webhook.loopback import (
    ACCEPTED,
    IMPATIENCE,
    LOCAL,
    NAME,
    PATIENCE,
    PUBLIC,
    STRICT,
    Authority,
    Guest,
    Network,
    answering,
    post,
    receiver,
    url_of,
)


def test_a_nudge_reaches_the_receiver_byte_for_byte(authority: Authority) -> None:
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        exchange = Network(partner.port).dialler(cafile=authority.cafile).send(post())

    assert exchange.outcome == Answer(status=202)
    assert (exchange.address, exchange.tls, exchange.reused) == (PUBLIC, "TLSv1.3", False)
    assert b"".join(partner.requests) == (
        b"POST /a2a/push HTTP/1.1\r\nHost: rx.example.com\r\nAccept-Encoding: identity\r\n"
        b"Content-Type: application/a2a+json\r\nAuthorization: Bearer abc\r\nContent-Length: 14\r\n\r\n"
        b'{"nudge":true}'
    )


def test_the_certificate_is_asked_for_by_name_and_the_judged_address_is_dialled(authority: Authority) -> None:
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        network = Network(partner.port)
        network.dialler(cafile=authority.cafile).send(post(f"https://{NAME}:8443/p"))

    assert network.resolved == [NAME]
    assert network.dialled == [(PUBLIC, 8443)]
    assert partner.names == [NAME]
    assert b"\r\nHost: rx.example.com:8443\r\n" in partner.requests[0]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(status: int) -> None:
    moved = f"HTTP/1.1 {status} Moved\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n".encode()
    with receiver(answering(moved, ACCEPTED)) as partner:
        network = Network(partner.port, answers=[["127.0.0.1"]])
        exchange = network.dialler(policy=LOCAL).send(post("http://partner/p"))

    assert exchange.outcome == Answer(status=status)
    assert (len(partner.requests), len(network.resolved), len(network.dialled)) == (1, 1, 1)


def test_a_body_without_end_is_cut_at_64_kib(authority: Authority) -> None:
    sent = 0

    def pour(guest: Guest) -> None:
        nonlocal sent
        guest.request()
        guest.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5368709120\r\n\r\n")
        for _ in range(5 * 1024):
            guest.say(b"x" * 1024 * 1024)
            sent += 1

    with receiver(pour, tls=authority.context()) as partner:
        exchange = Network(partner.port).dialler(cafile=authority.cafile).send(post())

    assert exchange.outcome == Answer(status=200)
    assert len(exchange.body) == BODY_LIMIT
    assert sent < 64


def test_a_gzip_bomb_stays_packed() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n".encode()
    with receiver(answering(head + bomb)) as partner:
        exchange = _plain(partner.port).send(post("http://partner/p"))

    assert exchange.outcome == Answer(status=200)
    assert exchange.body == bomb[:BODY_LIMIT]


def test_a_flood_of_interim_answers_is_no_answer() -> None:
    with receiver(answering(b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000)) as partner:
        exchange = _plain(partner.port).send(post("http://partner/p"))

    assert exchange.outcome == NoAnswer(Fault.PROTOCOL, "too many interim answers")


def test_a_hint_before_the_answer_is_skipped() -> None:
    hinted = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
    with receiver(answering(hinted)) as partner:
        exchange = _plain(partner.port).send(post("http://partner/p"))

    assert exchange.outcome == Answer(status=204)


def test_headers_that_drip_end_at_the_deadline() -> None:
    def drip(guest: Guest) -> None:
        guest.request()
        guest.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Padding: 1\r\n" * 1000)

    with receiver(drip) as partner:
        began = time.monotonic()
        exchange = _plain(partner.port, limits=IMPATIENCE).send(post("http://partner/p"))

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.TIMEOUT
    assert time.monotonic() - began < 10


def test_a_body_that_drips_neither_holds_us_nor_undoes_the_answer() -> None:
    def drip(guest: Guest) -> None:
        guest.request()
        guest.say(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
        guest.drip(b"x" * 10_000)

    with receiver(drip) as partner:
        exchange = _plain(partner.port, limits=PATIENCE).send(post("http://partner/p"))

    assert exchange.outcome == Answer(status=200)
    assert exchange.milliseconds < 10_000


def test_a_receiver_that_says_nothing_runs_into_the_deadline() -> None:
    def wait(guest: Guest) -> None:
        guest.request()
        guest.stay()

    with receiver(wait) as partner:
        exchange = _plain(partner.port, limits=IMPATIENCE).send(post("http://partner/p"))

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.TIMEOUT


def test_a_receiver_that_never_agrees_on_tls_runs_into_the_deadline(authority: Authority) -> None:
    with receiver(Guest.stay) as partner:
        dialler = Network(partner.port).dialler(cafile=authority.cafile, limits=IMPATIENCE)
        exchange = dialler.send(post())

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.TIMEOUT


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nlonger than five",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshorter",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_an_answer_that_lies_about_its_length_counts_but_its_connection_does_not(answer: bytes) -> None:
    with receiver(answering(answer, ACCEPTED)) as partner:
        network = Network(partner.port, answers=[["127.0.0.1"]])
        dialler = network.dialler(policy=LOCAL)
        first, second = dialler.send(post("http://partner/p")), dialler.send(post("http://partner/p"))

    assert (first.outcome, second.outcome) == (Answer(status=200), Answer(status=200))
    assert (second.reused, len(network.dialled)) == (False, 2)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/0.9 200 OK\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"<html>hello</html>\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-Padding: " + b"x" * 40_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A:\r\n" * 5000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
    ],
)
def test_what_is_no_answer_is_no_answer(answer: bytes) -> None:
    with receiver(answering(answer)) as partner:
        exchange = _plain(partner.port).send(post("http://partner/p"))

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.PROTOCOL


@pytest.mark.parametrize(
    ("name", "days", "self_signed"),
    [("other.example.com", 30, False), (NAME, -2, False), (NAME, 30, True)],
    ids=["other name", "expired", "self-signed"],
)
def test_a_certificate_that_does_not_hold_is_a_tls_fault(
    authority: Authority, name: str, days: int, self_signed: bool
) -> None:
    context = authority.context(name, days=days, self_signed=self_signed)
    with receiver(answering(ACCEPTED), tls=context) as partner:
        exchange = Network(partner.port).dialler(cafile=authority.cafile).send(post())

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.TLS
    assert partner.requests == []


def test_a_receiver_that_stopped_at_tls_1_1_is_a_tls_fault(authority: Authority) -> None:
    with receiver(answering(ACCEPTED), tls=authority.old_context()) as partner:
        exchange = Network(partner.port).dialler(cafile=authority.cafile).send(post())

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.TLS


def test_the_trust_of_a_deployment_is_strict() -> None:
    context = trust()

    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not context.hostname_checks_common_name
    assert context.keylog_filename is None


def test_a_receiver_that_talks_plain_http_on_a_tls_port_is_a_tls_fault(authority: Authority) -> None:
    def shout(guest: Guest) -> None:
        guest.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        guest.stay()

    with receiver(shout) as partner:
        exchange = Network(partner.port).dialler(cafile=authority.cafile).send(post())

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.TLS


def test_nobody_at_the_address_is_a_connect_fault() -> None:
    with receiver(answering()) as partner:
        port = partner.port
    exchange = _plain(port).send(post("http://partner/p"))

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.CONNECT


def test_a_second_address_is_tried_when_the_first_is_dead(authority: Authority) -> None:
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        network = Network(partner.port, answers=[["8.8.8.8", PUBLIC, "1.1.1.1"]], dead=frozenset({"8.8.8.8"}))
        exchange = network.dialler(cafile=authority.cafile).send(post())

    assert exchange.outcome == Answer(status=202)
    assert network.dialled == [("8.8.8.8", 443), (PUBLIC, 443)]
    assert network.resolved == [NAME]


@pytest.mark.parametrize("answers", [["169.254.169.254"], [PUBLIC, "10.0.0.1"], ["10.0.0.1", PUBLIC], ["::1"], ["x"]])
def test_one_bad_answer_is_enough_and_nothing_is_dialled(answers: Sequence[str]) -> None:
    network = Network(1, answers=[answers])

    exchange = network.dialler().send(post())

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.BLOCKED_ADDRESS
    assert network.dialled == []


def test_a_name_that_changes_its_mind_is_asked_once_per_connection(authority: Authority) -> None:
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        network = Network(partner.port, answers=[[PUBLIC], ["127.0.0.1"]])
        dialler = network.dialler(cafile=authority.cafile)
        first = dialler.send(post())
        resolved, dialled = list(network.resolved), list(network.dialled)
        dialler.close_idle()
        second = dialler.send(post())

    assert (first.outcome, resolved, dialled) == (Answer(status=202), [NAME], [(PUBLIC, 443)])
    assert isinstance(second.outcome, NoAnswer)
    assert second.outcome.fault is Fault.BLOCKED_ADDRESS
    assert network.dialled == dialled


@pytest.mark.parametrize("answer", [[], OSError("Name or service not known")])
def test_a_name_without_address_is_a_dns_fault(answer: Sequence[str] | OSError) -> None:
    exchange = Network(1, answers=[answer]).dialler().send(post())

    assert isinstance(exchange.outcome, NoAnswer)
    assert exchange.outcome.fault is Fault.DNS


def test_a_name_server_that_hangs_does_not_hold_us() -> None:
    released = threading.Event()

    def hang(host: str, ipv6: bool) -> Sequence[str]:
        released.wait(10)
        return [PUBLIC]

    dialler = Dialler(trust(), policy=STRICT, limits=IMPATIENCE, resolver=hang)
    exchange = dialler.send(post())
    released.set()

    assert exchange.outcome == NoAnswer(Fault.DNS, "the name was not resolved in time")
    assert exchange.milliseconds < 9_000


def test_a_connection_is_used_again_while_it_is_young(authority: Authority) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\n\r\n"
    with receiver(answering(ACCEPTED, chunked, ACCEPTED), tls=authority.context()) as partner:
        network = Network(partner.port)
        dialler = network.dialler(cafile=authority.cafile)
        exchanges = [dialler.send(post()) for _ in range(3)]

    assert [exchange.outcome for exchange in exchanges] == [Answer(status=n) for n in (202, 200, 202)]
    assert [exchange.reused for exchange in exchanges] == [False, True, True]
    assert exchanges[1].body == b"ok"
    assert (partner.connections, len(network.resolved)) == (1, 1)


def test_an_old_connection_is_not_used_and_its_name_is_judged_again(authority: Authority) -> None:
    with receiver(answering(ACCEPTED, ACCEPTED), tls=authority.context()) as partner:
        network = Network(partner.port)
        dialler = network.dialler(cafile=authority.cafile)
        dialler.send(post())
        network.offset = 30.0
        second = dialler.send(post())

    assert not second.reused
    assert network.resolved == [NAME, NAME]


def test_a_connection_that_was_frozen_with_its_process_has_aged(authority: Authority) -> None:
    with receiver(answering(ACCEPTED, ACCEPTED), tls=authority.context()) as partner:
        network = Network(partner.port)
        dialler = network.dialler(cafile=authority.cafile)
        dialler.send(post())
        network.frozen = 30.0
        second = dialler.send(post())

    assert (second.outcome, second.reused, partner.connections) == (Answer(status=202), False, 2)


@pytest.mark.parametrize("lost", ["send", "recv"])
def test_a_kept_connection_whose_path_is_gone_is_replaced_once(lost: str) -> None:
    with receiver(answering(ACCEPTED, ACCEPTED)) as partner:
        network = Network(partner.port, answers=[["127.0.0.1"]])
        dialler = network.dialler(policy=LOCAL)
        paths: list[_LosablePath] = []
        dialler._connect = lambda *at: _kept(paths, _LosablePath(network.connect(*at)))
        first = dialler.send(post("http://partner/p"))
        paths[0].lost = lost
        second = dialler.send(post("http://partner/p"))

    assert (first.outcome, second.outcome) == (Answer(status=202), Answer(status=202))
    assert (second.reused, len(paths)) == (False, 2)


def test_a_new_connection_whose_path_is_gone_is_a_fault_of_connecting_and_no_second_request() -> None:
    with receiver(answering(ACCEPTED)) as partner:
        network = Network(partner.port, answers=[["127.0.0.1"]])
        dialler = network.dialler(policy=LOCAL)
        paths: list[_LosablePath] = []
        dialler._connect = lambda *at: _kept(paths, _LosablePath(network.connect(*at), lost="recv"))
        exchange = dialler.send(post("http://partner/p"))

    assert exchange.outcome == NoAnswer(Fault.CONNECT, "what was sent was not acknowledged")
    assert len(paths) == 1


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="an option of Linux")
def test_the_system_gives_up_on_what_is_not_acknowledged() -> None:
    with receiver(answering(ACCEPTED)) as partner, tcp_connect("127.0.0.1", partner.port, 5.0) as connected:
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1000 * UNACKNOWLEDGED


class _LosablePath(socket.socket):
    """A connected socket between which and the other side all packets may be dropped, without a word to either."""

    def __init__(self, connected: socket.socket, *, lost: str = "") -> None:
        super().__init__(connected.family, connected.type, connected.proto, connected.detach())
        self.lost = lost

    def send(self, *about: Any) -> int:
        if self.lost == "send":
            raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")
        return len(about[0]) if self.lost else super().send(*about)

    def recv(self, *about: Any) -> bytes:
        if self.lost == "recv" and self.gettimeout() != 0:
            raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")
        return super().recv(*about)


def _kept(paths: list[_LosablePath], path: _LosablePath) -> _LosablePath:
    paths.append(path)
    return path


def test_a_kept_connection_that_died_costs_nothing() -> None:
    closing = threading.Event()

    def once(guest: Guest) -> None:
        guest.request()
        guest.say(ACCEPTED)
        if not closing.is_set():
            closing.wait(5)

    with receiver(once) as partner:
        network = Network(partner.port, answers=[["127.0.0.1"]])
        dialler = network.dialler(policy=LOCAL)
        dialler.send(post("http://partner/p"))
        closing.set()
        second = dialler.send(post("http://partner/p"))

    assert second.outcome == Answer(status=202)


def test_a_kept_connection_that_dies_under_the_request_is_replaced_once() -> None:
    def hang_up_on_the_second(guest: Guest) -> None:
        guest.request()
        guest.say(ACCEPTED)
        guest.request()

    with receiver(hang_up_on_the_second) as partner:
        dialler = _plain(partner.port)
        first, second = dialler.send(post("http://partner/p")), dialler.send(post("http://partner/p"))

    assert (first.outcome, second.outcome) == (Answer(status=202), Answer(status=202))
    assert not second.reused
    assert len(partner.requests) == 3


def test_a_kept_connection_that_falls_silent_is_a_timeout_and_no_second_request() -> None:
    def fall_silent(guest: Guest) -> None:
        guest.request()
        guest.say(ACCEPTED)
        guest.request()
        guest.stay()

    with receiver(fall_silent) as partner:
        dialler = _plain(partner.port, limits=IMPATIENCE)
        dialler.send(post("http://partner/p"))
        second = dialler.send(post("http://partner/p"))

    assert isinstance(second.outcome, NoAnswer)
    assert (second.outcome.fault, second.reused) == (Fault.TIMEOUT, True)
    assert partner.connections == 1


def test_a_request_that_was_half_answered_is_not_sent_again() -> None:
    def stutter(guest: Guest) -> None:
        guest.request()
        guest.say(ACCEPTED)
        guest.request()
        guest.say(b"HTTP/1.1 20")

    with receiver(stutter) as partner:
        dialler = _plain(partner.port)
        dialler.send(post("http://partner/p"))
        second = dialler.send(post("http://partner/p"))

    assert isinstance(second.outcome, NoAnswer)
    assert (second.outcome.fault, second.reused) == (Fault.PROTOCOL, True)
    assert len(partner.requests) == 2


def test_time_that_ran_out_between_two_reads_is_a_timeout() -> None:
    network = Network(0, answers=[["127.0.0.1"]])

    def late(guest: Guest) -> None:
        guest.request()
        network.offset = 100.0
        guest.say(b"HTTP/1.1 ")
        guest.stay()

    with receiver(late) as partner:
        network.port = partner.port
        exchange = network.dialler(policy=LOCAL).send(post("http://partner/p"))

    assert exchange.outcome == NoAnswer(Fault.TIMEOUT, "the exchange took too long")


def test_time_that_ran_out_while_resolving_is_not_spent_on_connecting() -> None:
    network = Network(1)

    def slow(host: str, ipv6: bool) -> Sequence[str]:
        network.offset = 100.0
        return [PUBLIC]

    dialler = Dialler(
        trust(), policy=STRICT, limits=LIMITS, resolver=slow, connect=network.connect, monotonic=network.monotonic
    )
    exchange = dialler.send(post())

    assert exchange.outcome == NoAnswer(Fault.TIMEOUT, "there was no time left to connect")
    assert network.dialled == []


@pytest.mark.parametrize(("address", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_an_address_is_dialled_in_its_family(address: str, family: socket.AddressFamily) -> None:
    try:
        listening = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("this machine does not speak it")
    with listening, tcp_connect(address, listening.getsockname()[1], 5.0) as connected:
        assert connected.family == family
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_answer_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    smuggled = ACCEPTED + b"HTTP/1.1 200 Smuggled\r\nContent-Length: 0\r\n\r\n"
    with receiver(answering(smuggled, ACCEPTED)) as partner:
        network = Network(partner.port, answers=[["127.0.0.1"]])
        dialler = network.dialler(policy=LOCAL)
        first, second = dialler.send(post("http://partner/p")), dialler.send(post("http://partner/p"))

    assert (first.outcome, second.outcome) == (Answer(status=202), Answer(status=202))
    assert not second.reused


def test_what_came_unasked_between_two_requests_ends_the_connection() -> None:
    go, said = threading.Event(), threading.Event()

    def chatter(guest: Guest) -> None:
        guest.request()
        guest.say(ACCEPTED)
        go.wait(10)
        guest.say(b"HTTP/1.1 200 Smuggled\r\nContent-Length: 0\r\n\r\n")
        said.set()
        if guest.request():
            guest.say(ACCEPTED)

    with receiver(chatter) as partner:
        dialler = _plain(partner.port)
        dialler.send(post("http://partner/p"))
        go.set()
        said.wait(10)
        second = dialler.send(post("http://partner/p"))

    assert (second.outcome, second.reused) == (Answer(status=202), False)


def test_endpoints_do_not_share_connections(authority: Authority) -> None:
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        dialler = Network(partner.port).dialler(cafile=authority.cafile)
        dialler.send(post())
        other = dialler.send(post(f"https://{NAME}:8443/a2a/push"))

    assert not other.reused


def test_the_environment_names_no_proxy(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with receiver(answering(ACCEPTED), tls=authority.context()) as partner:
        network = Network(partner.port)
        exchange = network.dialler(cafile=authority.cafile).send(post())

    assert exchange.outcome == Answer(status=202)
    assert network.dialled == [(PUBLIC, 443)]


def test_the_steering_headers_reach_the_decision() -> None:
    answer = b"HTTP/1.1 503 Busy\r\nretry-after:  120 \r\nWebHook-Delivery: disable\r\nContent-Length: 0\r\n\r\n"
    with receiver(answering(answer)) as partner:
        exchange = _plain(partner.port).send(post("http://partner/p"))

    assert exchange.outcome == Answer(status=503, retry_after="120", control="disable")


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b", "ü"])
def test_a_header_that_could_end_its_line_is_never_sent(value: str) -> None:
    network = Network(1)
    request = Request(method="POST", url=url_of(f"https://{NAME}/p"), headers=(("X", value),))

    with pytest.raises(ValueError, match=r"control character|ascii"):
        network.dialler().send(request)

    assert network.resolved == []


def test_many_threads_may_send_at_once(authority: Authority) -> None:
    outcomes: list[object] = []
    with receiver(answering(*[ACCEPTED] * 10), tls=authority.context()) as partner:
        dialler = Network(partner.port).dialler(cafile=authority.cafile, limits=Limits())
        threads = [threading.Thread(target=lambda: outcomes.append(dialler.send(post()).outcome)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert outcomes == [Answer(status=202)] * 20


def _plain(port: int, *, limits: Limits = PATIENCE) -> Dialler:
    network = Network(port, answers=[["127.0.0.1"]])
    return network.dialler(policy=LOCAL, limits=limits)


def test_the_limits_of_a_deployment_are_the_published_ones() -> None:
    assert Limits(connect=3.0, total=10.0, linger=1.0, body=64 * 1024, reuse=30.0) == LIMITS


def test_no_more_connections_are_kept_than_fit() -> None:
    gate = threading.Barrier(PER_ENDPOINT + 4)

    def together(guest: Guest) -> None:
        while guest.request():
            if guest.stop.is_set() or gate.broken:
                return
            gate.wait(5)
            guest.say(ACCEPTED)

    with receiver(together) as partner:
        dialler = _plain(partner.port, limits=LIMITS)
        threads = [
            threading.Thread(target=dialler.send, args=(post("http://partner/p"),)) for _ in range(PER_ENDPOINT + 4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept = sum(len(connections) for connections in dialler._pool._idle.values())

    assert kept == PER_ENDPOINT
