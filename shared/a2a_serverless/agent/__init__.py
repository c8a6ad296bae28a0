"""What an agent's author writes against: `Agent` says what it is, `Turn` is what it does with one message.

Nothing here knows of AWS, HTTP or the protocol's bindings.
"""

from a2a_serverless.agent.agent import Agent, InboundMessage
from a2a_serverless.agent.turn import ScopesMissing, Turn, TurnEnded, TurnSink
from a2a_serverless.core.head import TurnTrigger

__all__ = ["Agent", "InboundMessage", "ScopesMissing", "Turn", "TurnEnded", "TurnSink", "TurnTrigger"]
