"""`a2a-serverless COMMAND`: what an operator and a developer do beside deploying."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from a2a_serverless.cli.refusal import Refusal

Command = Callable[[argparse.Namespace], int]

REFUSED: Final = 2
"""Exit status when a command did not do what it was told; why is on stderr."""

NOBODY_READS: Final = 128 + 13
"""Exit status when the reader of the output left (`| head`): what a shell says of an end by SIGPIPE."""

_LONGEST_MINUTES: Final = 60 * 24 * 7


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    told = _parser().parse_args(arguments)
    run: Command = told.run
    try:
        status = run(told)
        sys.stdout.flush()
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        _say_no_more()
        return NOBODY_READS
    return status


def _say_no_more() -> None:
    """What is left of the output goes nowhere, so that the interpreter does not fail on it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="a2a-serverless", description="Tools for a deployment of a2a-serverless.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_token(commands)
    _add_lint_card(commands)
    _add_operations(commands)
    return parser


def _add_token(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    token = commands.add_parser(
        "token",
        help="print a bearer token that `make serve AUTH=dev` accepts",
        description="Print a bearer token of the development issuer. Only stacks served from this clone accept it.",
    )
    token.add_argument("--subject", required=True, type=_subject, help="whose token it is, such as alice")
    token.add_argument("--tenant", default="", help="the tenant of the subject")
    token.add_argument("--scope", nargs="*", default=[], help="scopes, separated by blanks")
    token.add_argument(
        "--actor",
        action="append",
        default=[],
        help="an agent that acts for the subject; for a chain give several, the calling one first",
    )
    token.add_argument("--minutes", type=_minutes, default=12 * 60, help="how long it is good for (default 720)")
    token.set_defaults(run=_token)


def _add_lint_card(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    judge = commands.add_parser(
        "lint-card",
        help="say what could be better in an agent's card",
        description="Say what could be better in an agent's card. Exit status 0: nothing, 1: something, 2: no agent.",
    )
    judge.add_argument(
        "agent", metavar="AGENT", help="package.module:attribute, or several as name=package.module:attribute,..."
    )
    judge.set_defaults(run=_lint_card)


def _add_operations(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """What an operator does with a stack; its modules know AWS and are imported when one of them runs."""
    show = _operation(commands, "deliveries", "show what the webhooks of a task were told, attempt by attempt")
    show.add_argument("task", metavar="TASK", help="the id of the task")
    show.add_argument("--config", default="", metavar="CONFIG", help="only this webhook")
    show.set_defaults(run=_deliveries)
    again = _operation(commands, "redeliver", "send a nudge again under its id, with the whole schedule before it")
    again.add_argument("task", metavar="TASK", help="the id of the task")
    again.add_argument("config", metavar="CONFIG", help="the id of its webhook")
    again.add_argument("message", metavar="MESSAGE", nargs="?", help="the id of the nudge (default: the newest)")
    again.set_defaults(run=_redeliver)
    test = _operation(commands, "ping", "send a signed test to a webhook; one that gets through switches it on")
    test.add_argument("task", metavar="TASK", help="the id of the task")
    test.add_argument("config", metavar="CONFIG", help="the id of its webhook")
    test.set_defaults(run=_ping)
    both = _operation(commands, "exchange", "show both sides of everything that was said about a task")
    both.add_argument("task", metavar="TASK", help="the id of the task")
    both.set_defaults(run=_exchange)
    back = _operation(commands, "redrive", "put dead letters back; a task that has ended stays as it is")
    back.add_argument("--queue", action="append", choices=("nudges", "turns"), help="only this one (default: both)")
    back.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    back.set_defaults(run=_redrive)
    keys = _operation(commands, "rotate-keys", "publish the next signing keys, which sign a day later")
    keys.add_argument("--compromised", action="store_true", help="sign with them at once, and publish the old no more")
    keys.set_defaults(run=_rotate_keys)
    secret = _operation(commands, "webhook-secret", "issue a Standard Webhooks secret for the webhooks of a caller")
    secret.add_argument(
        "--subject", required=True, type=_subject, help="whose webhooks: the subject of the caller's token"
    )
    secret.add_argument("--tenant", default="", help="the tenant of the subject")
    secret.add_argument("--revoke", action="store_true", help="revoke all that were issued, and issue none")
    secret.set_defaults(run=_webhook_secret)


def _operation(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, says: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.")
    parser.add_argument("--stack", default="", help="the deployed stack, as a2a-serverless-STAGE")
    parser.add_argument("--endpoint", default="", metavar="URL", help="the address of an embedded AWS")
    parser.add_argument("--json", action="store_true", help="answer with JSON")
    return parser


def _lint_card(told: argparse.Namespace) -> int:
    from a2a_serverless.cli import lint_card

    return lint_card.lint_card(told)


def _deliveries(told: argparse.Namespace) -> int:
    from a2a_serverless.cli import deliveries

    return deliveries.show(told)


def _redeliver(told: argparse.Namespace) -> int:
    from a2a_serverless.cli import deliveries

    return deliveries.redeliver(told)


def _ping(told: argparse.Namespace) -> int:
    from a2a_serverless.cli import deliveries

    return deliveries.ping(told)


def _exchange(told: argparse.Namespace) -> int:
    from a2a_serverless.cli import exchange

    return exchange.show(told)


def _redrive(told: argparse.Namespace) -> int:
    from a2a_serverless.cli import redrive

    return redrive.redrive(told)


def _rotate_keys(told: argparse.Namespace) -> int:
    from a2a_serverless.cli import keys

    return keys.rotate(told)


def _webhook_secret(told: argparse.Namespace) -> int:
    from a2a_serverless.cli import webhook_secret

    return webhook_secret.issue_or_revoke(told)


def _subject(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("should be a name such as alice, and is empty")
    return text


def _minutes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _LONGEST_MINUTES:
        raise argparse.ArgumentTypeError(f"{text!r} should be a number of minutes, 1 to {_LONGEST_MINUTES}")
    return int(text)


def _token(told: argparse.Namespace) -> int:
    from a2a_serverless.local.clone import NoCloneError, repository_root
    from a2a_serverless.local.dev_issuer import DevIssuer

    try:
        issuer = DevIssuer.of(repository_root())
    except NoCloneError as refusal:
        raise Refusal(str(refusal)) from None
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
