"""What synth refuses, each in one sentence that says what would be right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from a2a_serverless.core.delivery_endpoint import HIGHEST_LIMIT
from cdk.agents import Place, check_agents
from cdk.context import DEFAULT_AGENTS, Choices, Refusal, check_spelling, read

ROOT = Path(__file__).resolve().parents[2]
ISSUER = {
    "issuer": "https://login.example.com/",
    "audience": "https://agents.example.com",
    "jwks_uri": "https://login.example.com/keys",
}


def chosen(**context: str) -> Choices:
    """What is chosen under this context."""

    def value(key: str) -> object:
        return context.get(key)

    return read(value)


def refusal(**context: str) -> str:
    with pytest.raises(Refusal) as refused:
        chosen(**context)
    return str(refused.value)


def agents_refusal(agents: str, *places: Place) -> str:
    with pytest.raises(Refusal) as refused:
        check_agents(agents, places)
    return str(refused.value)


# Stages and authentication


def test_a_local_run_needs_no_issuer() -> None:
    assert chosen().issuers == "[]"


def test_a_stage_on_aws_without_an_issuer_is_refused() -> None:
    assert refusal(stage="prod") == (
        "stage 'prod' has no issuer, so anybody could use its agents: give -c issuer=https://..., -c audience=... and "
        "-c jwks_uri=https://... (where its keys are published), or say -c authentication=none-and-i-mean-it"
    )


def test_a_stage_without_authentication_must_be_asked_for_in_words() -> None:
    choices = chosen(stage="prod", agents=DEFAULT_AGENTS, authentication="none-and-i-mean-it")

    assert choices.authentication_is_off
    assert refusal(stage="prod", authentication="none") == (
        "authentication='none' is unknown; the only value is 'none-and-i-mean-it'"
    )


def test_an_issuer_and_no_authentication_contradict_each_other() -> None:
    told = refusal(stage="prod", authentication="none-and-i-mean-it", **ISSUER)

    assert told == "authentication=none-and-i-mean-it contradicts the issuer and audience that were given too"


@pytest.mark.parametrize(("given", "missing"), [("issuer", "audience"), ("audience", "issuer")])
def test_an_issuer_needs_an_audience(given: str, missing: str) -> None:
    assert refusal(stage="prod", **{given: ISSUER[given]}).startswith(f"{missing} is missing")


def test_an_issuer_whose_keys_nobody_could_fetch_is_refused() -> None:
    told = refusal(stage="prod", issuer=ISSUER["issuer"], audience=ISSUER["audience"])

    assert told == (
        "jwks_uri is missing: give -c issuer=https://..., -c audience=... and -c jwks_uri=https://... (where its keys "
        "are published)"
    )


def test_an_issuer_is_written_as_the_api_reads_it() -> None:
    choices = chosen(stage="prod", agents=DEFAULT_AGENTS, **ISSUER)

    assert choices.issuers == (
        '[{"issuer": "https://login.example.com/", "audience": "https://agents.example.com", '
        '"jwks_uri": "https://login.example.com/keys"}]'
    )


def test_an_issuer_that_is_reached_in_the_clear_is_refused_outside_local() -> None:
    context = {"stage": "prod", **ISSUER, "issuer": "http://login.example.com/"}

    assert refusal(**context) == "issuer='http://login.example.com/' should be an https address"
    assert chosen(**context | {"stage": "local"}).stage == "local"


@pytest.mark.parametrize("stage", ["", "Prod", "1prod", "a" * 21, "prod eu"])
def test_a_stage_has_a_name_that_aws_takes(stage: str) -> None:
    assert "should be a lower-case name" in refusal(stage=stage)


def test_private_webhooks_are_refused_outside_local() -> None:
    told = refusal(stage="prod", allow_private_webhooks="true", **ISSUER)

    assert told == (
        "allow_private_webhooks lets a caller reach addresses inside the network, so stage 'prod' cannot have it; only "
        "stage 'local' can"
    )


def test_private_webhooks_can_be_turned_off_locally() -> None:
    assert chosen().allow_private_webhooks
    assert not chosen(allow_private_webhooks="false").allow_private_webhooks


# Times, numbers, addresses


def test_a_task_is_kept_at_least_as_long_as_it_may_wait() -> None:
    assert refusal(retention_days="7") == (
        "retention_days=7 is shorter than max_wait_days=30: a task must be kept at least as long as it may wait for "
        "an answer"
    )
    assert chosen(retention_days="7", max_wait_days="7").retention.days == 7


def test_a_wait_cannot_outlive_a_standard_execution() -> None:
    told = refusal(max_wait_days="365", retention_days="400")

    assert told == "max_wait_days='365' should be a whole number from 1 to 364"


@pytest.mark.parametrize("number", ["", "many", "-1", "0", "1.5", "9" * 30, "٣"])
def test_a_number_is_a_number(number: str) -> None:
    assert "should be a whole number" in refusal(turn_concurrency=number)


def test_logs_are_kept_for_a_time_that_cloudwatch_knows() -> None:
    assert refusal(log_retention_days="31").startswith("log_retention_days=31 should be one of 1, 7, 14, 30")


@pytest.mark.parametrize(
    ("key", "value"),
    [("python", "3.9"), ("architecture", "arm"), ("allow_private_webhooks", "1"), ("webhook_ownership", "yes")],
)
def test_a_choice_is_one_of_those_there_are(key: str, value: str) -> None:
    assert f"{key}={value!r} should be one of" in refusal(**{key: value})


@pytest.mark.parametrize("url", ["agents.example.com", "ftp://agents.example.com", "https://a.example/?q", "https://"])
def test_a_public_address_is_one(url: str) -> None:
    assert "should be an https address" in refusal(public_url=url)


@pytest.mark.parametrize("path", ["/agents", "/v1/", "/agents/freight"])
def test_a_public_address_does_not_begin_as_the_api_s_own_paths_do(path: str) -> None:
    assert "begins with a path of the API's own (agents, v1)" in refusal(public_url=f"https://example.com{path}")
    assert chosen(public_url=f"https://example.com/a2a{path}").public_url == f"https://example.com/a2a{path}".rstrip(
        "/"
    )


def test_a_public_address_on_aws_is_https() -> None:
    assert "should be an https address" in refusal(stage="prod", public_url="http://agents.example.com", **ISSUER)
    assert chosen(public_url="http://127.0.0.1:8080/").public_url == "http://127.0.0.1:8080"


def test_alarms_go_to_a_topic() -> None:
    assert refusal(alarm_topic_arn="on-call") == "alarm_topic_arn='on-call' should be the ARN of an SNS topic"


def test_a_stage_on_aws_that_forgets_its_agents_does_not_get_the_example() -> None:
    """Each deployment says everything: what is left out has its default again, and the tasks of agents stay behind."""
    assert refusal(stage="prod", **ISSUER) == (
        "stage 'prod' names no agents: give -c agents=name=package.module:attribute (the kit's example is "
        "freight=functions.agents.freight:agent)"
    )
    assert chosen().agents == DEFAULT_AGENTS


@pytest.mark.parametrize(
    "policy", ["AdministratorAccess", "arn:aws:iam::111122223333:role/quotes", "arn:aws:iam::1:policy/a"]
)
def test_what_agents_may_do_is_said_by_managed_policies(policy: str) -> None:
    assert refusal(agent_policies=policy) == f"agent_policies: {policy!r} should be the ARN of a managed policy of IAM"


def test_a_role_takes_ten_policies() -> None:
    many = ",".join(f"arn:aws:iam::111122223333:policy/p{number}" for number in range(11))

    assert refusal(agent_policies=many) == "agent_policies names 11 policies; a role takes 10"


@pytest.mark.parametrize("entry", ["RATES", "=rates", "AWS_REGION=x", "A2A_TABLE=x", "2=x", "RA-TES=x", "LAMBDA_X=1"])
def test_a_variable_of_agents_has_a_name_that_lambda_and_the_kit_leave_alone(entry: str) -> None:
    assert refusal(agent_environment=entry).startswith(f"agent_environment: {entry!r} should be NAME=value")


def test_what_does_not_fit_the_environment_of_a_function_is_refused_before_a_deployment_fails() -> None:
    told = refusal(agent_environment="TEXT=" + "ä" * 1500, agents="quotes=quotes:agent")

    assert told == (
        "agents, issuer and agent_environment take 3025 bytes of the functions' environment; there is room for 2800"
    )


def test_a_variable_of_agents_has_one_value() -> None:
    assert refusal(agent_environment="RATES=a, RATES=b") == "agent_environment names RATES twice"


def test_a_folder_of_agents_is_there(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"

    assert refusal(agent_source=str(missing)) == f"agent_source={str(missing)!r} is no folder; looked at {missing}"


# Spelling


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("retention_dayz", "retention_days"),
        ("retention-days", "retention_days"),
        ("agent", "agents"),
        ("isuer", "issuer"),
    ],
)
def test_a_misspelt_key_is_refused_with_the_one_that_was_meant(misspelt: str, meant: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_spelling([misspelt])

    assert str(refused.value) == f"there is no key {misspelt!r}; did you mean {meant!r}?"


def test_keys_of_others_are_left_alone() -> None:
    check_spelling(["stage", "@aws-cdk/core:newStyleStackSynthesis", "availability-zones:account=1:region=eu-west-1"])


def test_the_command_reads_the_spelling_of_its_context(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cdk.app", "-c", "stage=prod", "-c", "isuer=https://login.example.com/"]

    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"CDK_OUTDIR": str(tmp_path)}, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (1, "refused: there is no key 'isuer'; did you mean 'issuer'?\n")


# Agents


@pytest.fixture
def places(tmp_path: Path) -> list[Place]:
    """Two folders with the module `desk.quotes` in the second."""
    (tmp_path / "kit").mkdir()
    (tmp_path / "own" / "desk").mkdir(parents=True)
    (tmp_path / "own" / "desk" / "__init__.py").write_text("from .quotes import agent as exported\n")
    (tmp_path / "own" / "desk" / "quotes.py").write_text(
        "import heavy_thing_that_is_not_installed\n"
        "class Quotes: pass\n"
        "agent = Quotes()\n"
        "first, (second, *others) = agent, (agent,)\n"
        "typed: Quotes = agent\n"
        "if agent:\n    chosen = agent\nelse:\n    def other(): pass\n"
        "try:\n    tried = agent\nexcept ImportError:\n    failed = agent\n"
    )
    (tmp_path / "own" / "desk" / "everything.py").write_text("from .quotes import *\n")
    (tmp_path / "own" / "desk" / "broken.py").write_text("agent = (\n")
    return [Place(tmp_path / "kit", "the project"), Place(tmp_path / "own", "own/")]


@pytest.mark.parametrize(
    "agent",
    [
        *("desk.quotes:agent", "desk.quotes:Quotes", "desk:exported", "desk.everything:agent"),
        *("desk.quotes:second", "desk.quotes:typed", "desk.quotes:chosen", "desk.quotes:other"),
        *("desk.quotes:tried", "desk.quotes:failed"),
    ],
)
def test_an_agent_that_is_there_is_found_without_importing_it(places: list[Place], agent: str) -> None:
    check_agents(f"quotes={agent}", places)

    assert "desk" not in sys.modules


def test_a_module_that_is_not_there_is_named_with_where_it_was_looked_for(places: list[Place]) -> None:
    assert agents_refusal("quotes=desk.qoutes:agent", *places) == (
        "agent 'quotes': there is no module 'desk.qoutes'; looked for desk/qoutes.py and desk/qoutes/__init__.py in "
        "the project, own/"
    )


def test_an_attribute_that_is_not_there_is_named_with_the_one_that_was_meant(places: list[Place]) -> None:
    assert agents_refusal("quotes=desk.quotes:agnet", *places) == (
        "agent 'quotes': the module 'desk.quotes' has no 'agnet' at its top level; did you mean 'agent'?"
    )


def test_a_module_that_is_no_python_says_in_which_line(places: list[Place]) -> None:
    assert agents_refusal("quotes=desk.broken:agent", *places) == (
        "agent 'quotes': the module 'desk.broken' is no Python: '(' was never closed in line 1"
    )


@pytest.mark.parametrize(
    "agents", ["", "desk.quotes:agent", "quotes=desk.quotes", "quotes=desk quotes:agent", "=a:b", "a=b:c,", "a=../b:c"]
)
def test_a_list_of_agents_that_cannot_be_read_is_refused(places: list[Place], agents: str) -> None:
    assert "should be name=import.path:attribute, comma separated" in agents_refusal(agents, *places)


def test_two_agents_cannot_have_one_name(places: list[Place]) -> None:
    told = agents_refusal("a=desk.quotes:agent,a=desk.quotes:typed", *places)

    assert told.endswith("names the agent 'a' twice")


# The command


def test_the_command_says_one_sentence_and_ends_with_1(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cdk.app", "-c", "stage=prod"]
    environment = os.environ | {"CDK_OUTDIR": str(tmp_path)}

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("refused: stage 'prod' has no issuer")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_slow_partner_leaves_most_functions_to_the_others() -> None:
    assert chosen().nudge_concurrency >= 3 * HIGHEST_LIMIT
