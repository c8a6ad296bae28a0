"""The command line, as far as it needs no stack: what it says to whom, and that it says it in a sentence."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from a2a_serverless.cli import deployment, printed
from a2a_serverless.cli.deployment import LOCAL_STACK, Deployment
from a2a_serverless.cli.main import NOBODY_READS, main
from a2a_serverless.cli.refusal import Refusal
from a2a_serverless.local.clone import run_folder


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone in which nothing runs."""
    (tmp_path / "cdk.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def served(clone: Path, port: int, *, announced: bool = True) -> None:
    """A stack that runs in the clone: this process stands for it."""
    folder = run_folder(clone, port)
    folder.open()
    if announced:
        folder.announce(json.dumps({"url": f"http://127.0.0.1:{port}", "aws_endpoint": f"http://127.0.0.1:{port + 1}"}))


def test_the_only_stack_that_is_served_is_chosen_and_it_is_said(clone: Path) -> None:
    served(clone, 8080)
    served(clone, 9090, announced=False)
    said: list[str] = []

    chosen = deployment.chosen(stack="", endpoint="", say=said.append)

    assert chosen == Deployment(LOCAL_STACK, "http://127.0.0.1:8081")
    assert said == ["the stack that is served at http://127.0.0.1:8080"]


def test_of_several_none_is_guessed(clone: Path) -> None:
    served(clone, 8080)
    served(clone, 9090)

    with pytest.raises(Refusal, match=r"choose one: --endpoint http://127.0.0.1:8081 .*9091"):
        deployment.chosen(stack="", endpoint="", say=print)


def test_a_stack_that_has_ended_is_not_found(clone: Path) -> None:
    served(clone, 8080)
    run_folder(clone, 8080).close()
    served(clone, 9090)
    (clone / ".local" / "9090" / "pid").write_text("999999999")

    with pytest.raises(Refusal, match="name the deployed one with --stack"):
        deployment.chosen(stack="", endpoint="", say=print)


def test_a_stack_that_is_named_is_looked_for_where_the_environment_says(clone: Path) -> None:
    served(clone, 8080)

    assert deployment.chosen(stack="a2a-serverless-prod", endpoint="", say=print) == Deployment(
        "a2a-serverless-prod", ""
    )
    assert deployment.chosen(stack="", endpoint="http://aws", say=print) == Deployment(LOCAL_STACK, "http://aws")


def test_outside_of_a_clone_a_stack_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from a2a_serverless.local.clone import NoCloneError

    def nowhere() -> Path:
        raise NoCloneError("none")

    monkeypatch.setattr(deployment, "repository_root", nowhere)

    with pytest.raises(Refusal, match="no stack is served from here"):
        deployment.chosen(stack="", endpoint="", say=print)


COMMANDS = [["deliveries", "t"], ["redeliver", "t", "c"], ["ping", "t", "c"], ["redrive"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_address_where_nobody_listens_is_told_in_one_line(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]

    status = main([*command, "--endpoint", f"http://127.0.0.1:{port}"])

    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("AWS was not asked: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "no region is chosen: set AWS_DEFAULT_REGION, or a profile that has one with AWS_PROFILE"),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "there are no credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and"),
    ],
    ids=["no region", "no credentials"],
)
def test_what_is_missing_to_ask_aws_is_told_with_what_to_set(
    environment: dict[str, str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    nowhere = {"AWS_CONFIG_FILE": str(tmp_path / "no"), "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no")}
    for name, value in {**nowhere, "AWS_EC2_METADATA_DISABLED": "true", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    status = main(["deliveries", "t", "--stack", "a2a-serverless-prod"])

    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith(f"AWS was not asked: {said}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [["token"], ["webhook-secret"]], ids=lambda command: command[0])
@pytest.mark.parametrize("subject", ["", " "])
def test_a_caller_without_a_name_is_refused_before_anything_is_made_for_him(
    command: list[str], subject: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--subject", subject])

    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert "--subject: should be a name such as alice, and is empty" in err


def test_a_reader_that_has_seen_enough_ends_a_command_without_a_trace(clone: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    program = "import sys; from a2a_serverless.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "token", "--subject", "alice"]

    with os.fdopen(writer, "wb") as nobody_reads:
        ended = subprocess.run(command, stdout=nobody_reads, stderr=subprocess.PIPE, check=False, cwd=clone)

    assert (ended.returncode, ended.stderr) == (NOBODY_READS, b"")


@pytest.mark.parametrize("command", [[], ["deliveries"], ["ping", "t"], ["redrive", "--queue", "relay"], ["unknown"]])
def test_a_command_that_is_none_is_refused_with_its_usage(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(command)

    assert ended.value.code == 2
    assert "usage: a2a-serverless" in capsys.readouterr().err


def test_a_table_is_as_wide_as_it_needs_to_be() -> None:
    lines = printed.table(("a", "long"), [("wide cell", "x"), ("", "")])

    assert lines == ["a          long", "wide cell  x", ""]
