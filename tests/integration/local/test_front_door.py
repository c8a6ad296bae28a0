"""The front door: what it passes on of a request, and what it refuses as API Gateway does."""

import asyncio
from collections.abc import Mapping
from typing import Any

from a2a_serverless.local.front_door import BODY_LIMIT, FrontDoor, Receive, Scope, Send

PUBLIC, AWS = 8080, 4566


class Engine:
    """Stands behind the door and remembers what it was asked."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        self.bodies.append((await receive()).get("body", b""))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"from the engine"})

    @property
    def headers(self) -> dict[bytes, bytes]:
        """The headers of the last request."""
        return dict(self.scopes[-1]["headers"])


def request(
    door: FrontDoor,
    path: str = "/",
    *,
    port: int = PUBLIC,
    headers: list[tuple[bytes, bytes]] | None = None,
    pieces: tuple[bytes | None, ...] = (b"",),
) -> tuple[int, bytes]:
    """Send a request through the door (a piece None: the client leaves); the status and body of the answer."""
    waiting: list[Mapping[str, Any]] = [
        {"type": "http.disconnect"}
        if piece is None
        else {"type": "http.request", "body": piece, "more_body": index < len(pieces) - 1}
        for index, piece in enumerate(pieces)
    ]
    sent: list[Mapping[str, Any]] = []

    async def receive() -> Mapping[str, Any]:
        return waiting.pop(0)

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path.partition("%")[0],
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers or [],
        "client": ("127.0.0.9", 1),
        "server": ("127.0.0.1", port),
    }
    asyncio.run(door(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def opened(engine: Engine) -> FrontDoor:
    """A door to an API that is deployed."""
    door = FrontDoor(engine, PUBLIC)
    door.open("api1")
    return door


def test_before_anything_is_deployed_the_service_is_unavailable() -> None:
    assert request(FrontDoor(Engine(), PUBLIC)) == (503, b'{"message":"Service Unavailable"}')


def test_a_request_leads_to_the_default_stage_of_the_api_with_its_path_as_it_was_written() -> None:
    engine = Engine()

    request(opened(engine), "/tasks/a%2Fb")

    assert engine.scopes[0]["raw_path"] == b"/_aws/execute-api/api1/$default/tasks/a%2Fb"


def test_the_emulator_s_own_paths_are_not_reachable_from_outside() -> None:
    engine = Engine()

    request(opened(engine), "/_ministack/reset")

    assert engine.scopes[0]["raw_path"] == b"/_aws/execute-api/api1/$default/_ministack/reset"


def test_the_port_of_the_embedded_aws_leads_to_the_emulator_unchanged() -> None:
    engine = Engine()

    request(opened(engine), "/x", port=AWS)

    assert engine.scopes[0]["raw_path"] == b"/x"


def test_repeated_headers_are_joined_by_commas_and_cookies_by_semicolons() -> None:
    engine = Engine()

    request(
        opened(engine),
        headers=[(b"A", b"1"), (b"a", b"2"), (b"cookie", b"x=1"), (b"Cookie", b"y=2"), (b"Connection", b"close")],
    )

    found = engine.headers
    assert (found[b"a"], found[b"cookie"]) == (b"1,2", b"x=1; y=2")
    assert b"connection" not in found


def test_the_client_s_address_is_added_to_the_forwarded_ones() -> None:
    engine = Engine()

    request(opened(engine), headers=[(b"X-Forwarded-For", b"192.0.2.1")])

    found = engine.headers
    assert found[b"x-forwarded-for"] == b"192.0.2.1, 127.0.0.9"
    assert (found[b"x-forwarded-port"], found[b"x-forwarded-proto"]) == (b"8080", b"http")


def test_a_body_in_pieces_arrives_as_one() -> None:
    engine = Engine()

    assert request(opened(engine), pieces=(b"a", b"b", b"c")) == (200, b"from the engine")
    assert engine.bodies == [b"abc"]


def test_a_body_in_chunks_has_the_length_of_its_chunks_whatever_was_declared_besides() -> None:
    engine = Engine()
    declared = [(b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"3")]

    request(opened(engine), headers=declared, pieces=(b"hello",))

    assert engine.bodies == [b"hello"]
    assert not {b"content-length", b"transfer-encoding"} & engine.headers.keys()


def test_a_request_whose_client_leaves_in_the_middle_of_its_body_is_none() -> None:
    engine = Engine()

    request(opened(engine), pieces=(b'{"whole": "object"}', None))

    assert engine.scopes == []


def test_a_body_above_ten_megabytes_is_too_large_declared_or_not() -> None:
    engine = Engine()
    too_large = str(BODY_LIMIT + 1).encode()

    declared = request(opened(engine), headers=[(b"content-length", too_large)])
    undeclared = request(opened(engine), pieces=(b"x" * BODY_LIMIT, b"x"))

    assert declared == undeclared == (413, b'{"message":"Request Entity Too Large"}')
    assert engine.scopes == []


def test_headers_above_ten_kilobytes_are_refused() -> None:
    assert request(opened(Engine()), headers=[(b"authorization", b"x" * 10_300)])[0] == 431
