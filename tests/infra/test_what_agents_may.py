"""What agents may do on AWS and are told is what the deployment says, for the functions that run them and no others."""

import pytest

from tests.infra.conftest import PRODUCTION, synthesized
from tests.infra.template import Template

POLICIES = ["arn:aws:iam::111122223333:policy/quotes", "arn:aws:iam::aws:policy/AmazonBedrockLimitedAccess"]
CONTEXT = PRODUCTION | {
    "agent_policies": ", ".join(POLICIES),
    "agent_environment": "RATES_SECRET=prod/rates, MODE=a=b",
    "turn_memory_mb": "2048",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A stage whose agents need something."""
    return synthesized(tmp_path_factory.mktemp("told") / "out", CONTEXT)


def test_the_functions_that_run_agents_may_do_what_agents_may(told: Template) -> None:
    roles = told.of_type("AWS::IAM::Role")

    given = {name: role["ManagedPolicyArns"] for name, role in roles.items() if "ManagedPolicyArns" in role}

    assert given == {"ApiRole": POLICIES, "RunTurnRole": POLICIES}


def test_the_function_that_runs_turns_alone_has_more_memory(told: Template) -> None:
    memory = {name: function["MemorySize"] for name, function in told.of_type("AWS::Lambda::Function").items()}

    assert memory.pop("RunTurnFunction") == 2048
    assert max(memory.values()) == 512


def test_the_functions_that_import_agents_have_their_environment(told: Template) -> None:
    functions = told.of_type("AWS::Lambda::Function")

    variables = {name: function["Environment"]["Variables"] for name, function in functions.items()}

    assert {name for name, told in variables.items() if told.get("RATES_SECRET") == "prod/rates"} == {
        *("ApiFunction", "RunTurnFunction", "ExpireFunction", "SweepFunction")
    }
    assert variables["RunTurnFunction"]["MODE"] == "a=b"
    assert {name for name, told in variables.items() if "A2A_AGENTS" in told} == {
        name for name, told in variables.items() if "MODE" in told
    }
