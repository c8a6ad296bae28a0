"""The protocol surface of a deployment in memory, and clients that speak to it in both versions and bindings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from a2a_serverless import Agent, AgentCard, AgentExtension, AgentSkill, InboundMessage, Turn
from a2a_serverless.app.callbacks import Callbacks
from a2a_serverless.app.deliveries import Desk
from a2a_serverless.app.evidence import Record
from a2a_serverless.app.host import Host
from a2a_serverless.app.relay import Relay, relay_change
from a2a_serverless.app.run_turn import Runner, run_turn
from a2a_serverless.core.head import Rules
from a2a_serverless.errors import InvalidParams
from a2a_serverless.protocol.authentication import Anonymous, Authenticator
from a2a_serverless.protocol.callback_door import CallbackDoor
from a2a_serverless.protocol.card_signature import CardSigner
from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.service import Service, handle
from a2a_serverless.types import AgentCapabilities, Part
from tests.fakes import (
    FakeClock,
    MemoryCallbacks,
    MemoryContexts,
    MemoryQueues,
    MemoryTasks,
    MemoryWaits,
    PlainSealer,
    SequentialIds,
)

AGENT = "tester"
PUBLIC_URL = "https://agents.example"
JWKS = b'{"keys":[]}'


class Scripted(Agent):
    """Does what the first word says; see the methods of `run`."""

    card = AgentCard(
        name="Scripted",
        description="Does what the first word of a message says. For tests.",
        version="1.2.0",
        skills=(AgentSkill(id="script", name="Script", description="Give a word; refuses nothing.", tags=("test",)),),
        default_input_modes=("text/plain", "application/json"),
        default_output_modes=("text/plain",),
    )

    def run(self, turn: Turn) -> None:  # noqa: C901 (a list of what it understands)
        """One turn."""
        if "asked" in turn.state:
            turn.artifact("answer", text=turn.message.text)
            return turn.complete("done")
        word, _, rest = turn.message.text.partition(" ")
        match word:
            case "ask":
                turn.state["asked"] = True
                return turn.ask("What is the answer?", within=timedelta(days=2))
            case "auth":
                turn.state["asked"] = True
                return turn.require_auth("Please authorise this.", within=timedelta(days=2))
            case "callback":
                turn.state["asked"] = True
                return turn.require_auth(turn.callback_url(), within=timedelta(days=2))
            case "fail":
                raise RuntimeError("a secret reason")
            case "steps":
                for number in range(int(rest)):
                    turn.artifact("steps", text=f"step {number}", append=True, last_chunk=number == int(rest) - 1)
                return turn.complete()
            case "parts":
                turn.artifact(
                    "all",
                    parts=(
                        Part(text="words", media_type="text/plain", filename="t.txt"),
                        Part.from_bytes(b"\x00\xffab", media_type="application/octet-stream", filename="b.bin"),
                        Part(url="https://files.example/x.pdf", media_type="application/pdf"),
                        Part(data={"n": 1}),
                        Part(data=[1, 2]),
                    ),
                )
                return turn.complete()
            case "big":
                turn.artifact("big", text="x" * int(rest))
                return turn.complete()
            case _:
                turn.working("echoing")
                turn.artifact("echo", text=rest)
                return turn.complete("done")

    def reply(self, inbound: InboundMessage) -> str | None:
        """`reply X` answers at once."""
        word, _, rest = inbound.message.text.partition(" ")
        return rest if word == "reply" else None


class WithExtended(Scripted):
    """Has more to tell to who is known."""

    extended_card = Scripted.card.but(description="The same, and what only known callers may know.")


class Insisting(Scripted):
    """Insists on an extension."""

    card = Scripted.card.but(
        capabilities=AgentCapabilities(
            extensions=(
                AgentExtension(uri="urn:test:must", required=True),
                AgentExtension(uri="urn:test:may"),
            )
        )
    )


class Silent(Scripted):
    """Does not stream."""

    card = Scripted.card.but(capabilities=AgentCapabilities(streaming=False, extended_agent_card=True))


class Backstage:
    """What happens behind the protocol: whoever waits sees turns run meanwhile; with `alive` False nothing moves."""

    def __init__(self, agent: Agent, *, push_supported: bool = True) -> None:
        self.alive = True
        self.clock = FakeClock()
        self.ids = SequentialIds()
        self.tasks = MemoryTasks()
        self.queues = MemoryQueues()
        self.grants = MemoryCallbacks()
        self.rules = Rules()
        self._relay = Relay(turns=self.queues, nudges=self.queues, waits=MemoryWaits())
        self._relayed = 0
        callbacks = Callbacks(
            store=self.grants,
            public_url=PUBLIC_URL,
            clock=self.clock,
            ids=self.ids,
            secret=SequentialIds("secret"),
            rules=self.rules,
        )
        self._runner = Runner(
            agents=lambda _: agent,
            tasks=self.tasks,
            contexts=MemoryContexts(),
            callbacks=callbacks,
            clock=self.clock,
            ids=self.ids,
        )
        self.host = Host(
            name=AGENT,
            agent=agent,
            card=agent.card,
            tasks=self.tasks,
            push=self.tasks,
            receipts=self.tasks,
            sealer=PlainSealer(),
            check_url=https_only,
            clock=self.clock,
            ids=self.ids,
            pause=self.pause,
            push_supported=push_supported,
            desk=Desk(
                tasks=self.tasks,
                push=self.tasks,
                deliveries=self.tasks,
                nudges=self.queues,
                clock=self.clock,
                ids=self.ids,
            ),
        )

    def pause(self, seconds: float) -> None:
        """Time passes, and what is due happens."""
        self.clock.pause(seconds)
        if self.alive:
            self.settle()

    def settle(self) -> None:
        """Work off the stream and the turns until nothing is left."""
        while True:
            for old, new in self.tasks.changes[self._relayed :]:
                relay_change(self._relay, old, new)
            self._relayed = len(self.tasks.changes)
            if not self.queues.turns:
                return
            turn = self.queues.turns.pop(0)
            run_turn(self._runner, turn.key, turn.turn)

    @property
    def stored(self) -> int:
        """How many changes were ever stored."""
        return len(self.tasks.changes)


def https_only(url: str) -> str:
    """A registration grammar that is good enough here."""
    if not url.startswith("https://"):
        raise InvalidParams.of("url", "must begin with https://")
    return url


@dataclass
class Door:
    """A deployment of one agent (and what else a test adds), spoken to over HTTP."""

    agent: Agent = field(default_factory=Scripted)
    authenticator: Authenticator = field(default_factory=Anonymous)
    push_supported: bool = True
    public_url: str = PUBLIC_URL
    card_signer: CardSigner | None = None
    record: Record | None = None
    agent_url: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.backstage = Backstage(self.agent, push_supported=self.push_supported)
        backstage = self.backstage
        self.service = Service(
            hosts={AGENT: backstage.host, "other": replace(backstage.host, name="other")},
            default=AGENT,
            public_url=self.public_url,
            authenticator=self.authenticator,
            push_jwks=lambda: JWKS,
            clock=backstage.clock,
            card_signer=self.card_signer,
            record=self.record,
            callbacks=CallbackDoor(
                store=backstage.grants,
                tasks=backstage.tasks,
                clock=backstage.clock,
                ids=backstage.ids,
                rules=backstage.rules,
            ),
        )

    def request(self, verb: str, path: str, body: bytes = b"", *, query: str = "", **headers: str) -> Response:
        """Send any request; header names with underscores for hyphens."""
        sent = {name.replace("_", "-").lower(): value for name, value in (self.headers | headers).items()}
        path, _, asked = path.partition("?")
        return handle(self.service, Request(verb, self.agent_url + path, query or asked, sent, body))

    def post(self, body: object, *, version: str | None = "1.0", **headers: str) -> Response:
        """Post JSON (or bytes as they are) to the JSON-RPC address."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content_type": "application/json", **({"a2a_version": version} if version is not None else {})}
        return self.request("POST", "/", content, **(sent | headers))

    def rpc(self, method: str, params: object = None, *, version: str | None = "1.0", **headers: str) -> Any:
        """Call a method; answers the response object."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}
        response = self.post(message, version=version, **headers)
        assert response.status == 200
        assert response.headers["content-type"] == "application/json"
        return json.loads(response.body)

    def result(self, method: str, params: object = None, **how: str) -> Any:
        """Call a method of 1.0 that must succeed."""
        answer = self.rpc(method, params, **how)
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, params: object = None, **how: Any) -> Any:
        """Call a method that must fail."""
        return self.rpc(method, params, **how)["error"]

    def legacy(self, method: str, params: object = None) -> Any:
        """Call a method of 0.3, as its clients do: without a version; answers result or error."""
        answer = self.rpc(method, params, version=None)
        return answer.get("result", answer.get("error"))

    def rest(self, verb: str, path: str, body: object = None, *, version: str | None = "1.0", **how: str) -> Response:
        """Call a REST address."""
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"a2a_version": version} if version is not None else {}
        if body is not None:
            sent["content_type"] = "application/a2a+json"
        return self.request(verb, path, content, **(sent | how))

    def send(self, text: str, *, configuration: Mapping[str, object] | None = None, **members: object) -> Any:
        """Send a message in 1.0; answers the task or message."""
        params = {"message": message(text, **members), "configuration": dict(configuration or {})}
        result = self.result("SendMessage", params)
        return result.get("task") or result["message"]


def message(text: str, **members: object) -> dict[str, Any]:
    """A message of 1.0 as it travels; its id is its text unless another is given."""
    return {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}], **members}


def old_message(text: str, **members: object) -> dict[str, Any]:
    """A message of 0.3 as it travels on JSON-RPC."""
    parts = [{"kind": "text", "text": text}]
    return {"kind": "message", "messageId": text, "role": "user", "parts": parts, **members}


def proto_message(text: str, **members: object) -> dict[str, Any]:
    """A message of 0.3 as it travels on REST."""
    return {"messageId": text, "role": "ROLE_USER", "content": [{"text": text}], **members}


def json_of(response: Response) -> Any:
    """The body of a response that must be JSON."""
    assert response.headers["content-type"] in {"application/json", "application/a2a+json"}, response
    return json.loads(response.body)


def events_of(response: Response) -> list[Any]:
    """The events of a response that must be a stream."""
    assert response.status == 200
    assert response.headers["content-type"] == "text/event-stream"
    blocks = response.body.split("\n\n")
    assert blocks.pop() == ""
    assert all(block.startswith("data: ") and "\n" not in block for block in blocks)
    return [json.loads(block.removeprefix("data: ")) for block in blocks]
