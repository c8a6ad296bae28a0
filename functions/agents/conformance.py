"""An agent that behaves as the official conformance kits ask, keyed by the prefix of the messageId.

The kits steer the agent under test by the ids of their messages; everything else completes normally.
"""

import time
from collections.abc import Callable
from typing import Final

from a2a_serverless import Agent, AgentCard, AgentProvider, AgentSkill, InboundMessage, Turn

_TICK: Final = 2.0
"""The kits' streaming timeout, in seconds."""


class Conformance(Agent):
    """See `SCENARIOS`; the longest prefix wins.

    The 1.0 kit starts every id with `tck-` and expects an end; the 0.3 kit goes on with its tasks, so those ask.
    """

    card = AgentCard(
        name="Conformance",
        description="Behaves as the A2A conformance kits ask. For tests of the deployment; it has no other use.",
        version="1.0.0",
        provider=AgentProvider(organization="a2a-serverless", url="https://a2a-serverless.dev"),
        default_input_modes=("text/plain", "application/json", "application/octet-stream", "image/*", "*/*"),
        default_output_modes=("text/plain", "application/json"),
        skills=(
            AgentSkill(
                id="conformance",
                name="Conformance scenarios",
                description=(
                    "Send any message; the prefix of its messageId chooses what happens. Needs nothing else and"
                    " refuses nothing but tck-reject-task."
                ),
                tags=("test", "conformance"),
                examples=("Hello from TCK",),
            ),
        ),
    )

    extended_card = card

    def run(self, turn: Turn) -> None:
        """Find the scenario and play it."""
        for prefix in sorted(SCENARIOS, key=len, reverse=True):
            if turn.message.message_id.startswith(prefix):
                return SCENARIOS[prefix](turn)
        return complete(turn) if turn.message.message_id.startswith("tck-") else converse(turn)

    def reply(self, inbound: InboundMessage) -> str | None:
        """One scenario wants a message and no task."""
        wanted = inbound.message.message_id.startswith("tck-message-response")
        return "Direct message response" if wanted else None


def complete(turn: Turn) -> None:
    """Done, with a word."""
    turn.complete("Hello from the agent")


def artifact_text(turn: Turn) -> None:
    """A text artifact."""
    turn.artifact("text", text="Generated text content")
    turn.complete()


def artifact_file(turn: Turn) -> None:
    """A file by its bytes."""
    turn.artifact("output.txt", raw=b"Generated file content", media_type="text/plain")
    turn.complete()


def artifact_file_url(turn: Turn) -> None:
    """A file by its address."""
    turn.artifact("output.txt", url="https://example.com/output.txt", media_type="text/plain")
    turn.complete()


def artifact_data(turn: Turn) -> None:
    """Structured data."""
    turn.artifact("data", data={"key": "value", "count": 42})
    turn.complete()


def ask(turn: Turn) -> None:
    """A question, as often as one asks for it."""
    turn.ask("Please say more.")


def converse(turn: Turn) -> None:
    """Work a little, then ask for more."""
    turn.working("working")
    time.sleep(0.3)
    turn.ask("Please say more.")


def ask_authorization(turn: Turn) -> None:
    """An authorization is needed."""
    turn.require_auth("Please authorise this.")


def reject(turn: Turn) -> None:
    """Not done."""
    turn.reject("rejected as asked")


def stream(turn: Turn) -> None:
    """Working, a result, done."""
    turn.working("working")
    turn.artifact("stream", text="Streamed text content")
    turn.complete()


def stream_status(turn: Turn) -> None:
    """Done, and nothing else."""
    turn.complete()


def stream_file(turn: Turn) -> None:
    """Working, a file, done."""
    turn.working("working")
    artifact_file(turn)


def stream_chunks(turn: Turn) -> None:
    """One artifact in two chunks."""
    turn.working("working")
    turn.artifact("chunked", text="chunk-1 ", append=True)
    turn.artifact("chunked", text="chunk-2", append=True, last_chunk=True)
    turn.complete()


def complete_late(turn: Turn) -> None:
    """Done after the kit's patience."""
    turn.working("working")
    time.sleep(_TICK)
    turn.complete()


def stay_long(turn: Turn) -> None:
    """Working long enough to be subscribed to."""
    turn.working("working")
    until = time.monotonic() + 2 * _TICK + 1
    while time.monotonic() < until and not turn.cancelled:
        time.sleep(0.1)
    if not turn.cancelled:
        turn.complete()


SCENARIOS: Final[dict[str, Callable[[Turn], None]]] = {
    "tck-complete-task": complete,
    "tck-artifact-text": artifact_text,
    "tck-artifact-file": artifact_file,
    "tck-artifact-file-url": artifact_file_url,
    "tck-artifact-data": artifact_data,
    "tck-input-required": ask,
    "tck-auth-required": ask_authorization,
    "tck-reject-task": reject,
    "tck-stream-001": stream,
    "tck-stream-003": stream,
    "tck-stream-ordering-001": stream,
    "tck-stream-002": stream_status,
    "tck-stream-artifact-text": stream,
    "tck-stream-artifact-file": stream_file,
    "tck-stream-artifact-chunked": stream_chunks,
    "tck-delayed-complete": complete_late,
    "test-resubscribe-message-id": stay_long,
}

agent = Conformance()
