"""The operations about webhooks as functions from a request of 1.0 to a result."""

from a2a_serverless.app import push_configs
from a2a_serverless.core.push import WireVersion
from a2a_serverless.errors import InvalidParams, TaskNotFound
from a2a_serverless.protocol.push_requests import CreatePushConfigRequest, ListPushConfigsRequest, PushConfigRequest
from a2a_serverless.protocol.results import Deleted, PushConfigs
from a2a_serverless.protocol.use_cases import Call, known_task_id
from a2a_serverless.types import TaskPushNotificationConfig


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
    """ListTaskPushNotificationConfigs."""
    if request.page_token:
        raise InvalidParams.of("pageToken", "must be empty: there is one page")
    return PushConfigs(push_configs.list_all(call.host, call.caller, known_task_id(request.task_id)))


def delete_push_config(call: Call, request: PushConfigRequest) -> Deleted:
    """DeleteTaskPushNotificationConfig."""
    push_configs.delete(call.host, call.caller, known_task_id(request.task_id), request.id)
    return Deleted()
