"""`serve`: what it says, what it refuses, and what it leaves behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from a2a_serverless.local.clone import repository_root
from a2a_serverless.local.serve import EXIT_REFUSED, Settings, remarks

from .talking import Caller, eventually, state_of

ROOT = repository_root()


def serve(env: Mapping[str, str]) -> "subprocess.Popen[str]":
    """Start `serve` with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "A2A_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "a2a_serverless.local.serve"],
        cwd=ROOT,
        env={**kept, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refusal(env: Mapping[str, str]) -> str:
    """What `serve` says when it refuses these variables."""
    process = serve(env)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (EXIT_REFUSED, "")
    return err


def test_a_busy_port_is_said_before_anything_else() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        said = refusal({"PORT": str(port), "AGENT": "no.such.module:agent"})

    assert said == f"port {port} is taken: choose another with PORT=...\n"


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        ("no.such.module:agent", "there is no module no"),
        ("functions.agents.no_such:agent", "there is no module functions.agents.no_such"),
        ("functions.agents.scripted:nobody", "has no attribute nobody"),
    ],
)
def test_an_agent_that_is_not_there_is_named_with_the_places_that_were_searched(agent: str, sentence: str) -> None:
    said = refusal({"PORT": "0", "AGENT": agent})

    assert f"agent {agent} was looked for in the functions' code (a2a_serverless, functions)" in said
    assert sentence in said


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("AGENT", "freight", "AGENT=freight is no import string"),
        ("AGENT", "a=x.y:z,a=x.w:z", "the agent name a comes twice"),
        ("PORT", "http", "PORT=http is no number of 0 or more"),
        ("PORT", "70000", "70000 is no port"),
        ("AUTH", "yes", "AUTH=yes is unknown: it should be none or dev"),
        ("STRICT_IAM", "maybe", "STRICT_IAM=maybe is unknown"),
        ("AGENT_SOURCE", "no/such/folder", f"AGENT_SOURCE=no/such/folder is no folder; looked at {ROOT}"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_by_name(variable: str, value: str, sentence: str) -> None:
    assert sentence in refusal({"PORT": "0", variable: value})


def test_what_a_newcomer_may_miss_is_said_before_it_is_served(tmp_path: Path) -> None:
    def said(env: dict[str, str]) -> str:
        return "\n".join(remarks(Settings.from_env(env)))

    folder = {"AGENT_SOURCE": str(tmp_path)}
    assert said({}) == "no authentication: every caller is the same anonymous owner (AUTH=dev asks for tokens)"
    assert "bearer token: `.venv/bin/a2a-serverless token --subject alice` prints one" in said({"AUTH": "dev"})
    assert f"is served, and nothing of {tmp_path}: name its agents with AGENT=..." in said(folder)
    assert "nothing of" not in said({**folder, "AGENT": "mine:agent"})


def test_it_serves_until_it_is_stopped_and_leaves_no_process_and_no_file() -> None:
    process = serve({"PORT": "0"})
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith("READY "), process.communicate(timeout=30)
    ready = json.loads(line.removeprefix("READY "))
    folder = ROOT / ".local" / ready["url"].rpartition(":")[2]
    with urllib.request.urlopen(f"{ready['url']}/.well-known/agent-card.json") as answer:
        assert answer.status == 200
    children = _children(process.pid)

    process.send_signal(signal.SIGINT)
    rest, said = process.communicate(timeout=30)

    assert (process.returncode, rest) == (0, "")
    assert "no authentication" in said
    assert ready["agents"] == ["freight"]
    assert children
    eventually(lambda: not any(map(_runs, children)), 5)
    assert not (folder / "tmp").exists()
    assert not (folder / "pid").exists()


MINE = """
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater
from a2a_serverless import AgentCard, AgentSkill
from a2a_serverless.agent.executor import ExecutorAgent

class Greets(AgentExecutor):
    async def execute(self, context, event_queue):
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
            says = TaskUpdater(event_queue, context.task_id, context.context_id)
            return await says.requires_input(new_text_message("Whom shall I greet?"))
        says = TaskUpdater(event_queue, context.task_id, context.context_id)
        await says.add_artifact([new_text_part(f"Hello, {context.get_user_input()}!")], name="greeting.txt")
        await says.complete()

    async def cancel(self, context, event_queue):
        pass

skill = AgentSkill(id="greet", name="Greet", description="Say 'greet'. Refuses nothing.", tags=("greeting",))
card = AgentCard(name="Greeter", description="Greets people by name.", version="1.0.0", skills=(skill,))
agent = ExecutorAgent(card, Greets())
"""


def test_an_executor_of_the_official_sdk_in_a_folder_of_its_own_is_served(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    process = serve({"PORT": "0", "AGENT": "greeter=mine:agent", "AGENT_SOURCE": str(tmp_path)})
    assert process.stdout
    line = process.stdout.readline()
    try:
        assert line.startswith("READY "), process.communicate()
        with closing(Caller(json.loads(line.removeprefix("READY "))["url"])) as caller:
            asked = caller.send("greet")
            done = caller.send("Ada", task=asked["id"])
    finally:
        process.terminate()
        process.communicate()

    assert state_of(asked) == "INPUT_REQUIRED"
    assert (state_of(done), done["artifacts"][0]["parts"]) == ("COMPLETED", [{"text": "Hello, Ada!"}])


def test_agents_that_hide_a_part_of_the_kit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "functions").mkdir()

    said = refusal({"PORT": "0", "AGENT": "mine:agent", "AGENT_SOURCE": str(tmp_path)})

    assert said == "agent_source holds 'functions', which is the name of a folder of the kit: rename it\n"


def test_a_stack_that_is_killed_hard_leaves_no_process() -> None:
    process = serve({"PORT": "0"})
    assert process.stdout
    process.stdout.readline()
    children = _children(process.pid)

    process.kill()
    process.communicate()

    assert children
    eventually(lambda: not any(map(_runs, children)), 5)


def _children(parent: int) -> list[int]:
    return [int(child) for task in Path(f"/proc/{parent}/task").iterdir() for child in _children_of(task)]


def _children_of(task: Path) -> list[str]:
    return (task / "children").read_text().split()


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
