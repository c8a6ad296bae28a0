"""CloudFormation: `Ref` of an AWS::SecretsManager::Secret is its ARN, as on AWS, not its name.

With the name in a policy's `Resource`, `AUTH=true` would deny what AWS allows.
"""

from typing import Any

from a2a_serverless.local.patches.target import PatchRefusedError, module


def patch() -> None:
    """Return the ARN as the physical id, and take the name out of it where ministack needs the name."""
    handlers = module("services.cloudformation.provisioners")._RESOURCE_HANDLERS
    secret = handlers.get("AWS::SecretsManager::Secret")
    if not secret or not {"create", "update", "delete"} <= set(secret):
        raise PatchRefusedError("ministack no longer provisions AWS::SecretsManager::Secret as the patch expects")
    create, update, delete = secret["create"], secret["update"], secret["delete"]

    def with_arn(result: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        _, attributes = result
        return attributes["Arn"], attributes

    secret["create"] = lambda *args, **kw: with_arn(create(*args, **kw))
    secret["update"] = lambda arn, *args, **kw: with_arn(update(_name(arn), *args, **kw))
    secret["delete"] = lambda arn, *args, **kw: delete(_name(arn), *args, **kw)


def _name(arn: str) -> str:
    """The secret's name: the ARN without its prefix and its six random characters."""
    return arn.split(":secret:")[1].rsplit("-", 1)[0] if ":secret:" in arn else arn
