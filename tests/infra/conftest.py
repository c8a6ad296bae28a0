"""One synth per variant for the whole session, in this process: node starts once and nothing is fetched."""

import os
from pathlib import Path

import pytest

from tests.infra.template import Template

os.environ.update(
    {
        "CDK_DISABLE_CLI_TELEMETRY": "1",
        "CDK_VALIDATION": "false",  # cfn-lint and cdk-nag are asked by tests of their own
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }
)

PRODUCTION = {
    "stage": "prod",
    "agents": "freight=functions.agents.freight:agent",
    "issuer": "https://login.example.com/",
    "audience": "https://agents.example.com",
    "jwks_uri": "https://login.example.com/keys",
    "alarm_topic_arn": "arn:aws:sns:eu-west-1:111122223333:on-call",
}


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The template of a local run."""
    return synthesized(tmp_path_factory.mktemp("local") / "out", {})


@pytest.fixture(scope="session")
def production(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The template of a stage on AWS, with sources alone in its asset."""
    return synthesized(tmp_path_factory.mktemp("production") / "out", PRODUCTION)


@pytest.fixture(params=["local", "production"])
def every(request: pytest.FixtureRequest) -> Template:
    """What holds for each variant."""
    template: Template = request.getfixturevalue(request.param)
    return template


def synthesized(out: Path, context: dict[str, str]) -> Template:
    """The template under this context, with sources alone in its asset."""
    from cdk.app import build
    from tests.infra.assembly import source_only

    build(context, out, code=source_only).synth()
    return Template.of(out)
