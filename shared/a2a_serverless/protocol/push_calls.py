"""The operations about webhooks as functions from a request of 1.0 to a result."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from a2a_serverless.app import push_configs
from a2a_serverless.core.push import PushConfig, WireVersion
from a2a_serverless.errors import InvalidParams, TaskNotFound
from a2a_serverless.protocol.push_requests import CreatePushConfigRequest, ListPushConfigsRequest, PushConfigRequest
from a2a_serverless.protocol.results import Deleted, PushConfigs
from a2a_serverless.protocol.use_cases import Call, known_task_id
from a2a_serverless.types import TaskPushNotificationConfig

_TOKEN: Final = re.compile(rf"([0-9]{{1,17}})-({push_configs.CONFIG_ID.pattern})")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def create_push_config(call: Call, request: CreatePushConfigRequest) -> TaskPushNotificationConfig:
    """CreateTaskPushNotificationConfig."""
    return push_configs.create(call.host, call.caller, known_task_id(request.task_id), request, call.version)


def get_push_config(call: Call, request: PushConfigRequest) -> TaskPushNotificationConfig:
    """GetTaskPushNotificationConfig."""
    task_id = known_task_id(request.task_id)
    if call.version is WireVersion.V1_0:
        return push_configs.get(call.host, call.caller, task_id, request.id)
    return _config_of_03(push_configs.list_all(call.host, call.caller, task_id), task_id, request.id)


def _config_of_03(
    configs: tuple[TaskPushNotificationConfig, ...], task_id: str, wanted: str
) -> TaskPushNotificationConfig:
    """Clients of 0.3 set a config without naming it and ask for it by any name: by the task's, by `default`, by none.

    So it is the one of that name, else the one that was not named; without a name, the oldest will do as well.
    """
    by_name = {config.id: config for config in reversed(configs)}
    found = by_name.get(wanted) or by_name.get(task_id)
    if found is None and not wanted and configs:
        found = configs[0]
    if found is None:
        raise TaskNotFound("the task has no push notification config with this id")
    return found


def list_push_configs(call: Call, request: ListPushConfigsRequest) -> PushConfigs:
    """ListTaskPushNotificationConfigs: all of them, unless fewer are asked for."""
    task_id = known_task_id(request.task_id)
    registered = push_configs.registered(call.host, call.caller, task_id)
    after = _position_in(request.page_token)
    left = tuple(config for config in registered if after is None or _position(config) > after)
    page = left[: request.page_size or len(left)]
    token = _token(page[-1]) if len(page) < len(left) else ""
    return PushConfigs(tuple(config.shown(task_id) for config in page), token)


def _position(config: PushConfig) -> tuple[int, str]:
    """Where a config stands in the list, whether or not it is still there."""
    return (config.created_at - _EPOCH) // timedelta(microseconds=1), config.id


def _token(config: PushConfig) -> str:
    since, name = _position(config)
    return f"{since}-{name}"


def _position_in(token: str) -> tuple[int, str] | None:
    read = _TOKEN.fullmatch(token)
    if token and read is None:
        raise InvalidParams.of("pageToken", "must be the nextPageToken of this very list; leave it out to begin")
    return (int(read.group(1)), read.group(2)) if read else None


def delete_push_config(call: Call, request: PushConfigRequest) -> Deleted:
    """DeleteTaskPushNotificationConfig."""
    push_configs.delete(call.host, call.caller, known_task_id(request.task_id), request.id)
    return Deleted()
