"""The reference server: a2a-sdk on Starlette, behind Mangum, with an agent that echoes. Runs in `.venv-bench`.

reference.py ready          build the handler and a DynamoDB client, and end
reference.py first          and answer one SendMessage that is kept in DynamoDB
reference.py serve memory   do what `side.serve` is told, tasks in memory
reference.py serve table    the same, tasks in DynamoDB
reference.py post           post webhooks as its push sender does
"""

import asyncio
import json
import logging
import os
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

import side
import workload

if TYPE_CHECKING:
    from a2a.server.tasks import TaskStore

TABLE = "reference"


def card() -> Any:
    """The agent's card."""
    from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill

    address = "https://agents.example.com/"
    return AgentCard(
        name="Echo",
        description="Gives back what it is told.",
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=False, push_notifications=False),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        supported_interfaces=[
            AgentInterface(url=address, protocol_binding=binding, protocol_version="1.0")
            for binding in ("JSONRPC", "HTTP+JSON")
        ],
        skills=[AgentSkill(id="echo", name="Echo", description="Gives back what it is told.", tags=["test"])],
    )


def executor() -> Any:
    """The agent: a message for `reply X`, else a task that works, has one artifact and completes."""
    from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message, new_text_part
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.tasks import TaskUpdater

    class Echo(AgentExecutor):
        async def execute(self, context: Any, event_queue: Any) -> None:
            command, _, text = context.get_user_input().partition(" ")
            if command == "reply":
                await event_queue.enqueue_event(new_text_message(text, context_id=context.context_id))
                return
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, task.id, task.context_id)
            await updater.start_work()
            await updater.add_artifact([new_text_part(text)], artifact_id="echo", name="echo")
            await updater.complete()

        async def cancel(self, context: Any, event_queue: Any) -> None:
            raise NotImplementedError

    return Echo()


def table_store() -> "tuple[TaskStore, Any]":
    """The durable store that a user writes first, and its client: a task is one item, written whole at each save."""
    import boto3
    from a2a.server.tasks import TaskStore
    from a2a.types.a2a_pb2 import ListTasksResponse, Task
    from google.protobuf.json_format import MessageToDict, ParseDict

    table = boto3.resource("dynamodb").Table(TABLE)

    def read(item: Any) -> Any:
        return ParseDict(json.loads(item["task"]), Task())

    class Items(TaskStore):
        async def save(self, task: Any, context: Any) -> None:
            told = MessageToDict(task)
            since = told["status"].get("timestamp", "0")
            table.put_item(Item={"id": task.id, "context": task.context_id, "since": since, "task": json.dumps(told)})

        async def get(self, task_id: str, context: Any) -> Any:
            item = table.get_item(Key={"id": task_id}).get("Item")
            return read(item) if item else None

        async def list(self, params: Any, context: Any) -> Any:
            answer = table.query(
                IndexName="by_context",
                KeyConditionExpression="#context = :context",
                ExpressionAttributeNames={"#context": "context"},
                ExpressionAttributeValues={":context": params.context_id},
                ScanIndexForward=False,
                Limit=params.page_size,
            )
            tasks = [read(item) for item in answer["Items"]]
            return ListTasksResponse(tasks=tasks, total_size=len(tasks), page_size=params.page_size)

        async def delete(self, task_id: str, context: Any) -> None:
            table.delete_item(Key={"id": task_id})

    return Items(), table.meta.client


class Server:
    """The server around a store."""

    def __init__(self, store: "TaskStore") -> None:
        from a2a.server.request_handlers import DefaultRequestHandler
        from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
        from mangum import Mangum
        from starlette.applications import Starlette

        self.store = store
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        described = card()
        handler = DefaultRequestHandler(agent_executor=executor(), task_store=store, agent_card=described)
        routes = [
            *create_agent_card_routes(described),
            *create_jsonrpc_routes(handler, "/"),
            *create_rest_routes(handler),
        ]
        self.handle = Mangum(Starlette(routes=routes), lifespan="off")
        self.context = SimpleNamespace(aws_request_id="bench", get_remaining_time_in_millis=lambda: 30_000)

    def answer(self, event: workload.Object) -> workload.Object:
        """What Lambda would be given back."""
        result: workload.Object = self.handle(event, self.context)
        return result

    def seed(self) -> None:
        """Store the tasks that will be read."""
        from a2a.auth.user import UnauthenticatedUser
        from a2a.server.context import ServerCallContext
        from a2a.types.a2a_pb2 import Task
        from google.protobuf.json_format import ParseDict

        context = ServerCallContext(user=UnauthenticatedUser())
        for each in workload.seeds():
            self.loop.run_until_complete(self.store.save(ParseDict(each, Task()), context))


def serve(kind: str) -> None:
    """Answer requests until there are no more."""
    from a2a.server.tasks import InMemoryTaskStore

    store, client = (InMemoryTaskStore(), None) if kind == "memory" else table_store()
    server = Server(store)
    server.seed()
    works: dict[str, side.Work] = {name: partial(_ask, server, event) for name, event in workload.READS.items()}
    works["send"] = works["whole"] = lambda number: server.answer(workload.send("echo hello", number))
    works["reply"] = lambda number: server.answer(workload.send("reply hello", number))
    side.serve(works, lambda: _counts(client, works) if client else {})


def _ask(server: Server, event: workload.Object, _number: int) -> None:
    server.answer(event)


def _counts(client: Any, works: dict[str, side.Work]) -> dict[str, int]:
    return {name: side.counting([client], work) for name, work in works.items()}


def post() -> None:
    """Post webhooks as its push sender does: unsigned, one client for all, one loop."""
    import httpx
    from a2a.auth.user import UnauthenticatedUser
    from a2a.server.context import ServerCallContext
    from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore
    from a2a.types.a2a_pb2 import TaskPushNotificationConfig, TaskStatusUpdateEvent

    loop = asyncio.new_event_loop()
    configs = InMemoryPushNotificationConfigStore()
    config = TaskPushNotificationConfig(id="c", task_id="t", url=os.environ["BENCH_RECEIVER"], token="secret")
    loop.run_until_complete(configs.set_info("t", config, ServerCallContext(user=UnauthenticatedUser())))
    event = TaskStatusUpdateEvent(task_id="t", context_id="c")
    event.status.state = 3
    sender = BasePushNotificationSender(httpx.AsyncClient(), configs)
    side.serve({"post": lambda _: loop.run_until_complete(sender.send_notification("t", event))})


def main(what: str, kind: str = "") -> None:
    """Do one of the things above."""
    logging.disable(logging.CRITICAL)
    match what:
        case "ready":
            Server(table_store()[0])
            print(json.dumps({"memory": side.memory()}), flush=True)
        case "first":
            side.body_of(Server(table_store()[0]).answer(workload.send("echo hello")))
        case "serve":
            serve(kind)
        case "post":
            post()
    os._exit(0)  # what it takes to end is not part of what was asked


if __name__ == "__main__":
    main(*sys.argv[1:])
