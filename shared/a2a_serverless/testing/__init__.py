"""For your own tests: an agent and its caller in one process, with no AWS and no waiting.

A test of the agent that the README shows:

    rehearsal = Rehearsal(Greeter())
    task = rehearsal.send("greet")
    assert task.status.state is TaskState.INPUT_REQUIRED
    task = rehearsal.send("Ada", task=task)
    assert task.artifacts[0].parts[0].text == "Hello, Ada!"
"""

from a2a_serverless.testing.rehearsal import Rehearsal

__all__ = ["Rehearsal"]
