"""Walks a JSONata state machine the way Step Functions does, with hand-made answers instead of AWS.

Only what `await_input.asl.json` uses: Task, Choice, Succeed, Retry, Catch. No time passes.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jsonata import Jsonata  # type: ignore[import-untyped]  # ships no types

Json = Any
TOKEN = "the-token"
_MARK = ("{%", "%}")


class TaskError(Exception):
    """A task failed under this error name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class Call:
    """What one attempt of a task asked for."""

    state: str
    resource: str
    arguments: Json
    timeout: Json


Answer = Callable[[Call], Json]


def walk(machine: Json, given: Json, answer: Answer) -> tuple[list[str], list[Call]]:
    """Run an execution to its end; returns the states it went through, and every attempt it made.

    Raises:
        TaskError: the execution failed.
    """
    walker = _Walker(given, answer, [])
    path: list[str] = []
    name, value = machine["StartAt"], given
    while name:
        path.append(name)
        value, name = walker.step(name, machine["States"][name], value)
    return path, walker.calls


@dataclass(frozen=True)
class _Walker:
    given: Json
    answer: Answer
    calls: list[Call]

    def step(self, name: str, state: Json, value: Json) -> tuple[Json, str | None]:
        """Go through one state; returns its output and the next state's name."""
        match state["Type"]:
            case "Choice":
                return value, self._chosen(state, value)
            case "Task":
                return self._task(name, state, value)
            case _:
                return value, None

    def _chosen(self, state: Json, value: Json) -> str:
        for choice in state["Choices"]:
            if evaluate(choice["Condition"], value, self.given) is True:
                return str(choice["Next"])
        return str(state["Default"])

    def _task(self, name: str, state: Json, value: Json) -> tuple[Json, str | None]:
        again = _attempts(state)
        while True:
            timeout = evaluate(state["TimeoutSeconds"], value, self.given)
            call = Call(name, state["Resource"], evaluate(state["Arguments"], value, self.given), timeout)
            self.calls.append(call)
            try:
                result = self.answer(call)
            except TaskError as error:
                if again(error.name):
                    continue
                return self._caught(state, error, value)
            return evaluate(state["Output"], value, self.given) if "Output" in state else result, state.get("Next")

    def _caught(self, state: Json, error: TaskError, value: Json) -> tuple[Json, str]:
        for catcher in state.get("Catch", ()):
            if _knows(catcher, error.name):
                output = catcher.get("Output", {"Error": error.name})
                return evaluate(output, value, self.given), catcher["Next"]
        raise error


def _attempts(state: Json) -> Callable[[str], bool]:
    """Whether the first retrier that knows an error has attempts left, counted per retrier."""
    left: list[int] = [retrier["MaxAttempts"] for retrier in state.get("Retry", ())]

    def again(error: str) -> bool:
        for index, retrier in enumerate(state.get("Retry", ())):
            if _knows(retrier, error):
                left[index] -= 1
                return left[index] >= 0
        return False

    return again


def _knows(rule: Json, error: str) -> bool:
    names = rule["ErrorEquals"]
    return "States.ALL" in names or error in names or ("States.TaskFailed" in names and error != "States.Timeout")


def evaluate(template: Json, value: Json, given: Json) -> Json:
    """A template with its expressions replaced by what they say."""
    match template:
        case str() if template.startswith(_MARK[0]):
            context = {"Task": {"Token": TOKEN}, "Execution": {"Input": given}}
            states = {"input": value, "context": context}
            found = Jsonata(template.removeprefix(_MARK[0]).removesuffix(_MARK[1])).evaluate(None, {"states": states})
            return json.loads(json.dumps(found))
        case dict():
            return {key: evaluate(inner, value, given) for key, inner in template.items()}
        case list():
            return [evaluate(inner, value, given) for inner in template]
        case _:
            return template
