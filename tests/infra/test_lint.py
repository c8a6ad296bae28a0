"""What others' rules say: cfn-lint about the template, cdk-nag and the CDK's own validation about the app."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra.conftest import PRODUCTION
from tests.infra.template import Template

ROOT = Path(__file__).resolve().parents[2]

STANDS = {
    "W3005": "the CDK says which role a function needs although the reference says it too",
}
EXPRESSIONS = {
    "'{% $states.input.waits[0] %}' is not of type 'number' at 'States/AwaitAnswer/TimeoutSeconds'",
    *(
        f"'arn:${{Partition}}:states:::{integration}' does not match "
        r"'^arn:aws:([a-z]|-)+:([a-z]|[0-9]|-)*:[0-9]*:([a-z]|-)+:[a-zA-Z0-9-_.]+(:(\\$LATEST|[a-zA-Z0-9-_\\.]+))?$' "
        f"at 'States/{state}/Resource'"
        for state, integration in [
            ("AwaitAnswer", "aws-sdk:dynamodb:updateItem.waitForTaskToken"),
            ("Remind", "aws-sdk:dynamodb:updateItem"),
            ("Expire", "lambda:invoke"),
        ]
    ),
}
"""cfn-lint reads a state machine before its expressions and substitutions mean anything (E3601)."""


def test_cfn_lint_finds_nothing(every: Template) -> None:
    command = [str(Path(sys.executable).with_name("cfn-lint")), "--format", "json", "--ignore-checks", *STANDS]
    done = subprocess.run([*command, "--template", str(every.file)], capture_output=True, text=True)

    found = [(each["Rule"]["Id"], each["Message"]) for each in json.loads(done.stdout)]

    assert [each for each in found if each[0] != "E3601"] == []
    assert {message for rule, message in found if rule == "E3601"} == EXPRESSIONS


NAG = """
import json, sys
from pathlib import Path
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks
from cdk.app import build
from tests.infra.assembly import source_only

app = build(json.loads(sys.argv[1]), Path(sys.argv[2]), code=source_only)
Validations.of(app).add_plugins(AwsSolutionsChecks(app))
app.synth()
"""


@pytest.mark.parametrize("context", [PRODUCTION])
def test_cdk_nag_and_the_validation_of_the_cdk_find_nothing(context: dict[str, str], tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "CDK_VALIDATION"}
    command = [sys.executable, "-c", NAG, json.dumps(context), str(tmp_path / "out")]

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "AwsSolutions" not in done.stdout + done.stderr
