"""Deploys a synthesized cloud assembly into an AWS-compatible endpoint: no CDK CLI, no node.

Uploads what the asset manifest names, creates or updates the stack, and waits for it.
"""

import io
import json
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from a2a_serverless.local.account import ACCESS_KEY, ACCOUNT, REGION
from a2a_serverless.local.assembly import stack_name
from a2a_serverless.local.failure import StackFailedError

_BOOTSTRAP_VERSION = "/cdk-bootstrap/hnb659fds/version"
_POLL_SECONDS = 0.02


class DeployError(StackFailedError):
    """The stack could not be deployed; the message names the resource and the reason."""


@dataclass(frozen=True)
class Endpoint:
    """Where to deploy and as whom."""

    url: str
    region: str
    account: str
    access_key: str

    def client(self, service: str) -> Any:
        """A client of a service at this endpoint."""
        config = Config(retries={"max_attempts": 1}, parameter_validation=True)
        return boto3.client(
            service,  # type: ignore[call-overload]
            endpoint_url=self.url,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.access_key,
            config=config,
        )


def embedded(url: str) -> Endpoint:
    """The embedded AWS at this address, as its account's root."""
    return Endpoint(url=url, region=REGION, account=ACCOUNT, access_key=ACCESS_KEY)


@dataclass(frozen=True)
class Deployed:
    """A stack as it was deployed."""

    name: str
    outputs: Mapping[str, str]
    resources: Mapping[str, str]
    """Physical ids by logical id."""
    types: Mapping[str, str]
    """Resource types by logical id."""

    def physical_ids(self, resource_type: str) -> list[str]:
        """The physical ids of all resources of a type."""
        return [self.resources[name] for name, kind in self.types.items() if kind == resource_type]


def deploy(assembly: Path, endpoint: Endpoint, *, parameters: Mapping[str, str] | None = None) -> Deployed:
    """Deploy the one stack of an assembly, creating or updating it, and return it once it is complete.

    `parameters` the template does not declare are left out; those that are not given keep their value.

    Raises:
        DeployError: the stack failed; says which resource and why.
    """
    stack = stack_name(assembly)
    endpoint.client("ssm").put_parameter(Name=_BOOTSTRAP_VERSION, Value="30", Type="String", Overwrite=True)
    template_url = _upload_assets(assembly, stack, endpoint)
    declared = json.loads((assembly / f"{stack}.template.json").read_text()).get("Parameters", {})
    chosen = {name: value for name, value in (parameters or {}).items() if name in declared}
    formation = endpoint.client("cloudformation")
    _create_or_update(formation, stack, template_url, chosen)
    _wait(formation, stack)
    _refresh_code(assembly, stack, endpoint, formation)
    return _describe(formation, stack)


def _upload_assets(assembly: Path, stack: str, endpoint: Endpoint) -> str:
    """Upload every file asset; returns the address of the template."""
    s3 = endpoint.client("s3")
    manifest = json.loads((assembly / f"{stack}.assets.json").read_text())
    template_url = ""
    for asset in manifest["files"].values():
        source = assembly / asset["source"]["path"]
        content = packed(source) if asset["source"]["packaging"] == "zip" else source.read_bytes()
        for destination in asset["destinations"].values():
            bucket = _filled_in(destination["bucketName"], endpoint)
            _ensure_bucket(s3, bucket)
            s3.put_object(Bucket=bucket, Key=destination["objectKey"], Body=content)
            if source.name == f"{stack}.template.json":
                template_url = f"{endpoint.url}/{bucket}/{destination['objectKey']}"
    return template_url


def packed(folder: Path) -> bytes:
    """A folder as a zip file with the same bytes for the same content."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(str(path.relative_to(folder)))
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, path.read_bytes())
    return target.getvalue()


def _filled_in(text: str, endpoint: Endpoint) -> str:
    return (
        text.replace("${AWS::AccountId}", endpoint.account)
        .replace("${AWS::Region}", endpoint.region)
        .replace("${AWS::Partition}", "aws")
    )


def _ensure_bucket(s3: Any, name: str) -> None:
    try:
        s3.create_bucket(Bucket=name)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
            raise


def _create_or_update(formation: Any, stack: str, template_url: str, parameters: Mapping[str, str]) -> None:
    request: dict[str, Any] = {
        "StackName": stack,
        "TemplateURL": template_url,
        "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in parameters.items()],
        "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
    }
    try:
        before = _parameters_of(formation, stack)
        if before is not None:
            kept = [{"ParameterKey": k, "UsePreviousValue": True} for k in before if k not in parameters]
            formation.update_stack(**{**request, "Parameters": [*request["Parameters"], *kept]})
        else:
            formation.create_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            raise DeployError(f"stack {stack}: {error.response['Error']['Message']}") from error


def _parameters_of(formation: Any, stack: str) -> list[str] | None:
    """The names of the parameters of a stack that exists; None: there is no such stack."""
    for found in formation.describe_stacks()["Stacks"]:
        if found["StackName"] == stack and found["StackStatus"] != "DELETE_COMPLETE":
            return [parameter["ParameterKey"] for parameter in found.get("Parameters", [])]
    return None


def _wait(formation: Any, stack: str) -> None:
    while True:
        status = formation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
        if not status.endswith("IN_PROGRESS"):
            break
        time.sleep(_POLL_SECONDS)  # CloudFormation tells nobody when it is done
    if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        raise DeployError(f"stack {stack} ended as {status}: {_reasons(formation, stack)}")


def _reasons(formation: Any, stack: str) -> str:
    events = formation.describe_stack_events(StackName=stack)["StackEvents"]
    failed = [event for event in reversed(events) if "FAILED" in event["ResourceStatus"]]
    return "; ".join(map(_reason, failed)) or "no resource says why"


def _reason(event: Mapping[str, Any]) -> str:
    reason = event.get("ResourceStatusReason", "no reason given")
    return f"{event['LogicalResourceId']} ({event['ResourceType']}): {reason}"


def _refresh_code(assembly: Path, stack: str, endpoint: Endpoint, formation: Any) -> None:
    """Give functions the uploaded code when it changed under the same key: the template names keys, not contents."""
    template = json.loads((assembly / f"{stack}.template.json").read_text())
    functions = endpoint.client("lambda")
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] != "AWS::Lambda::Function":
            continue
        code = resource["Properties"]["Code"]
        if "S3Key" not in code:
            continue
        name = formation.describe_stack_resource(StackName=stack, LogicalResourceId=logical_id)
        functions.update_function_code(
            FunctionName=name["StackResourceDetail"]["PhysicalResourceId"],
            S3Bucket=_filled_in(code["S3Bucket"]["Fn::Sub"], endpoint),
            S3Key=code["S3Key"],
        )


def _describe(formation: Any, stack: str) -> Deployed:
    found = formation.describe_stacks(StackName=stack)["Stacks"][0]
    outputs = {o["OutputKey"]: o["OutputValue"] for o in found.get("Outputs", [])}
    pages = formation.get_paginator("list_stack_resources").paginate(StackName=stack)
    resources = [resource for page in pages for resource in page["StackResourceSummaries"]]
    return Deployed(
        name=stack,
        outputs=outputs,
        resources={r["LogicalResourceId"]: r["PhysicalResourceId"] for r in resources},
        types={r["LogicalResourceId"]: r["ResourceType"] for r in resources},
    )
