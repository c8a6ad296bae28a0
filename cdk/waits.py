"""Waits: the state machine `AwaitInput`, one execution per wait, and the hop `expire` at its deadline."""

from pathlib import Path

from aws_cdk import Duration, Stack, aws_iam, aws_stepfunctions
from constructs import Construct

from a2a_serverless.aws.settings import Variable

from .function import HopFunction, Host, accept, let_agents_be_imported, removal, rules
from .tasks import Tasks

DEFINITION = Path(__file__).with_name("await_input.asl.json")


class Expire(Construct):
    """The deadline passed: the agent decides, else the task fails."""

    def __init__(self, scope: Construct, name: str, *, host: Host, tasks: Tasks) -> None:
        super().__init__(scope, name)
        self.function = HopFunction(
            self,
            "expire",
            host=host,
            timeout=Duration.minutes(1),
            memory=512,
            environment={
                Variable.AGENTS: host.agents,
                Variable.PUBLIC_URL: host.public_url,
                Variable.TABLE: tasks.table.table_name,
                **rules(host.choices),
            },
        )
        let_agents_be_imported(self.function)  # it asks whether one decides, and no more
        self.function.may("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", on=tasks.arn)


class AwaitInput(Construct):
    """The machine; `await_input.asl.json` is its whole definition and says what goes in."""

    def __init__(self, scope: Construct, name: str, *, host: Host, tasks: Tasks, expire: HopFunction) -> None:
        super().__init__(scope, name)
        role = aws_iam.Role(
            self,
            "Role",
            assumed_by=aws_iam.ServicePrincipal("states.amazonaws.com"),
            description="What one wait may do: write into the task that waits, and expire it",
        )
        _allow(role, "dynamodb:UpdateItem", on=tasks.arn)
        _allow(role, "lambda:InvokeFunction", on=expire.function_arn)
        self.machine = aws_stepfunctions.StateMachine(
            self,
            "Machine",
            comment="One execution per wait of a task",
            definition_body=aws_stepfunctions.DefinitionBody.from_string(DEFINITION.read_text(encoding="utf-8")),
            definition_substitutions={
                "Partition": Stack.of(self).partition,
                "Table": tasks.table.table_name,
                "Expire": expire.function_arn,
            },
            role=role,
            removal_policy=removal(host.choices),
        )
        accept(
            self.machine,
            "SF1",
            because="a Standard execution keeps its history for 90 days, and log delivery needs a grant on everything",
        )
        accept(
            self.machine, "SF2", because="a wait calls one function at its end; the functions log under the task's id"
        )


def _allow(role: aws_iam.Role, action: str, *, on: str) -> None:
    role.add_to_policy(aws_iam.PolicyStatement(actions=[action], resources=[on]))
