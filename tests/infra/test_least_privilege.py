"""Who may do what. This table is the whole of it: a permission that is added or lost shows here first."""

from tests.infra.template import Json, Template

LOGS = {
    "Api": "ApiLogs.Arn",
    "RunTurn": "RunTurnLogs.Arn",
    "Expire": "ExpireLogs.Arn",
    "Relay": "RelayLogs.Arn",
    "Notify": "NotifyLogs.Arn",
    "Sweep": "SweepLogs.Arn",
}

SCHEDULES = "arn:AWS::Partition:scheduler:AWS::Region:AWS::AccountId:schedule"

ROLES = {
    "ApiRole": {
        "TasksTable.Arn": "dynamodb: BatchGetItem DeleteItem GetItem PutItem Query UpdateItem",
        "TasksTable.Arn/index/by_owner": "dynamodb: Query",
        "TasksBucket.Arn/parts/*": "s3: GetObject PutObject",
        "TasksBucket.Arn/evidence/*": "s3: PutObject",
        "NotifyNudges.Arn": "sqs: SendMessage",
        "SealingKey.Arn for push-secrets": "kms: Encrypt",
        "SealingKey.Arn for card-key": "kms: Decrypt GenerateDataKeyPairWithoutPlaintext",
    },
    "RunTurnRole": {
        "TasksTable.Arn": "dynamodb: GetItem PutItem Query UpdateItem",
        "TasksBucket.Arn/parts/*": "s3: GetObject PutObject",
        "RunTurnTurns.Arn": "sqs: ChangeMessageVisibility DeleteMessage GetQueueAttributes ReceiveMessage",
        "RunTurnDeadLetters.Arn": "sqs: SendMessage",
    },
    "AwaitInputRole": {
        "TasksTable.Arn": "dynamodb: UpdateItem",
        "ExpireFunction.Arn": "lambda: InvokeFunction",
    },
    "ExpireRole": {
        "TasksTable.Arn": "dynamodb: GetItem PutItem UpdateItem",
    },
    "RelayRole": {
        "TasksTable.Arn": "dynamodb: DeleteItem Query",
        "TasksBucket.Arn": "s3: ListBucket",
        "TasksBucket.Arn/parts/*": "s3: DeleteObject",
        "TasksTable.StreamArn": "dynamodb: DescribeStream GetRecords GetShardIterator ListStreams",
        "RunTurnTurns.Arn": "sqs: SendMessage",
        "NotifyNudges.Arn": "sqs: SendMessage",
        "RelayDeadLetters.Arn": "sqs: SendMessage",
        "AwaitInputMachine": "states: SendTaskSuccess StartExecution",
    },
    "NotifyRole": {
        "TasksTable.Arn": "dynamodb: GetItem PutItem Query UpdateItem",
        "NotifyNudges.Arn": "sqs: DeleteMessage GetQueueAttributes ReceiveMessage SendMessage",
        "NotifyDeadLetters.Arn": "sqs: SendMessage",
        f"{SCHEDULES}/NotifyLaterGroup/*": "scheduler: CreateSchedule DeleteSchedule UpdateSchedule",
        "NotifyLaterRole.Arn for scheduler.amazonaws.com": "iam: PassRole",
        "SealingKey.Arn for push-secrets": "kms: Decrypt",
        "SealingKey.Arn for signing-keys": "kms: Decrypt GenerateDataKeyPairWithoutPlaintext",
    },
    "NotifyLaterRole": {
        "NotifyNudges.Arn": "sqs: SendMessage",
    },
    "SweepRole": {
        "TasksTable.Arn": "dynamodb: GetItem PutItem Query UpdateItem",
        "TasksTable.Arn/index/due": "dynamodb: Query",
        "RunTurnTurns.Arn": "sqs: SendMessage",
        "NotifyNudges.Arn": "sqs: SendMessage",
        "AwaitInputMachine": "states: StartExecution",
        "SweepDeadLetters.Arn": "sqs: SendMessage",
        "SealingKey.Arn for signing-keys": "kms: GenerateDataKeyPairWithoutPlaintext",
    },
}


def test_every_role_may_do_what_its_hop_needs_and_nothing_else(every: Template) -> None:
    own_logs = {f"{hop}Role": {logs: "logs: CreateLogStream PutLogEvents"} for hop, logs in LOGS.items()}

    assert _granted(every) == {role: {**grants, **own_logs.get(role, {})} for role, grants in ROLES.items()}


NAMED_LATER = (f"{SCHEDULES}/NotifyLaterGroup/*", "TasksBucket.Arn/parts/*", "TasksBucket.Arn/evidence/*")
"""Schedules and objects have names of their own; what holds them is the stack's."""


def test_no_statement_of_a_role_has_a_wildcard_but_for_what_gets_its_name_later(every: Template) -> None:
    for role, statement in every.statements():
        assert statement["Effect"] == "Allow"
        assert "NotAction" not in statement
        assert "NotResource" not in statement
        for text in _list(statement["Action"]) + _list(statement["Resource"]):
            assert text in NAMED_LATER or "*" not in text, f"{role} may {statement}"


def test_nothing_is_granted_by_a_policy_of_aws_or_inside_a_role(every: Template) -> None:
    for role in every.of_type("AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role
        assert "Policies" not in role


def test_a_role_is_taken_by_one_service_alone(every: Template) -> None:
    taken = {
        name: [(each["Principal"], each["Action"]) for each in role["AssumeRolePolicyDocument"]["Statement"]]
        for name, role in every.of_type("AWS::IAM::Role").items()
    }

    assert taken.pop("AwaitInputRole") == [({"Service": "states.amazonaws.com"}, "sts:AssumeRole")]
    assert taken.pop("NotifyLaterRole") == [({"Service": "scheduler.amazonaws.com"}, "sts:AssumeRole")]
    assert set(map(str, taken.values())) == {"[({'Service': 'lambda.amazonaws.com'}, 'sts:AssumeRole')]"}


def test_schedules_of_this_group_alone_may_take_the_role_that_brings_nudges_back(every: Template) -> None:
    (trust,) = every.of_type("AWS::IAM::Role")["NotifyLaterRole"]["AssumeRolePolicyDocument"]["Statement"]

    assert trust["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "AWS::AccountId", "aws:SourceArn": "NotifyLaterGroup.Arn"}
    }


def test_functions_are_called_from_outside_by_this_api_and_this_rule_alone(every: Template) -> None:
    permissions = every.of_type("AWS::Lambda::Permission")

    callers = {(each["FunctionName"], each["Principal"], each["SourceArn"]) for each in permissions.values()}

    assert callers == {
        (
            "ApiFunction.Arn",
            "apigateway.amazonaws.com",
            "arn:AWS::Partition:execute-api:AWS::Region:AWS::AccountId:FrontDoorHttp/*/*",
        ),
        ("SweepFunction.Arn", "events.amazonaws.com", "SweepEveryMinute.Arn"),
    }


def test_queues_let_nobody_in_but_the_rule_that_drops_its_dead_letters(every: Template) -> None:
    allowed = [
        (policy["Queues"], statement["Action"], statement["Principal"], statement["Condition"])
        for policy in every.of_type("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]

    assert allowed == [
        (
            ["SweepDeadLetters"],
            "sqs:SendMessage",
            {"Service": "events.amazonaws.com"},
            {"ArnEquals": {"aws:SourceArn": "SweepEveryMinute.Arn"}},
        )
    ]


def test_the_sealing_key_is_governed_by_roles_of_this_account_alone(every: Template) -> None:
    statements = every.of_type("AWS::KMS::Key")["SealingKey"]["KeyPolicy"]["Statement"]

    assert [statement["Principal"] for statement in statements] == [
        {"AWS": "arn:AWS::Partition:iam::AWS::AccountId:root"}
    ]


def _granted(template: Template) -> dict[str, dict[str, str]]:
    """By role, by resource: the service and its actions."""
    granted: dict[str, dict[str, set[str]]] = {}
    for role, statement in template.statements():
        for resource in _list(statement["Resource"]):
            granted.setdefault(role, {}).setdefault(resource + _purpose(statement), set()).update(
                _list(statement["Action"])
            )
    return {role: {on: _actions(actions) for on, actions in grants.items()} for role, grants in granted.items()}


def _purpose(statement: Json) -> str:
    match statement.get("Condition"):
        case None:
            return ""
        case {"StringEquals": {"kms:EncryptionContext:purpose": str(purpose)}}:
            return f" for {purpose}"
        case {"StringEquals": {"iam:PassedToService": str(service)}}:
            return f" for {service}"
        case other:
            return f" if {other}"


def _actions(actions: set[str]) -> str:
    (service,) = {action.partition(":")[0] for action in actions}
    return f"{service}: " + " ".join(sorted(action.partition(":")[2] for action in actions))


def _list(value: Json) -> list[str]:
    return value if isinstance(value, list) else [value]
