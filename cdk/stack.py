"""The one stack: the hops of a task, in the order in which a task meets them."""

from aws_cdk import CfnCondition, CfnOutput, CfnParameter, CfnRule, CfnRuleAssertion, Fn, Stack, aws_lambda
from constructs import Construct

from .api import Api, FrontDoor
from .context import Choices
from .function import Host
from .nudges import Notify
from .relay import Effects, Relay
from .sealing import Sealing
from .sweep import Sweep
from .tasks import RunTurn, Tasks
from .waits import AwaitInput, Expire
from .watch import Watch

NAME = "A2aServerless"
"""The stack's id in the assembly, the same for every stage; its name on AWS ends with the stage."""

NOT_ON_AWS = "Stage 'local' is for one machine (make serve) and lets everybody in: deploy with -c stage=NAME"


class A2aServerless(Stack):
    """An agent's API, its tasks, their waits, and the nudges about them."""

    def __init__(self, scope: Construct, *, choices: Choices, code: aws_lambda.Code) -> None:
        super().__init__(
            scope,
            NAME,
            stack_name=f"a2a-serverless-{choices.stage}",
            description="Hosts A2A agents: API, tasks, long waits, signed webhooks",
            termination_protection=not choices.is_local,
        )
        self.front_door = FrontDoor(self, "FrontDoor", choices=choices)
        host = self._host(choices, code, self.front_door)
        self.sealing = Sealing(self, "Sealing", host=host)
        self.tasks = Tasks(self, "Tasks", host=host)
        self.api = Api(self, "Api", host=host, front_door=self.front_door, tasks=self.tasks, sealing=self.sealing)
        self.run_turn = RunTurn(self, "RunTurn", host=host, tasks=self.tasks)
        self.expire = Expire(self, "Expire", host=host, tasks=self.tasks)
        self.await_input = AwaitInput(self, "AwaitInput", host=host, tasks=self.tasks, expire=self.expire.function)
        self.notify = Notify(self, "Notify", host=host, tasks=self.tasks, sealing=self.sealing)
        self.notify.let_ask(self.api.function)
        effects = Effects(self.run_turn.queue, self.notify.queue, self.await_input.machine)
        self.relay = Relay(self, "Relay", host=host, tasks=self.tasks, effects=effects)
        self.sweep = Sweep(self, "Sweep", host=host, tasks=self.tasks, effects=effects, sealing=self.sealing)
        self._watch(choices)
        self._say(Url=host.public_url, **self._whereabouts())

    def _host(self, choices: Choices, code: aws_lambda.Code, front_door: FrontDoor) -> Host:
        """What all hops share.

        A stage on AWS is told its values by the template itself: `cdk deploy` keeps the value that a parameter had
        before, whatever its new default, so that a new issuer or agent would change nothing and nobody would be told.
        """
        if choices.is_local:
            return self._host_with_parameters(choices, code, front_door)
        return Host(
            choices=choices,
            code=code,
            agents=choices.agents,
            issuers=choices.issuers,
            public_url=choices.public_url or front_door.url,
        )

    def _host_with_parameters(self, choices: Choices, code: aws_lambda.Code, front_door: FrontDoor) -> Host:
        """For a local run, which is given one template and its own values at each start."""
        public_url = CfnParameter(self, "PublicUrl", default="", description="The address that the run is served at")
        is_given = Fn.condition_not(Fn.condition_equals(public_url, ""))
        given = CfnCondition(self, "PublicUrlGiven", expression=is_given)
        # `cdk deploy` without -c stage= comes here, with code that has no packages and an API that lets everybody in.
        CfnRule(
            self,
            "OneMachine",
            assertions=[CfnRuleAssertion(assert_=is_given, assert_description=NOT_ON_AWS)],
        )
        agents = CfnParameter(
            self,
            "Agents",
            default=choices.agents,
            description="name=import.path:attribute, comma separated; the first is the default agent",
        )
        issuers = CfnParameter(
            self,
            "Issuers",
            default=choices.issuers,
            description="JSON list of trusted token issuers: [{issuer, audience, jwks_uri}]; [] lets everybody in",
        )
        return Host(
            choices=choices,
            code=code,
            agents=agents.value_as_string,
            issuers=issuers.value_as_string,
            public_url=Fn.condition_if(given.logical_id, public_url.value_as_string, front_door.url).to_string(),
        )

    def _watch(self, choices: Choices) -> None:
        Watch(
            self,
            "Watch",
            topic_arn=choices.alarm_topic_arn,
            dead_letters={
                "RunTurn": self.run_turn.dead_letters,
                "Notify": self.notify.dead_letters,
                "Relay": self.relay.dead_letters,
                "Sweep": self.sweep.dead_letters,
            },
            work={"RunTurn": self.run_turn.queue, "Notify": self.notify.queue},
            relay=self.relay.function,
            notify=self.notify.function,
            stage=choices.stage,
            machine=self.await_input.machine,
            http=self.front_door.http,
        )

    def _whereabouts(self) -> dict[str, str]:
        return {
            "ApiEndpoint": self.front_door.url,
            "Table": self.tasks.table.table_name,
            "Bucket": self.tasks.bucket.bucket_name,
            "TurnsQueue": self.run_turn.queue.queue_url,
            "TurnsDeadLetters": self.run_turn.dead_letters.queue_url,
            "NudgesQueue": self.notify.queue.queue_url,
            "NudgesDeadLetters": self.notify.dead_letters.queue_url,
            "RelayDeadLetters": self.relay.dead_letters.queue_url,
            "SweepDeadLetters": self.sweep.dead_letters.queue_url,
            "WaitMachine": self.await_input.machine.state_machine_arn,
            "SealingKey": self.sealing.key.key_arn,
        }

    def _say(self, **outputs: str) -> None:
        for name, value in outputs.items():
            CfnOutput(self, f"{name}Output", value=value).override_logical_id(name)
