"""Version negotiation and extensions (SPEC 3.6, 4.6; a2a-protocol 4.1, 4.2)."""

import pytest

from a2a_serverless import InboundMessage, Turn

from .door import Door, Insisting, json_of, message, old_message, proto_message

READ = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
OLD_READ = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "nope"}}


@pytest.mark.parametrize("version", ["1.0", "1.0.3", " 1.0 ", "1.0, 1.0"])
def test_one_zero_is_spoken_whatever_its_patch(version: str) -> None:
    assert "result" in json_of(Door().post(READ, version=version))


@pytest.mark.parametrize("version", ["0.3", "0.3.0", "0.3.9", "", None])
def test_zero_three_is_spoken_and_is_what_no_version_means(version: str | None) -> None:
    answer = json_of(Door().post(OLD_READ, version=version))

    assert answer["error"] == {"code": -32001, "message": "Task not found"}


@pytest.mark.parametrize("version", ["99.0", "1.7", "0.2", "2.0", "abc", "1", "1.0.0.0", "1.0, 0.3", "v1.0", "１.0"])
@pytest.mark.parametrize("body", [READ, OLD_READ])
def test_another_version_is_refused_with_those_that_are_spoken(version: str, body: dict[str, object]) -> None:
    error = json_of(Door().post(body, version=version))["error"]

    assert error["code"] == -32009
    assert error["data"][0]["reason"] == "VERSION_NOT_SUPPORTED"
    assert "1.0, 0.3" in error["message"]


@pytest.mark.parametrize(("body", "version"), [(READ, ""), (READ, None), (READ, "0.3"), (OLD_READ, "1.0")])
def test_a_method_of_the_other_version_is_refused_and_the_right_header_named(
    body: dict[str, object], version: str | None
) -> None:
    error = json_of(Door().post(body, version=version))["error"]

    assert error["code"] == -32009
    assert f"A2A-Version: {'1.0' if body is READ else '0.3'}" in error["message"]


def test_the_query_says_the_version_where_no_header_does() -> None:
    door = Door()

    named = door.rest("GET", "/tasks", version=None, query="A2A-Version=1.0")
    header_wins = door.rest("GET", "/tasks", version="99.0", query="A2A-Version=1.0")

    assert named.status == 200
    assert header_wins.status == 400


@pytest.mark.parametrize(("path", "version"), [("/tasks", None), ("/tasks", "0.3"), ("/v1/tasks/x", "1.0")])
def test_an_address_of_the_other_version_is_refused(path: str, version: str | None) -> None:
    response = Door().rest("GET", path, version=version)

    assert response.status == 400
    assert json_of(response)["error"]["details"][0]["reason"] == "VERSION_NOT_SUPPORTED"


def test_no_tenant_is_called_v1() -> None:
    assert Door().rest("GET", "/v1/extendedAgentCard").status == 404


def test_cards_are_read_whatever_the_version() -> None:
    assert Door().request("GET", "/.well-known/agent-card.json", a2a_version="99.0").status == 200


def test_extensions_that_are_known_are_said_to_be_active() -> None:
    response = Door(Insisting()).rest(
        "POST",
        "/message:send",
        {"message": message("echo hi")},
        a2a_extensions="urn:test:may/2, urn:test:must,urn:nobody,urn:test:must",
    )

    assert response.status == 200
    assert response.headers["a2a-extensions"] == "urn:test:must"


class Told(Insisting):
    """Says which extensions it was told of."""

    def run(self, turn: Turn) -> None:
        if not turn.state:
            turn.state["asked"] = True
            return turn.ask(" ".join(turn.extensions))
        return turn.complete(" ".join(turn.extensions))

    def reply(self, inbound: InboundMessage) -> str | None:
        return " ".join(inbound.extensions) if inbound.message.text == "reply" else None


def test_the_agent_is_told_which_extensions_are_active_with_each_message() -> None:
    """What is said to be active and known to nobody is not (agentstack#2061, a2a-js#544)."""
    door, both = Door(Told()), "urn:test:may, urn:nobody, urn:test:must"

    asked = door.result("SendMessage", {"message": message("first")}, a2a_extensions=both)["task"]
    second = {"message": message("second", taskId=asked["id"])}
    done = door.result("SendMessage", second, a2a_extensions="urn:test:must")["task"]
    reply = door.result("SendMessage", {"message": message("reply")}, a2a_extensions=both)["message"]

    assert asked["status"]["message"]["parts"] == [{"text": "urn:test:may urn:test:must"}]
    assert done["status"]["message"]["parts"] == [{"text": "urn:test:must"}]
    assert reply["parts"] == [{"text": "urn:test:may urn:test:must"}]


def test_the_same_words_with_another_extension_are_no_retry() -> None:
    door = Door(Told())

    tasks = [
        door.result("SendMessage", {"message": message("first")}, a2a_extensions=asked)["task"]["id"]
        for asked in ("urn:test:must", "urn:test:must,urn:test:may", "urn:test:may,urn:test:must", "urn:test:must")
    ]

    assert len(set(tasks)) == 2


def test_no_extension_asked_for_none_active() -> None:
    response = Door().post(READ)

    assert "a2a-extensions" not in response.headers


@pytest.mark.parametrize("asked", ["", "urn:test:may", "urn:test:must/2"])
def test_an_extension_that_the_agent_insists_on_must_be_asked_for(asked: str) -> None:
    door = Door(Insisting())

    error = door.error("SendMessage", {"message": message("echo hi")}, a2a_extensions=asked)
    rest = door.rest("POST", "/message:stream", {"message": message("echo hi")}, a2a_extensions=asked)

    assert error["code"] == -32008
    assert "urn:test:must" in error["message"]
    assert rest.status == 400
    assert door.backstage.stored == 0


def test_clients_of_zero_three_ask_for_extensions_by_their_own_header_and_get_codes_they_know() -> None:
    door = Door(Insisting())
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": old_message("echo hi")}}

    refused = json_of(door.post(body, version=None))
    taken = door.post(body, version=None, x_a2a_extensions="urn:test:must")

    assert refused["error"]["code"] == -32600
    assert taken.headers["x-a2a-extensions"] == "urn:test:must"


def test_rest_errors_of_zero_three_are_what_its_clients_look_for() -> None:
    response = Door().rest("POST", "/v1/message:send", {"request": proto_message("x", taskId="nope")}, version=None)

    assert response.status == 404
    assert json_of(response) == {
        "code": -32001,
        "message": "Task not found",
        "type": "TaskNotFoundError",
        "data": None,
        "error": {
            "code": 404,
            "status": "NOT_FOUND",
            "message": "Task not found",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "TASK_NOT_FOUND",
                    "domain": "a2a-protocol.org",
                }
            ],
        },
    }
