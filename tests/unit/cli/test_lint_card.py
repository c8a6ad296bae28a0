"""`lint-card`: a host reads what to better in a card before anybody else reads the card."""

import re
import sys
from pathlib import Path

import pytest

from a2a_serverless.cli.main import main

OWN = "functions.agents.freight:agent,functions.agents.scripted:agent,functions.agents.conformance:agent"

POOR = """
from a2a_serverless import Agent, AgentCard, AgentProvider, AgentSkill

SKILL = AgentSkill(
    id="quote", name="Quote", description="Give the goods and the weight. Refuses dangerous goods, books nothing.",
    tags=("freight",), examples=("Quote 3 pallets, Pune to Rotterdam",),
)
GOOD = AgentCard(
    name="Quotes", description="Quotes the price of palletised freight between two places; it books nothing.",
    version="1.0.0", provider=AgentProvider(organization="Example", url="https://freight.example"), skills=(SKILL,),
)

class Quotes(Agent):
    card = GOOD

class Poor(Agent):
    card = GOOD.but(version="latest")

class Discreet(Agent):
    card = GOOD
    extended_card = GOOD.but(version="newest")

class Blank(Agent):
    pass

good, poor, discreet, blank, kind = Quotes(), Poor(), Discreet(), Blank(), Quotes
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A host's project with agents in a module, which is the working folder."""
    module = f"agents_of_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(POOR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return module


def test_the_agents_of_this_repository_have_good_cards(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["lint-card", OWN])

    assert (status, capsys.readouterr().out) == (0, "")


def test_the_agent_of_the_readme_has_a_good_card(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    written = re.search(r"## Write an agent\n\n.*?```python\n(.*?)```", readme, re.DOTALL)
    assert written
    Path(f"{host}_readme.py").write_text(written.group(1))

    status = main(["lint-card", f"{host}_readme:agent"])

    assert (status, capsys.readouterr().out) == (0, "")


def test_each_finding_is_a_line_that_says_whose_card_and_where(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["lint-card", f"good={host}:good,poor={host}:poor"])

    out = capsys.readouterr().out
    assert status == 1
    assert out.startswith("poor: version: 'latest' is no version; ")
    assert out.count("\n") == 1


def test_what_only_authenticated_callers_read_is_judged_too(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["lint-card", f"discreet={host}:discreet"])

    assert status == 1
    assert capsys.readouterr().out.startswith("discreet, extended card: version: 'newest' is no version; ")


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("missing", "has no attribute missing"),
        ("kind", "is type, and should be an instance of a2a_serverless.Agent"),
        ("blank", "has no card: set `card` to an AgentCard in its class"),
    ],
)
def test_what_is_no_agent_is_refused_in_a_sentence(
    host: str, attribute: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["lint-card", f"{host}:{attribute}"])

    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("body", ["1 / 0", "raise SystemExit('no')", "import none_such", "def"])
def test_a_module_that_cannot_be_imported_is_refused_in_a_sentence(
    host: str, body: str, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = f"{host}_broken"
    Path(f"{broken}.py").write_text(body)

    status = main(["lint-card", f"{broken}:agent"])

    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith(f"agent {broken}:agent cannot be imported: ")
    assert err.count("\n") == 1


def test_a_card_with_a_mistake_is_refused_with_the_line_it_stands_in(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(f"{host}_typo.py").write_text("from a2a_serverless import AgentCard\nAgentCard(name='A', description='B')\n")

    status = main(["lint-card", f"{host}_typo:agent"])

    err = capsys.readouterr().err
    assert status == 2
    assert "AgentCard version Field required" in err
    assert err.endswith(f" ({host}_typo.py, line 2)\n")


@pytest.mark.parametrize("agent", ["", "nothing", "none.such:agent"])
def test_an_import_string_that_leads_nowhere_is_refused_in_a_sentence(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["lint-card", agent])

    assert status == 2
    assert capsys.readouterr().err.count("\n") == 1
