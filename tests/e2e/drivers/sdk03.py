"""The official Python client, 0.3 line, driven as its documentation shows; run by the interpreter of `.venv-sdk03`.

Its client has no method to list or delete push configs, so those two are sent over its own HTTP client and read with
its own types.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.grpc import a2a_pb2
from a2a.types import (
    AgentCard,
    Artifact,
    DataPart,
    DeleteTaskPushNotificationConfigParams,
    DeleteTaskPushNotificationConfigRequest,
    DeleteTaskPushNotificationConfigSuccessResponse,
    GetTaskPushNotificationConfigParams,
    ListTaskPushNotificationConfigParams,
    ListTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigSuccessResponse,
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskStatus,
    TaskStatusUpdateEvent,
    TextPart,
)
from a2a.utils import proto_utils
from google.protobuf.json_format import ParseDict
from json_lines import serve  # a sibling: both are run as scripts


@dataclass(frozen=True)
class Connected:
    """The card, and a client for calls and one for streams: this SDK decides between the two per client."""

    http: httpx.AsyncClient
    url: str
    """Of the interface that speaks the binding."""
    binding: str
    card: AgentCard
    calling: Client
    streaming: Client


async def connect(url: str, binding: str, token: str) -> Connected:
    http = httpx.AsyncClient(timeout=60, headers={"Authorization": f"Bearer {token}"} if token else {})
    card = await A2ACardResolver(http, url).get_agent_card()
    calling, streaming = (
        ClientFactory(ClientConfig(httpx_client=http, streaming=streams, supported_transports=[binding])).create(card)
        for streams in (False, True)
    )
    return Connected(http, _interface(card, binding), binding, card, calling, streaming)


def _interface(card: AgentCard, binding: str) -> str:
    urls = {interface.transport: interface.url for interface in card.additional_interfaces or []}
    return urls.get(binding, card.url)


async def discover(to: Connected) -> dict[str, Any]:
    return {
        "name": to.card.name,
        "skills": [skill.id for skill in to.card.skills],
        "streaming": to.card.capabilities.streaming,
        "push": to.card.capabilities.push_notifications,
        "interfaces": [
            (to.card.preferred_transport, to.card.protocol_version),
            *((i.transport, to.card.protocol_version) for i in to.card.additional_interfaces or []),
        ],
    }


async def send(to: Connected, **told: Any) -> dict[str, Any]:
    message, configuration = _request(**told)
    async for answer in to.calling.send_message(message, configuration=configuration):  # type: ignore[call-arg]
        return _event(answer)
    raise RuntimeError("the client answered nothing")


async def stream(to: Connected, **told: Any) -> AsyncIterator[dict[str, Any]]:
    message, configuration = _request(**told)
    async for answer in to.streaming.send_message(message, configuration=configuration):  # type: ignore[call-arg]
        yield _event(answer)


async def subscribe(to: Connected, *, task: str) -> AsyncIterator[dict[str, Any]]:
    async for answer in to.streaming.resubscribe(TaskIdParams(id=task)):
        yield _event(answer)


async def get(to: Connected, *, task: str, history: int | None = None) -> dict[str, Any]:
    return _task(await to.calling.get_task(TaskQueryParams(id=task, history_length=history)))


async def cancel(to: Connected, *, task: str) -> dict[str, Any]:
    return _task(await to.calling.cancel_task(TaskIdParams(id=task)))


async def create_push(to: Connected, *, task: str, push: dict[str, str]) -> dict[str, Any]:
    wanted = TaskPushNotificationConfig(task_id=task, push_notification_config=_push(push))
    return _config(await to.calling.set_task_callback(wanted))


async def get_push(to: Connected, *, task: str, config: str) -> dict[str, Any]:
    wanted = GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=config)
    return _config(await to.calling.get_task_callback(wanted))


async def list_push(to: Connected, *, task: str) -> list[dict[str, Any]]:
    if to.binding == "JSONRPC":
        params = ListTaskPushNotificationConfigParams(id=task)
        answer = await _rpc(to, ListTaskPushNotificationConfigRequest(id="list", params=params))
        return [_config(found) for found in ListTaskPushNotificationConfigSuccessResponse(**answer).result]
    got = await to.http.get(f"{to.url.rstrip('/')}/v1/tasks/{task}/pushNotificationConfigs")
    listed = ParseDict(got.raise_for_status().json(), a2a_pb2.ListTaskPushNotificationConfigResponse())
    return [_config(proto_utils.FromProto.task_push_notification_config(found)) for found in listed.configs]


async def delete_push(to: Connected, *, task: str, config: str) -> None:
    if to.binding == "JSONRPC":
        params = DeleteTaskPushNotificationConfigParams(id=task, push_notification_config_id=config)
        answer = await _rpc(to, DeleteTaskPushNotificationConfigRequest(id="delete", params=params))
        DeleteTaskPushNotificationConfigSuccessResponse(**answer)
        return
    path = f"/v1/tasks/{task}/pushNotificationConfigs/{config}"
    (await to.http.delete(to.url.rstrip("/") + path)).raise_for_status()


async def _rpc(
    to: Connected, request: ListTaskPushNotificationConfigRequest | DeleteTaskPushNotificationConfigRequest
) -> dict[str, Any]:
    got = await to.http.post(to.url, json=request.model_dump(mode="json", by_alias=True, exclude_none=True))
    answer: dict[str, Any] = got.raise_for_status().json()
    return answer


def _request(
    *,
    text: str,
    message_id: str,
    task: str = "",
    context: str = "",
    push: dict[str, str] | None = None,
    immediately: bool = False,
) -> tuple[Message, MessageSendConfiguration]:
    message = Message(
        message_id=message_id,
        role=Role.user,
        parts=[Part(root=TextPart(text=text))],
        task_id=task or None,
        context_id=context or None,
    )
    pushed = {"push_notification_config": _push(push)} if push else {}
    return message, MessageSendConfiguration(blocking=not immediately, **pushed)


def _push(push: dict[str, str]) -> PushNotificationConfig:
    credentials = push.get("credentials")
    authentication = PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials=credentials)
    return PushNotificationConfig(
        id=push.get("id"),
        url=push["url"],
        token=push.get("token"),
        authentication=authentication if credentials else None,
    )


def _event(event: Any) -> dict[str, Any]:
    """This client answers a Message, or a pair of the task so far and what just happened to it."""
    if isinstance(event, Message):
        return {"kind": "message", "text": _said(event)}
    task, update = event
    match update:
        case TaskStatusUpdateEvent():
            return {"kind": "status", "task": update.task_id, **_status(update.status), "final": update.final}
        case TaskArtifactUpdateEvent():
            about = {"task": update.task_id, "append": bool(update.append), "last": bool(update.last_chunk)}
            return {"kind": "artifact", **about, **_artifact(update.artifact)}
        case _:
            return _task(task)


def _task(task: Task) -> dict[str, Any]:
    return {
        "kind": "task",
        "id": task.id,
        "context": task.context_id,
        **_status(task.status),
        "artifacts": [_artifact(artifact) for artifact in task.artifacts or []],
        "history": [[message.role.value, _said(message)] for message in task.history or []],
    }


def _status(status: TaskStatus) -> dict[str, str]:
    return {"state": status.state.value, "says": _said(status.message) if status.message else ""}


def _said(message: Message) -> str:
    return "\n".join(part.root.text for part in message.parts if isinstance(part.root, TextPart))


def _artifact(artifact: Artifact) -> dict[str, Any]:
    data = [part.root.data for part in artifact.parts if isinstance(part.root, DataPart)]
    text = "".join(part.root.text for part in artifact.parts if isinstance(part.root, TextPart))
    return {"name": artifact.name or "", "text": text, "data": data[0] if data else None}


def _config(config: TaskPushNotificationConfig) -> dict[str, str]:
    pushed = config.push_notification_config
    return {"id": pushed.id or "", "task": config.task_id, "url": pushed.url}


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
            "create-push": create_push,
            "get-push": get_push,
            "list-push": list_push,
            "delete-push": delete_push,
        },
    )
