"""SQS in the state file: every message, from the send that was acknowledged to its deletion."""

import json
import time
from typing import Any

from a2a_serverless.local.patches.target import module, replace
from a2a_serverless.local.state.file import StateFile, Write

_LONGEST_HIDDEN_SECONDS = 30.0
"""Whatever was in the hands of a process when it was killed comes back this soon, though it was hidden for longer."""

Seen = dict[str, tuple[float, int]]


class QueueJournal:
    """Stores what ministack's queues hold, and gives it back.

    After each call it compares the queues with what is stored: queues are short, and no path of a message can be
    forgotten that way.
    """

    def __init__(self, file: StateFile) -> None:
        self._file = file
        self._sqs: Any = module("services.sqs")
        self._stored: dict[str, Seen] = {}

    def patch(self) -> None:
        """Look after everything that can change a queue."""
        sqs, functions, events = self._sqs, module("services.lambda_svc"), module("services.eventbridge")
        self._dispatch = replace(sqs, "_dispatch", self.dispatch, signature="action, data, qurl")
        for owner, name, signature in (
            (sqs, "_receive_messages_for_esm", "queue_url, max_number"),
            (sqs, "_delete_messages_for_esm", "queue_url, receipt_handles"),
            (events, "_dispatch_to_sqs", "spec, payload, sqs_parameters"),
            (
                functions,
                "_send_ddb_stream_failure_record",
                "esm, func_rec, batch, stream_arn, result, condition",
            ),
        ):
            self._follow(owner, name, signature)

    async def dispatch(self, action: str, data: dict[str, Any], qurl: str) -> Any:
        """One API call."""
        result = await self._dispatch(action, data, qurl)
        if not action.startswith(("Get", "List")):
            self.store()
        return result

    def _follow(self, owner: Any, name: str, signature: str) -> None:
        def call(*args: Any) -> Any:
            result = old(*args)
            self.store()
            return result

        old = replace(owner, name, call, signature=signature)

    def store(self) -> None:
        """Store what changed since the last time."""
        writes: list[Write] = []
        for queue in self._sqs._queues._data.values():
            arn = queue["attributes"]["QueueArn"]
            messages = {m["id"]: m for m in queue["messages"]}
            now = {name: (m["visible_at"], m["receive_count"]) for name, m in messages.items()}
            stored = self._stored.get(arn, {})
            if now == stored:
                continue
            changed = [name for name, seen in now.items() if stored.get(name) != seen]
            gone = [name for name in stored if name not in now]
            statement = "INSERT OR REPLACE INTO messages VALUES (?, ?, ?)"
            writes += [(statement, (arn, name, json.dumps(messages[name]))) for name in changed]
            writes += [("DELETE FROM messages WHERE scope = ? AND id = ?", (arn, name)) for name in gone]
            self._stored[arn] = now
        self._file.write(writes)

    def restore(self) -> None:
        """Fill the queues of a started engine from the file."""
        soon = time.time() + _LONGEST_HIDDEN_SECONDS
        for queue in self._sqs._queues._data.values():
            arn = queue["attributes"]["QueueArn"]
            found = self._file.rows("SELECT message FROM messages WHERE scope = ? ORDER BY rowid", arn)
            queue["messages"] = [json.loads(row[0]) for row in found]
            for message in queue["messages"]:
                if message["receive_count"]:
                    message["visible_at"] = min(message["visible_at"], soon)
        self.store()
