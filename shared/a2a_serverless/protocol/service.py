"""The protocol surface of a deployment: from a request to a response, whatever the request is.

What is public (cards, keys) is answered first; everything else is authenticated, then handed to its binding. What a
process that is asked on JSON-RPC alone has no use for is imported where it is used.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from a2a_serverless.app.host import Host
from a2a_serverless.app.ports import Clock
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import A2AError, InternalError, MethodNotFound
from a2a_serverless.protocol import card, json_rpc, media
from a2a_serverless.protocol.authentication import Authenticator
from a2a_serverless.protocol.cards import Cards
from a2a_serverless.protocol.faults import Refusal, method_not_allowed, not_found
from a2a_serverless.protocol.http import Request, Response
from a2a_serverless.protocol.strict_json import text_of
from a2a_serverless.protocol.visit import Visit

if TYPE_CHECKING:
    from a2a_serverless.app.evidence import Exchange, Record
    from a2a_serverless.protocol.callback_door import CallbackDoor
    from a2a_serverless.protocol.card_signature import CardSigner

CARD_NAMES: Final = frozenset({"agent-card.json", "agent.json"})
"""The name of both versions, and that of 0.2, which old clients still ask for."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A deployment's agents and what they share. Made once per process.

    Attributes:
        hosts: the agents by name; each is served under `/agents/{name}`.
        default: the name of the one that is served at the root as well.
        public_url: the address that partners use, without a slash at the end.
        push_jwks: the JWKS document of the webhook keys.
        card_signer: signs cards; they go unsigned without.
        callbacks: resumes tasks by callback addresses; there are none without.
        push_issuer: who signs webhooks; the public URL unless it is set.
        record: writes down both sides of each call about a task; nothing is written down without.
    """

    hosts: Mapping[str, Host]
    default: str
    public_url: str
    authenticator: Authenticator
    push_jwks: Callable[[], bytes]
    clock: Clock
    card_signer: "CardSigner | None" = None
    callbacks: "CallbackDoor | None" = None
    push_issuer: str = ""
    record: "Record | None" = None
    cards: Cards = field(init=False)
    base: tuple[str, ...] = field(init=False)
    """The path of the public URL, where a custom domain maps a prefix of its own to us."""

    def __post_init__(self) -> None:
        deployment = card.Deployment(
            public_url=self.public_url,
            security=self.authenticator.security(),
            push_issuer=self.push_issuer or self.public_url,
        )
        cards = Cards(deployment=deployment, signer=self.card_signer, since=self.clock())
        object.__setattr__(self, "cards", cards)
        object.__setattr__(self, "base", Request("GET", urlsplit(self.public_url).path).segments())


def handle(service: Service, request: Request) -> Response:
    """The response to a request. Nothing a caller sends makes it raise."""
    try:
        response = _respond(service, request)
    except Exception:
        log.exception("a request failed outside of any operation")
        response = _failed(InternalError(), request, WireVersion.V1_0)
    return _finished(service, request, response)


def _respond(service: Service, request: Request) -> Response:
    segments = _below_base(service, request)
    match segments:
        case ("agents", name, *rest_of_path):
            return _at_agent(service, request, name, tuple(rest_of_path))
        case (".well-known", "jwks.json"):
            return _keys(request, service.push_jwks().decode())
        case (".well-known", "agent-card-jwks.json") if service.card_signer is not None:
            return _keys(request, text_of(service.card_signer.jwks()))
        case ("callbacks", grant_id) if service.callbacks is not None:
            return _at_callback(service, service.callbacks, request, grant_id)
        case _:
            return _at(service, request, service.hosts[service.default], segments, at_root=True)


def _below_base(service: Service, request: Request) -> tuple[str, ...]:
    segments, base = request.segments(), service.base
    return segments[len(base) :] if base and segments[: len(base)] == base else segments


_NO_SLASH: Final = (
    "there is no agent at this address; clients that resolve the card against an agent's address (those for JavaScript"
    " and .NET) take it with a slash at the end: /agents/NAME/"
)


def _at_agent(service: Service, request: Request, name: str, segments: tuple[str, ...]) -> Response:
    host = service.hosts.get(name)
    if host is None:
        return not_found(_NO_SLASH if name == ".well-known" else "there is no agent at this address").response()
    return _at(service, request, host, segments, at_root=False)


def _at(service: Service, request: Request, host: Host, segments: tuple[str, ...], *, at_root: bool) -> Response:
    """At an agent's address: its card, or one of its operations."""
    if _asks_for_card(request, segments):
        document = service.cards.at_root(host) if at_root else service.cards.of_agent(host)
        return document.response(request) if request.method in _READS else method_not_allowed(_READS).response()
    url = service.public_url if at_root else service.cards.url_of(host.name)
    if segments:
        return _at_operation(service, request, host, segments, url=url)
    if request.method != "POST":
        return method_not_allowed((*_READS, "POST")).response()
    return _visited(service, request, host, json_rpc.answer, url=url)


def _at_operation(service: Service, request: Request, host: Host, segments: tuple[str, ...], *, url: str) -> Response:
    """At an address of REST."""
    from a2a_serverless.protocol import rest, routing

    match routing.match(request.method, segments):
        case routing.WrongVerb(allowed):
            return method_not_allowed(allowed).response()
        case None:
            version = WireVersion.V0_3 if segments[0] == "v1" else WireVersion.V1_0
            return _failed(MethodNotFound("there is no operation at this address"), request, version)
        case matched:
            return _visited(service, request, host, partial(rest.answer, matched=matched), url=url)


def _visited(
    service: Service, request: Request, host: Host, answer: Callable[[Visit], Response], *, url: str
) -> Response:
    """What a binding answers to a caller who said who he is."""
    identity = service.authenticator.authenticate(request)
    if isinstance(identity, Refusal):
        return identity.response()
    visit = Visit(host=host, identity=identity, cards=service.cards, url=url, request=request)
    began = service.clock()
    response = answer(visit)
    if service.record is not None and visit.sighting.task_id:
        from a2a_serverless.protocol.witness import exchange_of

        seen = partial(exchange_of, visit.sighting, request, response, agent=host.name, began=began)
        _record(service, visit.sighting.task_id, seen)
    return response


def _at_callback(service: Service, door: "CallbackDoor", request: Request, grant_id: str) -> Response:
    """At a callback address. A post to a genuine one is written down, whatever came of it; a look is not."""
    from a2a_serverless.core.masking import CALLBACK_KEY
    from a2a_serverless.protocol.witness import callback_of

    began = service.clock()
    secret = request.query_fields().get(CALLBACK_KEY, "")
    grant = door.grant(grant_id, secret)
    response = door.answer(request, grant)
    if grant is not None and request.method == "POST":
        seen = partial(callback_of, grant.key, grant_id, secret, request, response, began=began)
        _record(service, grant.key.task_id, seen)
    return response


def _record(service: Service, task_id: str, seen: "Callable[..., Exchange]") -> None:
    """Write down what was seen, which is told when it ended. Whatever goes wrong with that, the answer stands."""
    if service.record is None:
        return
    try:
        service.record(seen(ended=service.clock()))
    except Exception:
        log.exception("the record of a call is lost", extra={"task_id": task_id})


_READS: Final = ("GET", "HEAD")


def _asks_for_card(request: Request, segments: tuple[str, ...]) -> bool:
    """The well-known names; or reading the very address that JSON-RPC is posted to."""
    match segments:
        case (".well-known", name):
            return name in CARD_NAMES
        case ():
            return request.method in _READS
        case _:
            return False


def _failed(error: A2AError, request: Request, version: WireVersion) -> Response:
    """An error as REST tells it."""
    from a2a_serverless.protocol import rest

    return rest.failed(error, request, version)


def _keys(request: Request, document: str) -> Response:
    if request.method not in _READS:
        return method_not_allowed(_READS).response()
    return Response(200, {"content-type": media.JSON, "cache-control": "public, max-age=300"}, document)


def _finished(service: Service, request: Request, response: Response) -> Response:
    """What every response says, and nothing of a body to who asked for none."""
    headers = {"x-content-type-options": "nosniff", **response.headers}
    if service.public_url.startswith("https:"):
        headers["strict-transport-security"] = "max-age=63072000; includeSubDomains"
    return Response(response.status, headers, "" if request.method == "HEAD" else response.body)
