"""What the functions read of botocore's data, cut to the operations they use.

botocore parses 1.8 MB of JSON before a client of DynamoDB is made, a fifth of a cold start; all that our six services
need of it is a tenth of that. The cut is taken from the botocore of this environment. On Lambda another one may read
it, so it looks into its own data for whatever is not here (`a2a_serverless.aws.models`).
"""

import gzip
import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "service-models"
"""Below `a2a_serverless/aws` in the asset."""

OPERATIONS: Final[Mapping[str, frozenset[str]]] = {
    "dynamodb": frozenset({"BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"}),
    "kms": frozenset({"Decrypt", "Encrypt", "GenerateDataKeyPairWithoutPlaintext"}),
    "s3": frozenset({"DeleteObjects", "GetObject", "ListObjectsV2", "PutObject"}),
    "scheduler": frozenset({"CreateSchedule", "DeleteSchedule", "UpdateSchedule"}),
    "sqs": frozenset({"ChangeMessageVisibility", "DeleteMessage", "ReceiveMessage", "SendMessage"}),
    "stepfunctions": frozenset({"SendTaskSuccess", "StartExecution"}),
}
"""By service, as botocore names both. What is not among them, no client of ours has."""

MEMBERS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "dynamodb": {"AttributeValue": ("S", "N", "B", "SS", "BOOL")},
}
"""By service and shape: the members that are kept of a shape of which our items use a few. botocore looks for each of
them in each value that it reads, and a page of tasks has hundreds."""

_WHOLE: Final = ("_retry.json", "partitions.json", "sdk-default-configuration.json")
_PROSE: Final = frozenset({"documentation", "documentationUrl", "examples"})

_AS_THEY_ARE: Final = frozenset({"clientContextParams"})
"""Members whose very prose botocore reads with the first call of a client."""


def write_models(folder: Path) -> None:
    """Fill `folder`, which is made, with what clients of `OPERATIONS` read."""
    data = botocore_data()
    folder.mkdir()
    for name in _WHOLE:
        _write(folder / name, _read(data / name))
    endpoints = _read(data / "endpoints.json")
    prefixes = set()
    for service, operations in OPERATIONS.items():
        version = _newest(data / service)
        model = _read(version / "service-2.json")
        prefixes.add(model["metadata"]["endpointPrefix"])
        target = folder / service / version.name
        target.mkdir(parents=True)
        _write(target / "service-2.json", cut(_narrowed(model, MEMBERS.get(service, {})), operations))
        _write(target / "endpoint-rule-set-1.json", _without_prose(_read(version / "endpoint-rule-set-1.json")))
    _write(folder / "endpoints.json", _of_services(endpoints, prefixes))


def botocore_data() -> Path:
    """The data of the botocore in this environment, which is not imported."""
    found = importlib.util.find_spec("botocore")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("botocore is needed to stage the functions: install the project's requirements")
    return Path(found.submodule_search_locations[0]) / "data"


def cut(model: Mapping[str, Any], operations: Iterable[str]) -> dict[str, Any]:
    """A service model with these operations, the shapes they speak of, and no prose."""
    kept = {name: model["operations"][name] for name in sorted(operations)}
    shapes: dict[str, Any] = {}
    left = list(_shapes_in(kept))
    while left:
        name = left.pop()
        if name not in shapes:
            shapes[name] = model["shapes"][name]
            left += _shapes_in(shapes[name])
    short: dict[str, Any] = _without_prose({**model, "operations": kept, "shapes": dict(sorted(shapes.items()))})
    return short | {name: model[name] for name in _AS_THEY_ARE & model.keys()}


def _narrowed(model: Mapping[str, Any], members: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """A service model whose shapes have no more than these members, where some are named."""
    shapes = dict(model["shapes"])
    for shape, kept in members.items():
        shapes[shape] = {**shapes[shape], "members": {name: shapes[shape]["members"][name] for name in kept}}
    return {**model, "shapes": shapes}


def _shapes_in(value: Any) -> Iterator[str]:
    """The names of the shapes that part of a model refers to: the text under each `shape`."""
    match value:
        case dict():
            for key, member in value.items():
                if key == "shape" and isinstance(member, str):
                    yield member
                else:
                    yield from _shapes_in(member)
        case list():
            for element in value:
                yield from _shapes_in(element)


def _without_prose(value: Any) -> Any:
    """The same without what is there to be read. A member that is called like it is a shape, and stays."""
    match value:
        case dict():
            return {
                key: _without_prose(member)
                for key, member in value.items()
                if key not in _PROSE or (isinstance(member, dict) and "shape" in member)
            }
        case list():
            return [_without_prose(element) for element in value]
        case _:
            return value


def _of_services(endpoints: Mapping[str, Any], prefixes: set[str]) -> dict[str, Any]:
    """The endpoints of some services in every partition."""
    partitions = [
        {**partition, "services": {name: told for name, told in partition["services"].items() if name in prefixes}}
        for partition in endpoints["partitions"]
    ]
    return {**endpoints, "partitions": partitions}


def _newest(service: Path) -> Path:
    return max(version for version in service.iterdir() if _is_there(version / "service-2.json"))


def _is_there(file: Path) -> bool:
    return file.is_file() or _packed(file).is_file()


def _packed(file: Path) -> Path:
    return file.with_name(f"{file.name}.gz")


def _read(file: Path) -> Any:
    return json.loads(file.read_bytes() if file.is_file() else gzip.decompress(_packed(file).read_bytes()))


def _write(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, separators=(",", ":")))
