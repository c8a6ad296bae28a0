"""The official Python client, 1.x line, driven as its documentation shows."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
from a2a.client import (
    AuthInterceptor,
    Client,
    ClientCallContext,
    ClientCallInterceptor,
    ClientConfig,
    ClientFactory,
    CredentialService,
)
from a2a.client.card_resolver import A2ACardResolver
from a2a.helpers import get_data_parts, get_message_text, get_text_parts
from a2a.types import a2a_pb2 as a2a
from json_lines import serve  # a sibling: both are run as scripts


@dataclass(frozen=True)
class Connected:
    """The card, and a client for calls and one for streams: this SDK decides between the two per client."""

    card: a2a.AgentCard
    calling: Client
    streaming: Client


class OneToken(CredentialService):
    """The same token for whatever scheme the card asks for."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_credentials(self, security_scheme_name: str, context: ClientCallContext | None) -> str | None:
        return self._token


async def connect(url: str, binding: str, token: str) -> Connected:
    http = httpx.AsyncClient(timeout=60)
    card = await A2ACardResolver(http, url).get_agent_card()
    interceptors: list[ClientCallInterceptor] = [AuthInterceptor(OneToken(token))] if token else []
    calling, streaming = (
        ClientFactory(ClientConfig(httpx_client=http, streaming=streams, supported_protocol_bindings=[binding])).create(
            card, interceptors
        )
        for streams in (False, True)
    )
    return Connected(card, calling, streaming)


async def discover(to: Connected) -> dict[str, Any]:
    interfaces = [(i.protocol_binding, i.protocol_version) for i in to.card.supported_interfaces]
    return {
        "name": to.card.name,
        "skills": [skill.id for skill in to.card.skills],
        "streaming": to.card.capabilities.streaming,
        "push": to.card.capabilities.push_notifications,
        "interfaces": interfaces,
    }


async def send(to: Connected, **told: Any) -> dict[str, Any]:
    async for answer in to.calling.send_message(_request(**told)):
        return _event(answer)
    raise RuntimeError("the client answered nothing")


async def stream(to: Connected, **told: Any) -> AsyncIterator[dict[str, Any]]:
    async for answer in to.streaming.send_message(_request(**told)):
        yield _event(answer)


async def subscribe(to: Connected, *, task: str) -> AsyncIterator[dict[str, Any]]:
    async for answer in to.streaming.subscribe(a2a.SubscribeToTaskRequest(id=task)):
        yield _event(answer)


async def get(to: Connected, *, task: str, history: int | None = None) -> dict[str, Any]:
    return _task(await to.calling.get_task(a2a.GetTaskRequest(id=task, history_length=history)))


async def cancel(to: Connected, *, task: str) -> dict[str, Any]:
    return _task(await to.calling.cancel_task(a2a.CancelTaskRequest(id=task)))


async def list_tasks(to: Connected, *, context: str, page_size: int, page_token: str) -> dict[str, Any]:
    request = a2a.ListTasksRequest(context_id=context, page_size=page_size, page_token=page_token)
    page = await to.calling.list_tasks(request)
    return {"tasks": [_task(task) for task in page.tasks], "next": page.next_page_token, "total": page.total_size}


async def create_push(to: Connected, *, task: str, push: dict[str, str]) -> dict[str, Any]:
    return _config(await to.calling.create_task_push_notification_config(_push(push, task)))


async def get_push(to: Connected, *, task: str, config: str) -> dict[str, Any]:
    request = a2a.GetTaskPushNotificationConfigRequest(task_id=task, id=config)
    return _config(await to.calling.get_task_push_notification_config(request))


async def list_push(to: Connected, *, task: str) -> list[dict[str, Any]]:
    request = a2a.ListTaskPushNotificationConfigsRequest(task_id=task)
    return [_config(config) for config in (await to.calling.list_task_push_notification_configs(request)).configs]


async def delete_push(to: Connected, *, task: str, config: str) -> None:
    request = a2a.DeleteTaskPushNotificationConfigRequest(task_id=task, id=config)
    await to.calling.delete_task_push_notification_config(request)


def _request(
    *,
    text: str,
    message_id: str,
    task: str = "",
    context: str = "",
    push: dict[str, str] | None = None,
    immediately: bool = False,
) -> a2a.SendMessageRequest:
    message = a2a.Message(
        message_id=message_id, role=a2a.ROLE_USER, parts=[a2a.Part(text=text)], task_id=task, context_id=context
    )
    configuration = a2a.SendMessageConfiguration(
        return_immediately=immediately, task_push_notification_config=_push(push, "") if push else None
    )
    return a2a.SendMessageRequest(message=message, configuration=configuration)


def _push(push: dict[str, str], task: str) -> a2a.TaskPushNotificationConfig:
    credentials = push.get("credentials")
    return a2a.TaskPushNotificationConfig(
        id=push.get("id", ""),
        task_id=task,
        url=push["url"],
        token=push.get("token", ""),
        authentication=a2a.AuthenticationInfo(scheme="Bearer", credentials=credentials) if credentials else None,
    )


def _event(event: a2a.StreamResponse) -> dict[str, Any]:
    match event.WhichOneof("payload"):
        case "task":
            return _task(event.task)
        case "message":
            return {"kind": "message", "text": get_message_text(event.message)}
        case "status_update":
            update = event.status_update
            return {"kind": "status", "task": update.task_id, **_status(update.status)}
        case _:
            artifact = event.artifact_update
            about = {"task": artifact.task_id, "append": artifact.append, "last": artifact.last_chunk}
            return {"kind": "artifact", **about, **_artifact(artifact.artifact)}


def _task(task: a2a.Task) -> dict[str, Any]:
    return {
        "kind": "task",
        "id": task.id,
        "context": task.context_id,
        **_status(task.status),
        "artifacts": [_artifact(artifact) for artifact in task.artifacts],
        "history": [[_role(message.role), get_message_text(message)] for message in task.history],
    }


def _status(status: a2a.TaskStatus) -> dict[str, str]:
    state = a2a.TaskState.Name(status.state).removeprefix("TASK_STATE_").lower().replace("_", "-")
    return {"state": state, "says": get_message_text(status.message)}


def _artifact(artifact: a2a.Artifact) -> dict[str, Any]:
    data = get_data_parts(artifact.parts)
    text = "".join(get_text_parts(artifact.parts))
    return {"name": artifact.name, "text": text, "data": data[0] if data else None}


def _role(role: int) -> str:
    name: str = a2a.Role.Name(role)
    return name.removeprefix("ROLE_").lower()


def _config(config: a2a.TaskPushNotificationConfig) -> dict[str, str]:
    return {"id": config.id, "task": config.task_id, "url": config.url}


if __name__ == "__main__":
    serve(
        connect,
        {
            "discover": discover,
            "send": send,
            "stream": stream,
            "subscribe": subscribe,
            "get": get,
            "cancel": cancel,
            "list": list_tasks,
            "create-push": create_push,
            "get-push": get_push,
            "list-push": list_push,
            "delete-push": delete_push,
        },
    )
