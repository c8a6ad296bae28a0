"""`a2a-serverless COMMAND`: what an operator and a developer do beside deploying."""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    told = _parser().parse_args(arguments)
    run: Command = told.run
    return run(told)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="a2a-serverless", description="Tools for a deployment of a2a-serverless.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_token(commands)
    return parser


def _add_token(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    token = commands.add_parser(
        "token",
        help="print a bearer token that `make serve AUTH=dev` accepts",
        description="Print a bearer token of the development issuer. Only stacks served from this clone accept it.",
    )
    token.add_argument("--subject", required=True, help="whose token it is, such as alice")
    token.add_argument("--tenant", default="", help="the tenant of the subject")
    token.add_argument("--scope", nargs="*", default=[], help="scopes, several with blanks between them")
    token.add_argument("--actor", action="append", default=[], help="an agent it comes through, outermost first")
    token.add_argument("--minutes", type=_minutes, default=12 * 60, help="how long it is good for (default 720)")
    token.set_defaults(run=_token)


def _minutes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _LONGEST_MINUTES:
        raise argparse.ArgumentTypeError(f"{text!r} should be a number of minutes, 1 to {_LONGEST_MINUTES}")
    return int(text)


_LONGEST_MINUTES: Final = 60 * 24 * 7


def _token(told: argparse.Namespace) -> int:
    from a2a_serverless.local.clone import NoCloneError, repository_root
    from a2a_serverless.local.dev_issuer import DevIssuer

    try:
        issuer = DevIssuer.of(repository_root())
    except NoCloneError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    print(
        issuer.token(
            told.subject,
            tenant=told.tenant,
            scopes=tuple(told.scope),
            actors=tuple(told.actor),
            lifetime=timedelta(minutes=told.minutes),
            now=datetime.now(tz=UTC),
        )
    )
    return 0
