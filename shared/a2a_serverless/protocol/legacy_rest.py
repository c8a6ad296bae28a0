"""The REST binding of 0.3 as its SDKs really speak it: ProtoJSON of its proto, not the JSON of its text (1.7).

Everything here is a respelling between that dialect and the JSON-RPC one; what is spelt in the latter is understood
as well, since the text of 0.3 promised that.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final, assert_never

from pydantic.alias_generators import to_camel

from a2a_serverless.protocol import legacy_answers
from a2a_serverless.protocol import legacy_objects as v03
from a2a_serverless.protocol import legacy_requests as requests
from a2a_serverless.protocol.results import Deleted, ExtendedCard, Extra, Listed, PushConfigs, Result, Sent
from a2a_serverless.protocol.strict_json import text_of
from a2a_serverless.types import A2AModel, JsonObject, StreamEvent, Task, TaskPushNotificationConfig, TaskState

STATES: Final = {v03.STATES[state]: state.value for state in TaskState} | {"canceled": "TASK_STATE_CANCELLED"}
"""By the JSON-RPC name. 0.3 spelt the cancelled state with two Ls in its proto."""
ROLES: Final = {"user": "ROLE_USER", "agent": "ROLE_AGENT"}
_ROLES_IN: Final = {proto: name for name, proto in ROLES.items()}
_STATES_IN: Final = {proto: TaskState(proto.replace("CANCELLED", "CANCELED")) for proto in STATES.values()}


# What comes in


def as_json_rpc(request: type[A2AModel], wire: JsonObject) -> JsonObject:
    """A request of the REST dialect, path and query included, as the JSON-RPC dialect spells it."""
    if request is requests.MessageSendParams:
        return _send(wire)
    if request is requests.SetPushConfigParams:
        return _create_config(wire)
    if request is requests.TaskQueryParams and wire.get("historyLength") == 0:
        return {name: value for name, value in wire.items() if name != "historyLength"}  # the proto: 0 is no limit
    if request is requests.ListTasksParams and isinstance(wire.get("status"), str):
        return {**wire, "status": _STATES_IN.get(wire["status"], wire["status"])}
    return wire


def _send(wire: JsonObject) -> JsonObject:
    """`message` is the JSON name of the proto's `request`, and both occur."""
    found = _camel(wire)
    spelt: JsonObject = {"metadata": found.get("metadata")}
    message = found.get("message", found.get("request"))
    if message is not None:
        spelt["message"] = _message_in(message)
    configuration = found.get("configuration")
    if configuration is not None:
        spelt["configuration"] = _configuration_in(configuration)
    return spelt


def _configuration_in(value: object) -> object:
    """ProtoJSON leaves out what is false or zero: a configuration that does not say `blocking` says no."""
    if not isinstance(value, dict):
        return value
    found = _camel(value)
    push = found.get("pushNotification", found.get("pushNotificationConfig"))
    spelt = {
        "acceptedOutputModes": found.get("acceptedOutputModes"),
        "historyLength": found.get("historyLength") or None,
        "blocking": found.get("blocking") or False,
        "pushNotificationConfig": push,
    }
    return {name: member for name, member in spelt.items() if member is not None}


def _message_in(value: object) -> object:
    if not isinstance(value, dict):
        return value
    found = _camel(value)
    parts = found.pop("content", None)
    if parts is None:
        parts = found.get("parts")
    role = found.get("role")
    spelt = {**found, "role": _ROLES_IN.get(role, role) if isinstance(role, str) else role}
    if parts is not None:
        spelt["parts"] = [_part_in(part) for part in parts] if isinstance(parts, list) else parts
    return spelt


def _part_in(value: object) -> object:
    """The proto tells parts apart by the one member they have."""
    if not isinstance(value, dict):
        return value
    spelt = dict(value)
    kinds = [name for name in ("text", "file", "data") if spelt.get(name) is not None]
    if "kind" not in spelt and len(kinds) == 1:
        spelt["kind"] = kinds[0]
    if isinstance(spelt.get("file"), dict):
        spelt["file"] = _file_in(_camel(spelt["file"]))
    data = spelt.get("data")
    if isinstance(data, dict) and "kind" not in value and set(data) == {"data"}:
        spelt["data"] = data["data"]  # DataPart is a message of its own in the proto
    return spelt


def _file_in(file: JsonObject) -> JsonObject:
    spelt: JsonObject = {name: file[name] for name in ("name", "mimeType", "uri", "bytes") if name in file}
    if "fileWithUri" in file:
        spelt["uri"] = file["fileWithUri"]
    if "fileWithBytes" in file:
        content, media_type = file["fileWithBytes"], file.get("mimeType")
        spelt["bytes"] = once_encoded(content, media_type) if isinstance(content, str) else content
    return spelt


def once_encoded(content: str, media_type: object = None) -> str:
    """Bytes in base64, whether they came encoded once (JS, and the rules) or twice (the Python SDKs).

    Twice is assumed only where the bytes read as base64 themselves: of a text type, where they then turn out to be
    text; of another, where they are too long or too well padded to be so by chance.
    """
    inner = _decoded(content)
    if inner is None or not inner.isascii():
        return content
    innermost = _decoded(inner.decode("ascii"))
    if innermost is None or base64.b64encode(innermost) != inner:
        return content
    if isinstance(media_type, str) and media_type.startswith(("text/", "application/json")):
        return inner.decode("ascii") if _is_text(innermost) else content
    return inner.decode("ascii") if inner.endswith(b"=") or len(inner) >= 16 else content


def _decoded(content: str) -> bytes | None:
    try:
        return base64.b64decode(content, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def _is_text(content: bytes) -> bool:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character.isspace() for character in text)


def _create_config(wire: JsonObject) -> JsonObject:
    """Three bodies occur: `{parent, configId, config: {name, pushNotificationConfig}}` (Python), `{name,
    pushNotificationConfig}` (JavaScript, and what the proto's `body: "config"` means), and the bare config."""
    found = _camel(wire)
    resource = _camel(found["config"]) if isinstance(found.get("config"), dict) else found
    config = resource.get("pushNotificationConfig")
    if config is None:
        config = {name: value for name, value in resource.items() if name not in {"taskId", "name", "parent"}}
    if isinstance(config, dict):
        named = found.get("configId") or _last_segment(resource.get("name"))
        config = {**({"id": named} if named and named not in _NO_NAMES else {}), **_camel(config)}
    return {"taskId": wire["taskId"], "pushNotificationConfig": config}


_NO_NAMES: Final = ("None", "null", "undefined")
"""What clients write into a resource name when a config has no id."""


def _last_segment(name: object) -> str:
    """The config's id in its resource name, `tasks/{task}/pushNotificationConfigs/{config}`."""
    if not isinstance(name, str):
        return ""
    steps = name.split("/")
    return steps[3] if len(steps) == 4 and steps[2] == "pushNotificationConfigs" else ""


def _camel(members: Mapping[str, Any]) -> JsonObject:
    """ProtoJSON takes both spellings of a name."""
    return {to_camel(name) if "_" in name else name: value for name, value in members.items()}


# What goes out


def result_text(result: Result) -> str:
    """A result in the REST dialect."""
    match result:
        case Task():
            return text_of(_task(legacy_answers.task_object(result)))
        case Sent(payload):
            return event_text(payload, last=True)
        case Listed():
            page = legacy_answers.listed(result)
            return text_of({**page, "tasks": [_task(task) for task in page["tasks"]]})
        case TaskPushNotificationConfig():
            return text_of(_push_config(result))
        case PushConfigs(configs):
            return text_of({"configs": [_push_config(config) for config in configs], "nextPageToken": ""})
        case Deleted():
            return "{}"
        case ExtendedCard(wire) | Extra(wire):
            return text_of(wire)
        case _:
            assert_never(result)


def event_text(event: StreamEvent, *, last: bool) -> str:
    """An event in the REST dialect: a StreamResponse."""
    spelt = legacy_answers.event_object(event, last=last)
    match spelt.pop("kind"):
        case "task":
            return text_of({"task": _task(spelt)})
        case "message":
            return text_of({"message": _message(spelt)})
        case "status-update":
            return text_of({"statusUpdate": _status_update(spelt)})
        case _:
            return text_of({"artifactUpdate": {**spelt, "artifact": _artifact(spelt["artifact"])}})


def _task(spelt: JsonObject) -> JsonObject:
    respelt: dict[str, Callable[[Any], object]] = {
        "status": _status,
        "history": lambda messages: [_message(message) for message in messages],
        "artifacts": lambda artifacts: [_artifact(artifact) for artifact in artifacts],
    }
    return {name: respelt[name](value) if name in respelt else value for name, value in spelt.items() if name != "kind"}


def _status(spelt: JsonObject) -> JsonObject:
    message = {"message": _message(spelt["message"])} if "message" in spelt else {}
    return {**spelt, "state": STATES[spelt["state"]], **message}


def _message(spelt: JsonObject) -> JsonObject:
    """The proto of 0.3 knows no `referenceTaskIds`, and its strict parsers refuse what they do not know."""
    kept = {name: value for name, value in spelt.items() if name not in {"kind", "parts", "referenceTaskIds"}}
    return {**kept, "role": ROLES[spelt["role"]], "content": [_part(part) for part in spelt["parts"]]}


def _artifact(spelt: JsonObject) -> JsonObject:
    return {**spelt, "parts": [_part(part) for part in spelt["parts"]]}


def _part(spelt: JsonObject) -> JsonObject:
    metadata = {"metadata": spelt["metadata"]} if "metadata" in spelt else {}
    match spelt["kind"]:
        case "text":
            return {"text": spelt["text"], **metadata}
        case "data":
            return {"data": {"data": spelt["data"]}, **metadata}
        case _:
            proto_names = {"bytes": "fileWithBytes", "uri": "fileWithUri"}
            file = {proto_names.get(name, name): value for name, value in spelt["file"].items()}
            return {"file": file, **metadata}


def _status_update(spelt: JsonObject) -> JsonObject:
    """`final` is there when it is true."""
    kept = {name: value for name, value in spelt.items() if name != "final" or value}
    return {**kept, "status": _status(spelt["status"])}


def _push_config(config: TaskPushNotificationConfig) -> JsonObject:
    name = f"tasks/{config.task_id}/pushNotificationConfigs/{config.id}"
    return {"name": name, "pushNotificationConfig": v03.push_config(config)["pushNotificationConfig"]}
