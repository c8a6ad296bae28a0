"""Fetching the authoritative task: from where, as whom, until when."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal

import pytest

from a2a_receiver import NUDGE_EXTENSION, ConfigError, Nudge
from a2a_receiver.credentials import ClientCredentials, CredentialsFailed, StaticBearer
from a2a_receiver.https import HttpAnswer, HttpRequest
from a2a_receiver.tasks import (
    WAITS,
    AccessDenied,
    AgentUnavailable,
    FetchedTask,
    TaskBehind,
    TaskClient,
    TaskNotFound,
)
from tests.receiver.agent_double import BASE, Agent, ok, task

NUDGE = Nudge("t", 7)
BINDINGS: list[Literal["JSONRPC", "HTTP+JSON"]] = ["JSONRPC", "HTTP+JSON"]


def client(agent: Callable[[HttpRequest], HttpAnswer], slept: list[float] | None = None, **more: Any) -> TaskClient:
    naps: list[float] = [] if slept is None else slept
    return TaskClient(BASE, ask=agent, sleep=naps.append, **more)


def down() -> HttpAnswer:
    raise ConnectionError("the agent is down in this test")


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> Literal["JSONRPC", "HTTP+JSON"]:
    return "JSONRPC" if request.param == "JSONRPC" else "HTTP+JSON"


def test_the_task_comes_with_its_version(binding: Literal["JSONRPC", "HTTP+JSON"]) -> None:
    fetched = client(Agent([task()]), binding=binding).fetch(NUDGE)

    assert fetched == FetchedTask(task(), 7)
    assert (fetched.task_id, fetched.state) == ("t", "TASK_STATE_COMPLETED")


def test_json_rpc_asks_at_the_configured_address_in_version_1() -> None:
    agent = Agent([task()])

    client(agent, credentials=StaticBearer("own-token")).fetch(NUDGE)

    (asked,) = agent.seen
    assert (asked.method, asked.url) == ("POST", BASE)
    assert json.loads(asked.body or b"") == {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t"}}
    assert asked.headers == {
        "A2A-Version": "1.0",
        "Accept": "application/json, application/a2a+json",
        "Authorization": "Bearer own-token",
        "Content-Type": "application/json",
    }


def test_rest_asks_below_the_configured_address() -> None:
    agent = Agent([task("a/b?c")])

    client(agent, binding="HTTP+JSON").fetch(Nudge("a/b?c", 7))

    (asked,) = agent.seen
    assert (asked.method, asked.url, asked.body) == ("GET", f"{BASE}/tasks/a%2Fb%3Fc", None)


@pytest.mark.parametrize("task_id", [".", "..", "", "a b", "é", "x" * 257])
def test_an_id_that_would_lead_elsewhere_is_not_asked_for(task_id: str) -> None:
    agent = Agent([task()])

    with pytest.raises(TaskNotFound):
        client(agent, binding="HTTP+JSON").get(task_id)

    assert agent.seen == []


def test_an_older_version_is_asked_for_again_until_it_is_there(binding: Literal["JSONRPC", "HTTP+JSON"]) -> None:
    slept: list[float] = []

    fetched = client(Agent([task(seq=5), task(seq=6), task(seq=8)]), slept, binding=binding).fetch(NUDGE)

    assert (fetched.seq, slept) == (8, [0.2, 0.5])


def test_a_task_that_stays_behind_is_told_with_what_there_is() -> None:
    slept: list[float] = []

    with pytest.raises(TaskBehind) as caught:
        client(Agent([task(seq=5)]), slept).fetch(NUDGE)

    assert (caught.value.fetched.seq, slept) == (5, list(WAITS))


@pytest.mark.parametrize("first", [None, down, lambda: ok({}, status=503), lambda: HttpAnswer(200, {}, b"<html>")])
def test_what_may_pass_is_tried_again(first: Any, binding: Literal["JSONRPC", "HTTP+JSON"]) -> None:
    slept: list[float] = []

    fetched = client(Agent([first, task()]), slept, binding=binding).fetch(NUDGE)

    assert (fetched.seq, slept) == (7, [0.2])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, TaskNotFound),
        (down, AgentUnavailable),
        (lambda: ok({}, status=500), AgentUnavailable),
        (lambda: ok([]), AgentUnavailable),
        (lambda: HttpAnswer(200, {}, b'{"id": "t", "id": "u"}'), AgentUnavailable),
        (lambda: HttpAnswer(302, {"location": "https://evil.example"}, b""), AgentUnavailable),
        (task("another"), AgentUnavailable),
        (lambda: ok({}, status=403), AccessDenied),
        (lambda: ok({}, status=401), AccessDenied),
    ],
)
def test_what_does_not_pass_is_told_by_its_kind(
    answer: Any, error: type[Exception], binding: Literal["JSONRPC", "HTTP+JSON"]
) -> None:
    with pytest.raises(error):
        client(Agent([answer]), binding=binding).fetch(NUDGE)


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "id": 99, "result": task()},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": []},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x"}},
    ],
)
def test_a_json_rpc_answer_to_nothing_we_asked_is_none(answer: object) -> None:
    with pytest.raises(AgentUnavailable):
        client(lambda _: ok(answer)).get("t")


def test_an_agent_that_states_no_version_is_believed_at_once() -> None:
    slept: list[float] = []

    fetched = client(Agent([task(seq=None)]), slept).fetch(NUDGE)

    assert (fetched.seq, slept) == (None, [])


@pytest.mark.parametrize("metadata", [7, [], {}, {"x": 1}, {"seq": 7}, {"seq": "-1"}, {"seq": "x"}])
def test_odd_metadata_is_no_version(metadata: object) -> None:
    odd = task(seq=None) | {"metadata": {NUDGE_EXTENSION: metadata}}

    assert client(Agent([odd])).get("t").seq is None


def test_another_extension_can_hold_the_version() -> None:
    found = task(seq=None) | {"metadata": {"https://other.example/ext": {"seq": "9"}}}

    assert client(Agent([found]), extension_uri="https://other.example/ext").get("t").seq == 9


@pytest.mark.parametrize("url", ["http://agent.example.com", "agent.example.com", "https://u:p@agent.example.com", ""])
def test_a_client_asks_nobody_over_plain_http(url: str) -> None:
    with pytest.raises(ConfigError):
        TaskClient(url)


def test_plain_http_is_for_loopback_where_it_was_allowed() -> None:
    TaskClient("http://127.0.0.1:8000", allow_loopback_http=True)
    with pytest.raises(ConfigError):
        TaskClient("http://agent.example.com", allow_loopback_http=True)


class Slow:
    """An agent that answers when it is let."""

    def __init__(self, *tasks: dict[str, Any]) -> None:
        self.tasks = list(tasks)
        self.asked = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.calls = 0
        self._lock = threading.Lock()

    def __call__(self, request: HttpRequest) -> HttpAnswer:
        with self._lock:
            self.calls += 1
            found = self.tasks.pop(0) if len(self.tasks) > 1 else self.tasks[0]
        self.asked.release()
        assert self.may_answer.wait(10)
        return ok({"jsonrpc": "2.0", "id": json.loads(request.body or b"")["id"], "result": found})


def fetch_together(agent: Slow, first: Nudge, second: Nudge) -> list[FetchedTask]:
    tasks = client(agent)
    with ThreadPoolExecutor(2) as pool:
        leader = pool.submit(tasks.fetch, first)
        assert agent.asked.acquire(timeout=10)
        follower = pool.submit(tasks.fetch, second)
        agent.may_answer.set()
        return [leader.result(10), follower.result(10)]


class WatchedFlight(Future[FetchedTask]):
    """A fetch under way that tells when somebody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_waited_for = threading.Event()

    def result(self, timeout: float | None = None) -> FetchedTask:
        self.is_waited_for.set()
        return super().result(timeout)


def test_a_nudge_waits_for_a_fetch_that_is_under_way_and_takes_it_if_it_reaches_far_enough() -> None:
    agent, flight = Agent([task(seq=8)]), WatchedFlight()
    tasks = client(agent)
    tasks._flights["t"] = flight

    with ThreadPoolExecutor(1) as pool:
        follower = pool.submit(tasks.fetch, NUDGE)
        assert flight.is_waited_for.wait(10)
        flight.set_result(FetchedTask(task(seq=9), 9))

        assert follower.result(10).seq == 9
    assert agent.seen == []


def test_a_nudge_tries_for_itself_when_the_fetch_it_waited_for_failed() -> None:
    flight = WatchedFlight()
    tasks = client(Agent([task(seq=8)]))
    tasks._flights["t"] = flight

    with ThreadPoolExecutor(1) as pool:
        follower = pool.submit(tasks.fetch, NUDGE)
        assert flight.is_waited_for.wait(10)
        flight.cancel()

        assert follower.result(10).seq == 8


def test_a_fetch_that_read_before_the_change_is_not_taken_for_it() -> None:
    found = fetch_together(Slow(task(seq=7), task(seq=8)), Nudge("t", 7), Nudge("t", 8))

    assert [one.seq for one in found] == [7, 8]


def test_nudges_without_a_version_each_read_for_themselves() -> None:
    agent = Slow(task(seq=None))

    fetch_together(agent, Nudge("t"), Nudge("t"))

    assert agent.calls == 2


def test_nothing_of_a_fetch_stays_behind() -> None:
    tasks = client(Agent([None]))

    with pytest.raises(TaskNotFound):
        tasks.fetch(NUDGE)

    assert tasks._flights == {}


class TestClientCredentials:
    """The access token of the receiver itself."""

    def credentials(self, server: Callable[[HttpRequest], HttpAnswer], **more: Any) -> ClientCredentials:
        return ClientCredentials(
            "https://login.example.com/token", client_id="rx:1", client_secret="s3 cret", ask=server, **more
        )

    def test_a_token_is_asked_for_as_the_rfc_says_and_kept(self) -> None:
        asked: list[HttpRequest] = []

        def server(request: HttpRequest) -> HttpAnswer:
            asked.append(request)
            return ok({"access_token": "at-1", "token_type": "Bearer", "expires_in": 3600})

        own = self.credentials(server, scope="tasks.read", audience="https://agent.example.com")
        values = {own.authorization() for _ in range(3)}

        (request,) = asked
        assert values == {"Bearer at-1"}
        assert request.body == (
            b"grant_type=client_credentials&scope=tasks.read&audience=https%3A%2F%2Fagent.example.com"
        )
        assert request.headers["Authorization"] == "Basic cnglM0ExOnMzK2NyZXQ="

    def test_a_token_is_renewed_a_minute_before_it_runs_out(self) -> None:
        issued, now = [0], [0.0]

        def server(_: HttpRequest) -> HttpAnswer:
            issued[0] += 1
            return ok({"access_token": f"at-{issued[0]}", "token_type": "bearer", "expires_in": 600})

        own = self.credentials(server, clock=lambda: now[0])
        values = []
        for now[0] in (0, 539, 540, 1079, 1080):
            values.append(own.authorization())

        assert values == [f"Bearer at-{number}" for number in (1, 1, 2, 2, 3)]

    def test_a_refused_token_is_replaced_once(self) -> None:
        issued = [0]

        def server(_: HttpRequest) -> HttpAnswer:
            issued[0] += 1
            return ok({"access_token": f"at-{issued[0]}", "token_type": "bearer"})

        agent = Agent([lambda: ok({}, status=401), task()])
        fetched = client(agent, credentials=self.credentials(server)).fetch(NUDGE)

        assert fetched.seq == 7
        assert [request.headers["Authorization"] for request in agent.seen] == ["Bearer at-1", "Bearer at-2"]

    def test_a_token_that_is_refused_again_and_again_is_told_after_the_second_time(self) -> None:
        agent = Agent([lambda: ok({}, status=401)])

        with pytest.raises(AccessDenied):
            client(agent, credentials=StaticBearer("x")).fetch(NUDGE)

        assert len(agent.seen) == 2

    @pytest.mark.parametrize(
        "answer",
        [
            ok({"error": "invalid_client"}, status=401),
            ok({"access_token": "", "token_type": "bearer"}),
            ok({"access_token": "a\r\nX: y", "token_type": "bearer"}),
            ok({"access_token": "a", "token_type": "mac"}),
            ok({"access_token": 7, "token_type": "bearer"}),
            ok([]),
            HttpAnswer(200, {}, b"<html>"),
        ],
        ids=["refused", "empty", "newline", "mac", "number", "list", "html"],
    )
    def test_an_answer_without_a_usable_token_is_told_without_its_text(self, answer: HttpAnswer) -> None:
        with pytest.raises(CredentialsFailed) as caught:
            self.credentials(lambda _: answer).authorization()

        assert "invalid_client" not in str(caught.value)

    def test_no_access_token_means_access_denied(self) -> None:
        own = self.credentials(lambda _: ok({}, status=500))

        with pytest.raises(AccessDenied):
            client(Agent([task()]), credentials=own).fetch(NUDGE)

    @pytest.mark.parametrize("lifetime", [0, -1, "soon", None, True])
    def test_an_odd_lifetime_is_taken_for_five_minutes_or_less(self, lifetime: object) -> None:
        issued, now = [0], [0.0]

        def server(_: HttpRequest) -> HttpAnswer:
            issued[0] += 1
            return ok({"access_token": "at", "token_type": "bearer", "expires_in": lifetime})

        own = self.credentials(server, clock=lambda: now[0])
        own.authorization()
        now[0] = 300.0
        own.authorization()

        assert issued == [2]

    @pytest.mark.parametrize(("client_id", "client_secret"), [("", "b"), ("a", "")])
    def test_empty_credentials_do_not_start(self, client_id: str, client_secret: str) -> None:
        with pytest.raises(ConfigError):
            ClientCredentials("https://login.example.com/token", client_id=client_id, client_secret=client_secret)

    @pytest.mark.parametrize("token", ["", "a b", "a\n", "é", None])
    def test_a_static_token_that_would_break_a_header_does_not_start(self, token: Any) -> None:
        with pytest.raises(ConfigError):
            StaticBearer(token)

    def test_secrets_do_not_show(self) -> None:
        own = self.credentials(lambda _: ok({"access_token": "at-1", "token_type": "bearer"}))
        own.authorization()

        assert "s3" not in repr(own)
        assert "secret" not in repr(StaticBearer("secret"))
