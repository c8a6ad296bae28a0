"""The agents of a stack: how they are spelled, and how an import that fails is told."""

from pathlib import Path

import pytest

from a2a_serverless.local import agents
from a2a_serverless.local.agents import Agent, AgentError, ImportCheck, parse, spelled

MINE = """
from a2a_serverless import Agent, AgentCard

class Bare(Agent):
    pass

class Mine(Agent):
    card = AgentCard(name="Mine", description="It is mine.", version="1", skills=())

    def run(self, turn):
        turn.complete()

class Idle(Agent):
    card = Mine.card

    def rnu(self, turn):
        turn.complete()

class Quick(Agent):
    card = Mine.card

    def reply(self, inbound):
        return "yes"

agent = Mine()
idle = Idle()
quick = Quick()
bare = Bare()
number = 1
"""


def test_an_import_string_names_its_agent_after_the_module() -> None:
    assert parse("functions.agents.freight:agent") == [Agent("freight", "functions.agents.freight:agent")]


def test_several_agents_are_served_under_their_names_in_the_given_order() -> None:
    found = parse("b=x.y:agent, a=x.w:other")

    assert found == [Agent("b", "x.y:agent"), Agent("a", "x.w:other")]
    assert spelled(found) == "b=x.y:agent,a=x.w:other"


@pytest.mark.parametrize("text", ["", "x", "x.y", "x.y:", ":a", "x y:a", "n m=x:a", "=x:a", "x:a,y:a b"])
def test_what_is_no_list_of_import_strings_is_refused(text: str) -> None:
    with pytest.raises(AgentError):
        parse(text)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("mine:agent", None),
        ("mine:quick", None),
        ("other:agent", "there is no module other"),
        ("mine:nobody", "has no attribute nobody"),
        ("broken:agent", r"importing broken failed: ValueError: no \(broken.py, line 1\)"),
        (
            "typo:agent",
            r"importing typo failed: ValidationError: .* AgentCard version Field required .*\(typo.py, line 2\)",
        ),
        ("lacks:agent", "importing lacks failed: No module named 'not_there'"),
        ("ends:agent", "the import ended the process"),
        ("hangs:agent", "its import takes more than"),
        ("mine:Mine", "it is the class Mine, and should be an instance of a2a_serverless.Agent"),
        ("mine:number", "it is of type int, and should be an instance"),
        ("mine:bare", "its card is of type NoneType, and should be an AgentCard"),
        ("mine:idle", r"its class Idle says nothing of what it does: write run\(self, turn\) in it"),
    ],
)
def test_every_agent_is_imported_from_the_staged_code_before_it_is_served(
    tmp_path: Path, source: str, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("raise ValueError('no')\n")
    (tmp_path / "typo.py").write_text("from a2a_serverless import AgentCard\nAgentCard(name='A', description='B')\n")
    (tmp_path / "lacks.py").write_text("import not_there\n")
    (tmp_path / "ends.py").write_text("import os\nos._exit(3)\n")
    (tmp_path / "hangs.py").write_text("import threading\nthreading.Event().wait()\n")
    if source.startswith("hangs"):
        monkeypatch.setattr(agents, "IMPORT_SECONDS", 0.1)
    check = ImportCheck.begin(parse(source), tmp_path)

    if reason is None:
        check.finish()
    else:
        with pytest.raises(AgentError, match=reason):
            check.finish()
