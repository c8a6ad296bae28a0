"""Failures that were reported against other A2A servers, tried on this one from outside; each names its report.

What cancels, sends, identities, workers and restarts do is tried in the files of those names.
"""

import base64
import hashlib
import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jwt
import pytest

from a2a_serverless.local.stack import LocalStack

from .conftest import Connect
from .hooks import Hooks, Partner, Said
from .test_clients import ODD
from .wire import Object, RpcError, Wire, eventually, message, state, text_of

INVALID_PARAMS = -32602
NOT_FOUND = -32001
UNSUPPORTED = -32004
CONTENT_TYPE = -32005
VERSION = -32009


@pytest.fixture
def apart() -> Iterator[Hooks]:
    """Webhooks on a port of their own: what fails there does not count against those of other tests."""
    server = Hooks()
    yield server
    server.close()


# --------------------------------------------------------------------------- webhooks


def test_p01_a_webhook_of_the_first_send_is_kept_and_nudged(wire: Wire, partner: Partner) -> None:
    task = wire.begin("wait 0.5", push={"url": partner.url, "authentication": {"scheme": "Bearer"}})
    (config,) = wire.rpc("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"]

    assert (config["taskId"], config["url"], bool(config["id"])) == (task["id"], partner.url, True)
    assert state(dict(partner.told_of(task["id"], "TASK_STATE_COMPLETED").task)) == "COMPLETED"


def test_p03_two_webhooks_without_a_name_are_two(wire: Wire, hooks: Hooks) -> None:
    task = wire.send("ask")
    first, second = hooks.hook(), hooks.hook()
    made = [
        wire.rpc("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": hook.url})
        for hook in (first, second)
    ]
    replaced = wire.rpc(
        "CreateTaskPushNotificationConfig", {"taskId": task["id"], "id": made[0]["id"], "url": first.url}
    )
    wire.send("42", task=task["id"])

    assert len({config["id"] for config in made} - {""}) == 2
    assert len(wire.rpc("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"]) == 2
    assert replaced["id"] == made[0]["id"]
    for hook in (first, second):
        eventually(lambda hook=hook: "COMPLETED" in str([posted.body for posted in hook.all]) or None, 20)  # type: ignore[misc]


def test_p05_the_card_says_what_is_done(stack: LocalStack, connect: Connect) -> None:
    card = connect(stack.url).rest("GET", "/agents/scripted/.well-known/agent-card.json").json()

    assert card["capabilities"]["pushNotifications"] is True
    assert card["capabilities"]["streaming"] is True


def test_p07_a_webhook_of_a_finished_task_hears_nothing_of_what_was(wire: Wire, hooks: Hooks) -> None:
    done = wire.send("echo x")
    hook = hooks.hook()

    made = wire.rpc("CreateTaskPushNotificationConfig", {"taskId": done["id"], "url": hook.url})

    assert made["url"] == hook.url
    told = [] if hook.none_within(1.5) else [posted.json() for posted in hook.all]
    assert all(event["statusUpdate"]["status"] == shown(done["status"]) for event in told)


def test_p09_a_task_has_a_few_webhooks_and_no_more(wire: Wire) -> None:
    task = wire.send("ask")

    def create(number: int) -> Any:
        params = {"taskId": task["id"], "id": f"c{number}", "url": f"https://victim.example/{number}"}
        return wire.rpc("CreateTaskPushNotificationConfig", params)

    for number in range(10):
        create(number)
    with pytest.raises(RpcError, match="at most 10") as refused:
        create(10)

    assert refused.value.code == INVALID_PARAMS
    assert len(wire.rpc("ListTaskPushNotificationConfigs", {"taskId": task["id"]})["configs"]) == 10


def test_p11_a_nudge_is_one_stream_response_in_its_own_media_type(wire: Wire, hooks: Hooks) -> None:
    hook = hooks.hook()
    task = wire.send("ask", push={"url": hook.url, "token": "t" * 24})
    posted = hook.next()

    (name,) = posted.json()
    event = posted.json()[name]
    assert posted.header("content-type") == "application/a2a+json"
    assert (name, event["taskId"], event["contextId"]) == ("statusUpdate", task["id"], task["contextId"])
    assert event["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert posted.header("X-A2A-Notification-Token") == "t" * 24
    assert len(posted.body) < 1024


def test_p11_a_webhook_of_an_old_client_gets_what_old_clients_read(wire: Wire, hooks: Hooks) -> None:
    hook = hooks.hook()
    part = {"kind": "text", "text": "ask"}
    params = {
        "message": {"kind": "message", "messageId": str(uuid.uuid4()), "role": "user", "parts": [part]},
        "configuration": {"pushNotificationConfig": {"url": hook.url}, "blocking": True},
    }
    task = wire.rpc("message/send", params, headers={"A2A-Version": "0.3"})
    posted = hook.next()

    assert posted.header("content-type") == "application/json"
    assert (posted.json()["kind"], posted.json()["id"]) == ("task", task["id"])
    assert posted.json()["status"]["state"] == "input-required"


def test_p13_the_credentials_of_the_webhook_go_with_the_nudge(wire: Wire, hooks: Hooks) -> None:
    hook = hooks.hook()
    authentication = {"scheme": "bearer", "credentials": "tok-A"}
    wire.send("ask", push={"url": hook.url, "authentication": authentication})

    assert hook.next().header("authorization") == "Bearer tok-A"


def test_p15_a_nudge_that_failed_comes_again_under_the_same_name(wire: Wire, apart: Hooks) -> None:
    hook = apart.hook(Said(503, (("Retry-After", "6"),)), 200)
    wire.send("ask", push={"url": hook.url})
    first, second = hook.next(), hook.next(30)

    assert first.header("webhook-id") == second.header("webhook-id") != ""
    assert second.at - first.at >= 6
    assert first.body == second.body


def test_p17_a_redirect_is_no_delivery_and_leads_nowhere(wire: Wire, apart: Hooks) -> None:
    elsewhere = apart.hook()
    hook = apart.hook(Said(302, (("Location", elsewhere.url),)), 200)
    wire.send("ask", push={"url": hook.url, "authentication": {"scheme": "Bearer", "credentials": "tok-A"}})
    hook.next()
    again = hook.next(30)

    assert again.header("authorization") == "Bearer tok-A"
    assert elsewhere.all == []


def test_p21_nudges_of_a_task_are_numbered_upwards(wire: Wire, hooks: Hooks) -> None:
    hook = hooks.hook()
    asked = wire.send("ask-twice", push={"url": hook.url})
    wire.send("one", task=asked["id"])
    wire.send("two", task=asked["id"])
    eventually(lambda: "COMPLETED" in str([posted.body for posted in hook.all]) or None, 20)

    numbers = [seq_of(posted.json()["statusUpdate"]) for posted in hook.all]
    assert numbers == sorted(set(numbers))
    assert seq_of(wire.get(asked["id"])) == numbers[-1]


def test_p25_the_signature_is_over_the_very_bytes_that_were_sent(
    stack: LocalStack, wire: Wire, hooks: Hooks, connect: Connect
) -> None:
    """Checked by a JWT library and a hash, without a line of the receiver."""
    hook = hooks.hook()
    wire.send(f"echo {ODD}", push={"url": hook.url})
    posted = hook.next()
    token = posted.header("A2A-Push-Signature")
    header = jwt.get_unverified_header(token)
    keys = {key["kid"]: key for key in connect(stack.url).rest("GET", "/.well-known/jwks.json").json()["keys"]}
    key = jwt.PyJWK(keys[header["kid"]])
    claims = jwt.decode(token, key, algorithms=["ES256"], audience=hook.url, issuer=stack.url)
    digest = base64.b64encode(hashlib.sha256(posted.body).digest()).decode()

    assert (header["alg"], header["typ"]) == ("ES256", "a2a-push+jwt")
    assert claims["request_body_sha256"] == hashlib.sha256(posted.body).hexdigest()
    assert posted.header("Content-Digest") == f"sha-256=:{digest}:"
    assert claims["exp"] - claims["iat"] <= 300


PRIVATE = [
    "http://127.0.0.1:80", "https://localhost", "https://10.0.0.1", "https://172.16.0.1", "https://192.168.1.1",
    "http://169.254.169.254/latest/meta-data", "https://[::1]", "https://[fd00:ec2::254]", "https://0.0.0.0",
    "https://2130706433", "https://0x7f.1", "https://0177.0.0.1", "https://[::ffff:10.0.0.1]",
    "https://[64:ff9b::a00:1]", "https://100.64.0.1", "https://[fe80::1]", "https://224.0.0.1", "https://240.0.0.1",
    "https://localhost.",
]  # fmt: skip
ODD_URLS = [
    "ftp://x", "file:///etc/passwd", "http://example.com", "https://user:pw@example.com", "", "not a url",
    f"https://example.com/{'x' * 5000}", "https://exa mple.com", "https://example.com/\r\nX: y", "//example.com",
]  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE + ODD_URLS)
def test_s01_s03_s05_a_webhook_leads_out_or_is_refused(durable_stack: LocalStack, alice: str, url: str) -> None:
    wire = Wire(durable_stack.url, alice)
    before = wire.rpc("ListTasks", {})["totalSize"]

    with pytest.raises(RpcError) as refused:
        wire.begin("ask", push={"url": url})

    assert refused.value.code == INVALID_PARAMS
    assert "url" in json.dumps([refused.value.message, refused.value.data]).lower()
    assert wire.rpc("ListTasks", {})["totalSize"] == before
    wire.close()


# --------------------------------------------------------------------------- lifecycle


@pytest.mark.parametrize("words", ["echo x", "fail", "an unknown command", "ask"])
def test_l01_a_task_that_has_ended_takes_no_message(wire: Wire, words: str) -> None:
    ended = wire.send(words)
    if state(ended) == "INPUT_REQUIRED":
        ended = wire.cancel(ended["id"])

    with pytest.raises(RpcError) as refused:
        wire.send("more", task=ended["id"])
    assert refused.value.code == UNSUPPORTED
    assert wire.get(ended["id"]) == ended


def test_l03_an_unknown_task_id_makes_no_task(wire: Wire) -> None:
    name = str(uuid.uuid4())

    for method, params in (("SendMessage", message("echo x", task=name)), ("GetTask", {"id": name})):
        with pytest.raises(RpcError) as refused:
            wire.rpc(method, params)
        assert refused.value.code == NOT_FOUND
    assert wire.rpc("ListTasks", {})["totalSize"] == 0


WRONG: dict[str, tuple[Object, int]] = {
    "no parts": ({"parts": []}, INVALID_PARAMS),
    "two contents": ({"parts": [{"text": "x", "data": 1}]}, INVALID_PARAMS),
    "no content": ({"parts": [{"mediaType": "text/plain"}]}, INVALID_PARAMS),
    "the agent's role": ({"role": "ROLE_AGENT"}, INVALID_PARAMS),
    "an unknown role": ({"role": "user"}, INVALID_PARAMS),
    "no id": ({"messageId": ""}, INVALID_PARAMS),
    "another context": ({"contextId": "elsewhere"}, INVALID_PARAMS),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_l05_a_message_that_is_refused_changes_nothing(wire: Wire, wrong: str) -> None:
    asked = wire.send("ask")
    changes, code = WRONG[wrong]
    params = message("42", task=asked["id"])
    params["message"] |= changes

    with pytest.raises(RpcError) as refused:
        wire.rpc("SendMessage", params)
    assert refused.value.code == code
    assert wire.get(asked["id"]) == asked
    assert state(wire.send("42", task=asked["id"])) == "COMPLETED"


def test_l05_a_webhook_that_is_refused_leaves_no_task(wire: Wire) -> None:
    with pytest.raises(RpcError) as refused:
        wire.begin("ask", push={"url": "not a url"})

    assert refused.value.code == INVALID_PARAMS
    assert wire.rpc("ListTasks", {})["totalSize"] == 0


def test_l05_a_media_type_that_the_agent_does_not_take_is_refused(
    stack: LocalStack, alice: str, connect: Connect
) -> None:
    freight = connect(f"{stack.url}/agents/freight", alice)
    picture = {"raw": "aGVsbG8=", "mediaType": "image/png"}

    with pytest.raises(RpcError) as refused:
        freight.send("", parts=[picture])
    assert refused.value.code == CONTENT_TYPE
    assert freight.rpc("ListTasks", {})["totalSize"] == 0


def test_l13_the_deadline_of_a_question_can_be_seen_and_a_late_answer_is_refused(wire: Wire) -> None:
    asked = wire.send("expire 1")
    failed = wire.until(asked["id"])

    assert any("until" in value for value in asked["metadata"].values() if isinstance(value, dict))
    assert state(failed) == "FAILED"
    assert "Will anybody answer?" in text_of(failed["status"]["message"])
    with pytest.raises(RpcError) as refused:
        wire.send("42", task=asked["id"])
    assert refused.value.code == UNSUPPORTED


@pytest.mark.parametrize("immediately", [False, True])
def test_l15_an_agent_that_raises_fails_its_task_and_tells_nothing_of_why(wire: Wire, immediately: bool) -> None:
    failed = wire.send("fail", returnImmediately=immediately)
    failed = wire.until(failed["id"])

    assert state(failed) == "FAILED"
    assert text_of(failed["status"]["message"])
    for secret in ("hunter2", "Traceback", "arn:", "RuntimeError", "functions/"):
        assert secret not in json.dumps(failed)


def test_l19_what_was_sent_is_there_at_once(wire: Wire) -> None:
    for _ in range(10):
        task = wire.begin("wait 30")
        assert wire.get(task["id"])["id"] == task["id"]
        params = {"taskId": task["id"], "url": "https://partner.example/hook"}
        assert wire.rpc("CreateTaskPushNotificationConfig", params)["taskId"] == task["id"]
        assert state(wire.cancel(task["id"])) == "CANCELED"


# --------------------------------------------------------------------------- lists


def test_q01_q03_pages_neither_skip_nor_repeat_and_tell_how_many_there_are(wire: Wire) -> None:
    context = str(uuid.uuid4())
    with ThreadPoolExecutor(max_workers=4) as pool:
        made = set(pool.map(lambda _: wire.begin("ask", context=context)["id"], range(15)))
    for task in made:
        wire.until(task, "INPUT_REQUIRED")
    pages = list(all_pages(wire, context, 4))
    listed = [task for page in pages for task in page["tasks"]]

    assert len(listed) == 15
    assert {task["id"] for task in listed} == made
    assert {page["totalSize"] for page in pages} == {15}
    stamps = [(task["status"]["timestamp"], task["id"]) for task in listed]
    assert stamps == sorted(stamps, reverse=True)


def test_q01_a_page_goes_on_behind_a_task_that_has_moved(wire: Wire) -> None:
    context = str(uuid.uuid4())
    made = [wire.send("ask", context=context)["id"] for _ in range(5)]
    first = wire.rpc("ListTasks", {"contextId": context, "pageSize": 2})
    boundary = first["tasks"][-1]["id"]
    wire.send("42", task=boundary)  # its status is newer now: it is no longer where the page ended

    second = wire.rpc("ListTasks", {"contextId": context, "pageSize": 10, "pageToken": first["nextPageToken"]})

    assert [task["id"] for task in second["tasks"]] == made[2::-1]


def all_pages(wire: Wire, context: str, size: int) -> Iterator[Object]:
    """Every page of a context."""
    token = ""
    while True:
        page = wire.rpc("ListTasks", {"contextId": context, "pageSize": size, "pageToken": token})
        yield page
        token = page["nextPageToken"]
        if not token:
            return


# --------------------------------------------------------------------------- the wire


MALFORMED: dict[str, tuple[bytes, int]] = {
    "half an object": (b"{", -32700),
    "a batch of nothing": (b"[]", -32600),
    "a word": (b'"x"', -32600),
    "an old protocol": (b'{"jsonrpc":"1.0","id":1,"method":"GetTask"}', -32600),
    "no method": (b'{"jsonrpc":"2.0","id":1}', -32600),
    "an unknown method": (b'{"jsonrpc":"2.0","id":1,"method":"Foo"}', -32601),
    "params in a list": (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}', -32602),
    "no params": (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}', -32602),
    "nothing": (b"", -32700),
    "bytes that are no text": (b"\xff\xfe", -32700),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_w01_what_is_malformed_gets_the_code_it_deserves(wire: Wire, what: str) -> None:
    body, code = MALFORMED[what]
    answer = wire.http.post(wire.url, content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/json")
    error = answer.json()["error"]
    assert error["code"] == code
    assert all(detail["@type"].startswith("type.googleapis.com/") for detail in error.get("data", []))
    assert answer.json()["id"] == (1 if b'"id":1' in body else None)


@pytest.mark.parametrize("number", [0, "", "a", 1, -1, None])
def test_w01_the_id_of_a_call_comes_back_as_it_was(wire: Wire, number: object) -> None:
    body = {"jsonrpc": "2.0", "id": number, "method": "ListTasks", "params": {}}
    answer = wire.http.post(wire.url, json=body).json()

    assert answer["id"] == number
    assert type(answer["id"]) is type(number)


@pytest.mark.parametrize(
    ("version", "understood"),
    [("1.0", True), ("1.0.3", True), ("99.0", False), ("abc", False), ("2.0", False)],
)
def test_w03_a_version_is_heeded_in_the_header_and_in_the_query(wire: Wire, version: str, understood: bool) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
    in_header = wire.http.post(wire.url, json=body, headers={"A2A-Version": version}).json()
    del wire.http.headers["A2A-Version"]
    in_query = wire.http.post(wire.url, params={"A2A-Version": version}, json=body).json()

    for answer in (in_header, in_query):
        assert answer.get("error", {}).get("code") == (None if understood else VERSION)


@pytest.mark.parametrize("version", ["", "0.3"])
def test_w03_without_a_version_it_is_the_old_one(wire: Wire, version: str) -> None:
    task = wire.send("ask")
    wire.http.headers["A2A-Version"] = version

    assert wire.rpc("tasks/get", {"id": task["id"]})["status"]["state"] == "input-required"


def test_w05_a_card_is_cached_by_what_it_says(stack: LocalStack, connect: Connect) -> None:
    reader = connect(stack.url)
    first = reader.rest("GET", "/.well-known/agent-card.json")
    again = reader.rest("GET", "/.well-known/agent-card.json", headers={"If-None-Match": first.headers["etag"]})
    other = reader.rest("GET", "/agents/freight/.well-known/agent-card.json")

    assert "max-age" in first.headers["cache-control"]
    assert (again.status_code, again.content) == (304, b"")
    assert other.headers["etag"] != first.headers["etag"]


def test_w11_a_trace_goes_on_to_the_nudge_and_stands_in_the_log_of_what_follows(
    stack: LocalStack, wire: Wire, hooks: Hooks
) -> None:
    """And the answer's own trace follows that of the question, however much later it comes."""
    hook = hooks.hook()
    asking, answering = (f"00-{uuid.uuid4().hex}-b7ad6b7169203331-01" for _ in range(2))
    sent = wire.rpc("SendMessage", message("ask", push={"url": hook.url}), headers={"traceparent": asking})
    question = hook.next()
    wire.rpc("SendMessage", message("42", task=sent["task"]["id"]), headers={"traceparent": answering})
    answer = hook.next()

    assert question.header("traceparent") == asking
    assert answer.header("traceparent") == answering
    assert answering in stack.log_of("relay")
    plain = hooks.hook()
    wire.rpc("SendMessage", message("ask", push={"url": plain.url}), headers={"traceparent": "no trace"})
    assert plain.next().header("traceparent") == ""


EMOJI = "🙂" * 75_000
"""300 KB."""


@pytest.mark.parametrize("text", [ODD, "\ufffe \u0001 \x7f \u2028", EMOJI], ids=["odd", "controls", "300 KB"])
def test_w07_text_is_the_same_wherever_it_comes_back(wire: Wire, text: str) -> None:
    done = wire.send(f"echo {text}", parts=[{"text": f"echo {text}", "filename": "Zürich ü.txt"}])
    listed = wire.rpc("ListTasks", {"includeArtifacts": True, "historyLength": 10})["tasks"][0]

    for task in (done, wire.get(done["id"]), listed, wire.rest("GET", f"/tasks/{done['id']}").json()):
        assert text_of(task["artifacts"][0]) == text
        assert task["history"][0]["parts"] == [{"text": f"echo {text}", "filename": "Zürich ü.txt"}]


@pytest.mark.parametrize("size", [300_000, 1_000_000, 4_000_000])
def test_w09_a_large_message_is_taken_whole_or_refused_before_there_is_a_task(wire: Wire, size: int) -> None:
    context = str(uuid.uuid4())
    answer = wire.post("SendMessage", message(f"echo {'x' * size}", context=context))

    kept = wire.rpc("ListTasks", {"contextId": context})["totalSize"]
    if answer.status_code == 200 and "result" in answer.json():
        task = answer.json()["result"]["task"]
        assert text_of(wire.get(task["id"])["artifacts"][0]) == "x" * size
        assert kept == 1
    else:
        assert answer.status_code == 413 or answer.json()["error"]["code"] == INVALID_PARAMS
        assert kept == 0


@pytest.mark.parametrize("size", [300_000, 900_000])
def test_w09_a_large_result_is_read_whole_and_nudged_small(wire: Wire, partner: Partner, size: int) -> None:
    task = wire.send(f"big {size}", push={"url": partner.url})
    fetched = partner.told_of(task["id"], "TASK_STATE_COMPLETED")

    assert len(text_of(task["artifacts"][0])) == size
    assert text_of(fetched.task["artifacts"][0]) == text_of(wire.get(task["id"])["artifacts"][0])  # type: ignore[index]
    assert all(len(posted.body) < 8192 for posted in partner.hook.all)


def test_w09_many_chunks_make_one_result(wire: Wire) -> None:
    done = wire.send("steps 400")

    assert text_of(done["artifacts"][0]) == "".join(f"step {number} of 400\n" for number in range(1, 401))
    assert len(done["artifacts"]) == 1


def test_w09_a_body_beyond_the_gateway_s_limit_is_too_large(wire: Wire) -> None:
    answer = wire.post("SendMessage", message("x" * 10_500_000))

    assert answer.status_code == 413
    assert wire.rpc("ListTasks", {})["totalSize"] == 0


def seq_of(told: Object) -> int:
    """The version that a nudge or a task states."""
    return next(int(value["seq"]) for value in told["metadata"].values() if "seq" in value)


def shown(status: Object) -> Object:
    """What a nudge shows of a status."""
    return {name: value for name, value in status.items() if name != "message"}
