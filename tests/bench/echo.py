"""The agent of both sides, as this kit writes it: `reply X` is answered with a message, anything else by a task."""

from a2a_serverless import Agent, AgentCard, AgentProvider, AgentSkill, InboundMessage, Turn


class Echo(Agent):
    """Gives back what it is told."""

    card = AgentCard(
        name="Echo",
        description="Gives back what it is told.",
        version="1.0.0",
        provider=AgentProvider(organization="Example", url="https://agents.example.com"),
        skills=(AgentSkill(id="echo", name="Echo", description="Gives back what it is told.", tags=("test",)),),
    )

    def reply(self, inbound: InboundMessage) -> str | None:
        """Answer `reply X` at once."""
        command, _, text = inbound.message.text.partition(" ")
        return text if command == "reply" else None

    def run(self, turn: Turn) -> None:
        """Work, produce one artifact, complete."""
        turn.working("at it")
        turn.artifact("echo", text=turn.message.text)
        turn.complete()


agent = Echo()
