"""The function of one hop, with the defaults that all hops share: runtime, log group, role.

A role starts with nothing but its own log; what else it may do is said action by action with `may`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import (
    Acknowledgment,
    Duration,
    RemovalPolicy,
    Validations,
    aws_iam,
    aws_lambda,
    aws_logs,
    aws_sqs,
)
from constructs import Construct

from a2a_serverless.aws.settings import Variable

from .context import Choices

RUNTIMES = {"3.14": aws_lambda.Runtime.PYTHON_3_14, "3.13": aws_lambda.Runtime.PYTHON_3_13}
ARCHITECTURES = {"arm64": aws_lambda.Architecture.ARM_64, "x86_64": aws_lambda.Architecture.X86_64}


@dataclass(frozen=True)
class Host:
    """What every part of the stack stands on: the choices, the code asset, and the values of this deployment."""

    choices: Choices
    code: aws_lambda.Code
    agents: str
    issuers: str
    public_url: str
    """What was chosen, or else a token of the API's own endpoint."""


class HopFunction(aws_lambda.Function):
    """The Lambda function of one hop; its handler is `functions/{hop}/handler.py`."""

    def __init__(
        self,
        scope: Construct,
        hop: str,
        *,
        host: Host,
        timeout: Duration,
        memory: int,
        environment: Mapping[Variable, str],
        dead_letters: aws_sqs.Queue | None = None,
        loops: aws_lambda.RecursiveLoop | None = None,
    ) -> None:
        """Make the function, with `memory` in megabytes.

        `dead_letters` is for one that is called and not waited for. `loops` says whether a chain of calls may come back
        to it more than about 16 times; Lambda says no by itself.
        """
        self.choices = choices = host.choices
        logs = log_group(scope, "Logs", choices=choices)
        role = aws_iam.Role(
            scope,
            "Role",
            assumed_by=aws_iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What the hop {hop} may do",
        )
        super().__init__(
            scope,
            "Function",
            description=f"a2a-serverless {choices.stage}: {hop}",
            runtime=RUNTIMES[choices.python],
            architecture=ARCHITECTURES[choices.architecture],
            handler=f"functions.{hop}.handler.handler",
            code=host.code,
            role=role,
            timeout=timeout,
            memory_size=memory,
            log_group=logs,
            tracing=aws_lambda.Tracing.DISABLED,
            dead_letter_queue=dead_letters,
            recursive_loop=loops,
            environment={str(name): value for name, value in {Variable.STAGE: choices.stage, **environment}.items()},
        )
        self.own_role = role
        self.may("logs:CreateLogStream", "logs:PutLogEvents", on=logs.log_group_arn)

    def may(self, *actions: str, on: str, purpose: str | None = None, passed_to: str | None = None) -> None:
        """Allow these actions on one resource.

        `purpose` binds the use of a key to that encryption context, `passed_to` that of a role to one service.
        """
        bounds = {"kms:EncryptionContext:purpose": purpose, "iam:PassedToService": passed_to}
        conditions = {"StringEquals": {key: value for key, value in bounds.items() if value}}
        self.add_to_role_policy(
            aws_iam.PolicyStatement(
                actions=list(actions), resources=[on], conditions=conditions if conditions["StringEquals"] else None
            )
        )


def let_agents_be_imported(function: HopFunction) -> None:
    """Give a function that imports the agents the variables that they look for."""
    for name, value in function.choices.agent_environment.items():
        function.add_environment(name, value)


def let_agents_run(function: HopFunction) -> None:
    """Let a function that runs agents do what they need to do on AWS."""
    let_agents_be_imported(function)
    for number, arn in enumerate(function.choices.agent_policies, start=1):
        policy = aws_iam.ManagedPolicy.from_managed_policy_arn(function, f"AgentPolicy{number}", arn)
        function.own_role.add_managed_policy(policy)


def rules(choices: Choices) -> dict[Variable, str]:
    """The times that every decision about a task keeps to, for the functions that decide."""
    times = {
        Variable.RETENTION_SECONDS: choices.retention,
        Variable.LONGEST_WAIT_SECONDS: choices.longest_wait,
        Variable.RETRY_WINDOW_SECONDS: choices.retry_window,
    }
    return {name: str(int(time.total_seconds())) for name, time in times.items()}


def log_group(scope: Construct, name: str, *, choices: Choices, called: str | None = None) -> aws_logs.LogGroup:
    """A log group that keeps its lines as long as the deployment chose; CloudFormation names it if nobody does."""
    return aws_logs.LogGroup(
        scope,
        name,
        log_group_name=called,
        retention=aws_logs.RetentionDays[choices.log_retention],
        removal_policy=removal(choices),
    )


def removal(choices: Choices) -> RemovalPolicy:
    """What happens to stored things when the stack goes: only a local run's are thrown away, and those of a first
    deployment that failed, which hold nothing and would cost and confuse."""
    return RemovalPolicy.DESTROY if choices.is_local else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


def accept(construct: Construct, rule: str, *, because: str) -> None:
    """Stand by what a rule of cdk-nag would not have, for this construct alone."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=because))
