"""Sweep: what the stream, a queue or a crash dropped is found by the index `due` and put back."""

from aws_cdk import Duration, aws_events, aws_events_targets
from constructs import Construct

from a2a_serverless.aws.settings import Variable

from .function import HopFunction, Host, let_agents_be_imported, rules
from .queues import dead_letters
from .relay import Effects
from .sealing import Sealing
from .tasks import Tasks


class Sweep(Construct):
    """Once a minute: effects again, overdue waits expired, new signing keys in time."""

    def __init__(
        self, scope: Construct, name: str, *, host: Host, tasks: Tasks, effects: Effects, sealing: Sealing
    ) -> None:
        super().__init__(scope, name)
        self.dead_letters = dead_letters(self, "DeadLetters", host=host)
        self.function = HopFunction(
            self,
            "sweep",
            host=host,
            timeout=Duration.minutes(1),
            memory=512,
            environment={
                Variable.AGENTS: host.agents,
                Variable.PUBLIC_URL: host.public_url,
                Variable.TABLE: tasks.table.table_name,
                **effects.environment,
                **rules(host.choices),
                Variable.SEALING_KEY: sealing.key.key_arn,
            },
            dead_letters=self.dead_letters,
        )
        let_agents_be_imported(self.function)
        may = self.function.may
        may("dynamodb:Query", on=tasks.due_index_arn)
        may("dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", on=tasks.arn)
        effects.allow_carrying_out(self.function)
        sealing.allow_making_signing_keys(self.function)
        aws_events.Rule(
            self,
            "EveryMinute",
            schedule=aws_events.Schedule.rate(Duration.minutes(1)),
            targets=[
                aws_events_targets.LambdaFunction(
                    self.function,
                    dead_letter_queue=self.dead_letters,
                    max_event_age=Duration.minutes(1),  # the next one does the same work
                )
            ],
        )
