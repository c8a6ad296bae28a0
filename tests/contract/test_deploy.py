"""Deploying an assembly without the CDK: create, update, fresh code, and a failure that names its resource."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from a2a_serverless.local.deploy import Deployed, DeployError, Endpoint, deploy

from .conftest import ACCOUNT, REGION, Cloud

BUCKET = "cdk-assets-${AWS::AccountId}-${AWS::Region}"


class Toy:
    """An assembly of one stack with a queue and a function, as the CDK writes one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"Toy{uuid.uuid4().hex[:8]}"
        (folder / "asset.code").mkdir()
        self.code("def handler(event, context): return 1\n")
        self.template: dict[str, Any] = {
            "Parameters": {"Colour": {"Type": "String", "Default": "none"}},
            "Resources": {
                "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 30}},
                "Role": {
                    "Type": "AWS::IAM::Role",
                    "Properties": {
                        "AssumeRolePolicyDocument": {
                            "Version": "2012-10-17",
                            "Statement": [
                                {
                                    "Effect": "Allow",
                                    "Principal": {"Service": "lambda.amazonaws.com"},
                                    "Action": "sts:AssumeRole",
                                }
                            ],
                        }
                    },
                },
                "Function": {
                    "Type": "AWS::Lambda::Function",
                    "Properties": {
                        "Runtime": "python3.13",
                        "Handler": "code.handler",
                        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                        "Code": {"S3Bucket": {"Fn::Sub": BUCKET}, "S3Key": f"{self.name}.zip"},
                        "Environment": {"Variables": {"COLOUR": {"Ref": "Colour"}}},
                    },
                },
            },
            "Outputs": {"Url": {"Value": {"Ref": "Queue"}}, "Colour": {"Value": {"Ref": "Colour"}}},
        }

    def code(self, text: str) -> None:
        """Change the function's source."""
        (self.folder / "asset.code" / "code.py").write_text(text)

    def deploy(self, cloud: Cloud, **parameters: str) -> Deployed:
        """Write the assembly and deploy it."""
        template = f"{self.name}.template.json"
        (self.folder / template).write_text(json.dumps(self.template))
        files = {
            "code": _asset("asset.code", "zip", f"{self.name}.zip"),
            "template": _asset(template, "file", f"{uuid.uuid4().hex}.json"),
        }
        (self.folder / f"{self.name}.assets.json").write_text(json.dumps({"files": files}))
        endpoint = Endpoint(url=cloud.address, region=REGION, account=ACCOUNT, access_key="test")
        return deploy(self.folder, endpoint, parameters=parameters)


def _asset(path: str, packaging: str, key: str) -> dict[str, Any]:
    return {
        "source": {"path": path, "packaging": packaging},
        "destinations": {"here": {"bucketName": BUCKET, "objectKey": key}},
    }


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """A stack of its own."""
    return Toy(tmp_path)


def result(cloud: Cloud, deployed: Deployed) -> object:
    """What the deployed function returns."""
    (name,) = deployed.physical_ids("AWS::Lambda::Function")
    return json.loads(cloud.functions.invoke(FunctionName=name)["Payload"].read())


def test_a_stack_is_created_with_its_code_and_the_parameters_it_declares(cloud: Cloud, toy: Toy) -> None:
    deployed = toy.deploy(cloud, Colour="blue", Unknown="ignored")

    assert deployed.outputs == {"Url": deployed.resources["Queue"], "Colour": "blue"}
    assert result(cloud, deployed) == 1


def test_a_changed_template_updates_the_stack_in_place(cloud: Cloud, toy: Toy) -> None:
    created = toy.deploy(cloud)
    toy.template["Resources"]["Queue"]["Properties"]["VisibilityTimeout"] = 90

    updated = toy.deploy(cloud)

    url = updated.outputs["Url"]
    attributes = cloud.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    assert url == created.outputs["Url"]
    assert attributes == {"VisibilityTimeout": "90"}


def test_changed_code_arrives_though_the_template_is_the_same(cloud: Cloud, toy: Toy) -> None:
    assert result(cloud, toy.deploy(cloud)) == 1
    toy.code("def handler(event, context): return 2\n")

    assert result(cloud, toy.deploy(cloud)) == 2


def test_a_resource_that_fails_is_named_with_its_reason(cloud: Cloud, toy: Toy) -> None:
    toy.template["Resources"]["Queue"]["Properties"]["VisibilityTimeout"] = 99_999_999

    with pytest.raises(DeployError, match=r"Queue \(AWS::SQS::Queue\): .*VisibilityTimeout"):
        toy.deploy(cloud)


def test_a_resource_of_an_unknown_type_is_refused_by_name(cloud: Cloud, toy: Toy) -> None:
    toy.template["Resources"]["Odd"] = {"Type": "AWS::Odd::Thing", "Properties": {}}

    with pytest.raises(DeployError, match="AWS::Odd::Thing"):
        toy.deploy(cloud)
