"""The cut of botocore's data that functions are staged with: all they need, nothing else, and the same to them."""

import json
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from botocore import xform_name
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.loaders import Loader
from botocore.session import Session

from a2a_serverless.aws.models import OwnModels
from a2a_serverless.aws.session import FunctionSession
from cdk import models

SOURCES = tuple((Path(__file__).resolve().parents[2] / "shared" / "a2a_serverless" / "aws").glob("*.py"))
CALLS = frozenset(re.findall(r"[.\"]([a-z_0-9]+)\b", "\n".join(file.read_text() for file in SOURCES)))
OURS = frozenset({"scan", "sign", "verify"})
"""Names of operations that our sources use for something else."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("asset") / models.FOLDER
    models.write_models(made)
    return made


def client_of(service: str, loader: Loader, *, region: str = "eu-west-1") -> Any:
    session = Session()
    session.register_component("data_loader", loader)
    return client_in(session, service, region=region)


def client_in(session: Session, service: str, *, region: str = "eu-west-1") -> Any:
    unsigned = Config(s3={"addressing_style": "virtual"})
    return session.create_client(
        service, region_name=region, aws_access_key_id="id", aws_secret_access_key="key", config=unsigned
    )


@pytest.mark.parametrize("service", models.OPERATIONS)
def test_it_holds_what_the_adapters_call_and_nothing_else(service: str) -> None:
    everything = client_of(service, Loader()).meta.service_model.operation_names
    called = {name for name in everything if xform_name(name) in CALLS - OURS}

    assert called == models.OPERATIONS[service]


@pytest.mark.parametrize("service", models.OPERATIONS)
def test_an_operation_of_the_cut_is_that_of_botocore(service: str, folder: Path) -> None:
    cut = client_of(service, OwnModels(folder)).meta.service_model
    whole = client_of(service, Loader()).meta.service_model

    assert set(cut.operation_names) == models.OPERATIONS[service]
    for name in cut.operation_names:
        ours, theirs = cut.operation_model(name), whole.operation_model(name)
        assert ours.http == theirs.http
        kept = models.MEMBERS.get(service, {})
        for mine, other in ((ours.input_shape, theirs.input_shape), (ours.output_shape, theirs.output_shape)):
            assert told(mine) == told(other, kept=kept)
        assert [told(error) for error in ours.error_shapes] == [told(error, kept=kept) for error in theirs.error_shapes]


def test_every_kind_of_value_that_an_adapter_writes_or_reads_is_kept() -> None:
    kinds = set(re.findall(r"[\[{]\"([A-Z]{1,4})\"[\]:]", "\n".join(file.read_text() for file in SOURCES)))

    assert kinds == set(models.MEMBERS["dynamodb"]["AttributeValue"])


@pytest.mark.parametrize("service", models.OPERATIONS)
def test_a_call_of_a_function_is_sent_as_botocore_would_send_it(service: str, folder: Path) -> None:
    ours, theirs = client_in(FunctionSession(OwnModels(folder)), service), client_of(service, Loader())

    for operation in sorted(models.OPERATIONS[service]):
        assert sent(ours, operation) == sent(theirs, operation)


def sent(client: Any, operation: str) -> tuple[str, str, str]:
    """What would go out, all the way from the call to the wire."""
    seen: list[tuple[str, str, str]] = []

    def instead(request: Any, **_: Any) -> AWSResponse:
        body = request.body.read() if hasattr(request.body, "read") else request.body or b""
        seen.append((request.method, CHANCE.sub("", request.url), CHANCE.sub("", body.decode())))
        return AWSResponse(request.url, 400, {}, Nothing())

    client.meta.events.register_first("before-send.*", instead)
    try:
        with pytest.raises(ClientError):
            client._make_api_call(operation, needed(client.meta.service_model.operation_model(operation).input_shape))
    finally:
        client.meta.events.unregister("before-send.*", instead)
    (request,) = seen
    return request


@pytest.mark.parametrize("service", models.OPERATIONS)
def test_what_happens_to_a_client_of_a_function_is_handled_as_botocore_handles_it(service: str, folder: Path) -> None:
    session = FunctionSession(OwnModels(folder))
    for other in models.OPERATIONS.keys() - {service}:
        client_in(session, other)
    ours, theirs = client_in(session, service), client_of(service, OwnModels(folder))

    for operation in models.OPERATIONS[service]:
        assert handlers(ours, operation) == handlers(theirs, operation)
    assert {name for name in dir(theirs) if name.startswith("generate_")} <= set(dir(ours))


def handlers(client: Any, operation: str) -> dict[str, set[str]]:
    """What botocore does at each step of a call."""
    about = f"{client.meta.service_model.service_id.hyphenize()}.{operation}"
    emitter = client.meta.events._emitter
    found = {step: emitter._handlers.prefix_search(f"{step}.{about}") for step in STEPS}
    return {
        step: {getattr(one, "__qualname__", type(one).__qualname__) for one in each} for step, each in found.items()
    }


STEPS = (
    "provide-client-params",
    "before-parameter-build",
    "before-endpoint-resolution",
    "before-call",
    "request-created",
    "choose-signer",
    "before-sign",
    "before-send",
    "response-received",
    "before-parse",
    "needs-retry",
    "after-call",
    "after-call-error",
)
"""The events of a call, in their order."""


def test_a_function_takes_its_credentials_from_its_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, name.lower())

    found: Any = FunctionSession(OwnModels(folder)).get_credentials()

    assert (found.access_key, found.secret_key, found.token) == (
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
    )


CHANCE = re.compile("[0-9a-f]{8}-[0-9a-f-]{27}")
"""An idempotency token that botocore makes up."""


class Nothing:
    """The body of an answer that has none."""

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield b""


def needed(shape: Any) -> Any:
    """The least that an operation takes."""
    match shape.type_name:
        case "structure":
            return {name: needed(shape.members[name]) for name in shape.required_members}
        case "list":
            return [needed(shape.member)]
        case "map":
            return {"name": needed(shape.value)}
        case "string":
            return shape.enum[0] if shape.enum else "x" * max(3, shape.metadata.get("min", 0))
        case "blob":
            return b"x"
        case "integer" | "long":
            return 1
        case other:
            raise AssertionError(other)


def told(shape: Any, above: tuple[str, ...] = (), *, kept: Mapping[str, Container[str]] = MappingProxyType({})) -> Any:
    """A shape and all below it, as far as it decides what is sent and read; of some shapes the members `kept` alone."""
    if shape is None or shape.name in above:
        return shape and shape.name
    members = getattr(shape, "members", {})
    names = [name for name in members if name in kept.get(shape.name, members)]
    inside = {name: told(members[name], (*above, shape.name), kept=kept) for name in names}
    for part in ("member", "key", "value"):
        if hasattr(shape, part):
            inside[part] = told(getattr(shape, part), (*above, shape.name), kept=kept)
    return shape.name, shape.type_name, shape.serialization, shape.metadata, inside


@pytest.mark.parametrize("service", models.OPERATIONS)
@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "cn-north-1", "us-gov-west-1"])
def test_every_partition_has_the_addresses_that_botocore_knows(service: str, region: str, folder: Path) -> None:
    ours = client_of(service, OwnModels(folder), region=region)
    theirs = client_of(service, Loader(), region=region)

    assert ours.meta.endpoint_url == theirs.meta.endpoint_url
    assert ours.meta.config.signature_version == theirs.meta.config.signature_version


def test_what_another_botocore_looks_for_is_found_in_its_own_data(folder: Path, tmp_path: Path) -> None:
    """Lambda's botocore may be newer than the one of the cut."""
    less = tmp_path / "less"
    (less / "dynamodb").mkdir(parents=True)

    assert client_of("dynamodb", OwnModels(less)).meta.service_model.operation_names
    assert OwnModels(folder).load_data("sdk-default-configuration")


def test_nothing_in_it_is_there_to_be_read_by_people(folder: Path) -> None:
    files = [file for file in folder.rglob("*") if file.is_file()]

    assert sum(file.stat().st_size for file in files) < 320_000
    assert sum(file.read_text().count('"documentation":"') for file in files) <= 5, "those that botocore reads"
    assert all(isinstance(json.loads(file.read_text()), dict) for file in files)
