"""What `relay` works with."""

from functools import cache

from a2a_serverless.app.relay import Relay
from a2a_serverless.aws.queues import SqsNudges, SqsTurns
from a2a_serverless.aws.waits import StepFunctionsWaits
from functions import wiring


@cache
def relay() -> Relay:
    """Queues and the state machine."""
    told, clients = wiring.settings(), wiring.clients
    return Relay(
        turns=SqsTurns(clients.sqs, told.turns_queue),
        nudges=SqsNudges(clients.sqs, told.nudges_queue),
        waits=StepFunctionsWaits(clients.stepfunctions, told.wait_machine, clock=wiring.clock),
    )
