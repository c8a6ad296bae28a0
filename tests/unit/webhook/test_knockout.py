"""Takes out each refusal of a registration, and each block of addresses, one at a time: a case notices."""

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from a2a_serverless.core import registration
from a2a_serverless.webhook import address, url
from a2a_serverless.webhook.policy import WebhookPolicy

SAMPLE: Final = Path(__file__).parents[2] / "data" / "webhooks" / "webhook-attacks.json"
STRICT: Final = WebhookPolicy(own_hosts=frozenset({"agent.example.com"}))
LOCAL: Final = WebhookPolicy(allow_private=True)
OWN: Final = (
    "https://agent.example.com/hook",
    "https://sub.agent.example.com/hook",
    "https://xn--zzzzzz.example.com/",
    f"https://{'a.' * 125}example.com/",
    "https://rx.example.com/" + "a" * 2048,
    "http://rx:0/",
    "http://rx:65536/",
    "http://[::1]/",
    "http://256.1.1.1/",
)
"""URLs of kinds that the sample lacks."""


@dataclass(frozen=True)
class Knockout:
    """One `return` of a refusal in a module, answered by None in its place."""

    module: ModuleType
    line: int
    code: ast.Module

    def __str__(self) -> str:
        return f"{self.module.__name__.rpartition('.')[2]}:{self.line}"

    def taken_out(self) -> dict[str, Any]:
        """What the module would define without it."""
        names: dict[str, Any] = {"__name__": self.module.__name__, "__package__": self.module.__package__}
        exec(compile(self.code, self.module.__name__, "exec"), names)
        return names


def knockouts() -> Iterator[Knockout]:
    for module in (url, registration):
        assert module.__file__
        source = Path(module.__file__).read_text(encoding="utf-8")
        for number in range(len(refusals(ast.parse(source)))):
            code = ast.parse(source)
            found = refusals(code)[number]
            found.value = ast.copy_location(ast.Constant(None), found)
            yield Knockout(module, found.lineno, code)


def refusals(code: ast.Module) -> list[ast.Return]:
    """Every `return` that answers a refusal, in order."""
    return [node for node in ast.walk(code) if isinstance(node, ast.Return) and is_refusal(node.value)]


def is_refusal(value: ast.expr | None) -> bool:
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            return is_refusal(body) or is_refusal(orelse)
        case ast.Call(func=ast.Name(id="_refused" | "Refused"), args=[*_, last]):
            return not isinstance(last, ast.Name)  # the helper that makes them is none itself
        case _:
            return False


def judged(defined: dict[str, Any]) -> list[str]:
    """What a module makes of every case: the reason of the refusal, the exception, or what it takes."""
    given = [v["input"] for v in json.loads(SAMPLE.read_text(encoding="utf-8")) if v["input"].get("op") == "register"]
    if "check_url" in defined:
        urls = [*(each["url"] for each in given), *OWN]
        # No text is known that passes the rules and is read otherwise by the second parser: it is asked itself.
        split = defined["WebhookUrl"]("https", "rx.example.com", 443, "/", "https://other.example.com/")
        found = [outcome(defined["check_url"], each, policy) for policy in (STRICT, LOCAL) for each in urls]
        return [*found, outcome(defined["_agreed"], split)]
    brought = [(each.get("scheme"), each.get("credentials")) for each in given] + [("Basic", None)]
    secrets = [outcome(defined["check_authentication"], *each) for each in brought]
    return secrets + [outcome(defined["check_token"], each.get("token")) for each in given]


def outcome(check: Callable[..., Any], *given: Any) -> str:
    try:
        found = check(*given)
    except Exception as error:  # noqa: BLE001 (a crash is another outcome)
        return type(error).__name__
    return getattr(found, "reason", type(found).__name__)


@pytest.mark.parametrize("knockout", list(knockouts()), ids=str)
def test_a_refusal_that_is_taken_out_is_noticed(knockout: Knockout) -> None:
    assert judged(knockout.taken_out()) != judged(vars(knockout.module))


def test_nothing_is_noticed_where_nothing_was_taken_out() -> None:
    for module in (url, registration):
        assert module.__file__
        whole = Knockout(module, 0, ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
        assert judged(whole.taken_out()) == judged(vars(module))


@pytest.mark.parametrize("block", [*address.IPV4_REFUSED, *address.IPV6_REFUSED], ids=str)
def test_a_block_that_is_taken_out_is_noticed(
    block: IPv4Network | IPv6Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other block stands in for it, so each is needed; and what lies in it is refused as long as it is there."""
    policy = WebhookPolicy(allow_ipv6=True)
    inside = str(block[-1])
    assert not address.is_allowed(inside, policy)

    name = "IPV4_REFUSED" if isinstance(block, IPv4Network) else "IPV6_REFUSED"
    monkeypatch.setattr(address, name, tuple(each for each in getattr(address, name) if each != block))

    assert address.is_allowed(inside, policy)
