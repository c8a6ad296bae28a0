"""Step Functions in the state file: every execution with where it stands, and every token that was settled.

An execution that waits for a token when the process is killed goes on waiting for the same token, until the same
deadline; any other one performs its present state again.
"""

import json
import time
from dataclasses import asdict
from typing import Any

from a2a_serverless.local.patches.run import Checkpoint, Execution
from a2a_serverless.local.patches.step_functions import Executions
from a2a_serverless.local.patches.target import module
from a2a_serverless.local.patches.task_tokens import Settled
from a2a_serverless.local.state.file import StateFile

_TOKENS_KEPT_SECONDS = 30 * 86_400


class ExecutionKeeper:
    """The journal that `Executions` and `TaskTokens` write to."""

    def __init__(self, file: StateFile) -> None:
        self._file = file
        self._states: Any = module("services.stepfunctions")

    def keep(self, execution: Execution, checkpoint: Checkpoint | None) -> None:
        """Store an execution and where it stands; no checkpoint: it is over."""
        stands = json.dumps(asdict(checkpoint)) if checkpoint else None
        arn = execution["executionArn"]
        statement = "INSERT OR REPLACE INTO executions VALUES (?, ?, ?, ?)"
        self._file.write([(statement, (execution["stateMachineArn"], arn, json.dumps(execution), stands))])

    def settle(self, token: str, settled: Settled) -> None:
        """Store how a token ended, before whoever ended it is told."""
        error = json.dumps(settled.error) if settled.error else None
        row = (token, settled.machine, settled.output, error, time.time())
        self._file.write([("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?)", row)])

    def settled(self) -> dict[str, Settled]:
        """Every token that is over."""
        self._file.write([("DELETE FROM tokens WHERE at < ?", (time.time() - _TOKENS_KEPT_SECONDS,))])
        rows = self._file.rows("SELECT token, machine, output, error FROM tokens")
        return {
            token: Settled(machine, output=output, error=json.loads(error) if error else None)
            for token, machine, output, error in rows
        }

    def restore(self, executions: Executions) -> None:
        """Bring all executions back and go on with those that were running."""
        responses: Any = module("core.responses")
        for arn, stored, stands in self._file.rows("SELECT arn, execution, checkpoint FROM executions"):
            execution: Execution = json.loads(stored)
            _, _, _, region, account, _ = arn.split(":", 5)
            self._states._executions.set_scoped(account, region, arn, execution)
            if stands is not None and execution["status"] == "RUNNING":
                with responses.request_scope(account, region):
                    executions.resume(execution, Checkpoint(**json.loads(stands)))
