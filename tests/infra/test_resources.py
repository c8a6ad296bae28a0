"""What the stack is made of: exactly what the flow of a task uses, stored safely, with dead letters on every hop."""

import json

import pytest

from a2a_serverless.aws.settings import Settings, Variable
from a2a_serverless.core.delivery_health import Alert
from cdk.context import DEFAULT_AGENTS
from tests.infra.conftest import PRODUCTION
from tests.infra.template import Template, said

HOP = {
    "Function": "Lambda::Function",
    "Role": "IAM::Role",
    "RoleDefaultPolicy": "IAM::Policy",
    "Logs": "Logs::LogGroup",
}
DEAD_LETTERS = {"DeadLetters": "SQS::Queue", "DeadLettersPolicy": "SQS::QueuePolicy"}

RESOURCES = {
    "FrontDoor": {"Http": "ApiGatewayV2::Api", "Stage": "ApiGatewayV2::Stage", "AccessLog": "Logs::LogGroup"},
    "Api": HOP
    | {
        "Everything": "ApiGatewayV2::Route",
        "EverythingIntegration": "ApiGatewayV2::Integration",
        "EverythingIntegrationPermission": "Lambda::Permission",
    },
    "Tasks": {"Table": "DynamoDB::Table", "Bucket": "S3::Bucket", "BucketPolicy": "S3::BucketPolicy"},
    "Sealing": {"Key": "KMS::Key"},
    "RunTurn": HOP
    | DEAD_LETTERS
    | {"Turns": "SQS::Queue", "TurnsPolicy": "SQS::QueuePolicy", "FunctionFromQueue": "Lambda::EventSourceMapping"},
    "AwaitInput": {
        "Machine": "StepFunctions::StateMachine",
        "Role": "IAM::Role",
        "RoleDefaultPolicy": "IAM::Policy",
    },
    "Expire": HOP,
    "Relay": HOP | DEAD_LETTERS | {"FromTable": "Lambda::EventSourceMapping"},
    "Notify": HOP
    | DEAD_LETTERS
    | {"Nudges": "SQS::Queue", "NudgesPolicy": "SQS::QueuePolicy", "FunctionFromQueue": "Lambda::EventSourceMapping"}
    | {"LaterGroup": "Scheduler::ScheduleGroup", "LaterRole": "IAM::Role", "LaterRoleDefaultPolicy": "IAM::Policy"},
    "Sweep": HOP
    | DEAD_LETTERS
    | {
        "EveryMinute": "Events::Rule",
        "EveryMinuteAllowEventRuleA2aServerlessSweepFunctionCB528FC4": "Lambda::Permission",
    },
    "Watch": dict.fromkeys(
        (
            "RunTurnDeadLetters",
            "NotifyDeadLetters",
            "RelayDeadLetters",
            "SweepDeadLetters",
            "RelayBehind",
            "RunTurnBehind",
            "NotifyBehind",
            "WaitsBroken",
            "ServerErrors",
            "WebhooksExhausted",
            "WebhooksDisabled",
        ),
        "CloudWatch::Alarm",
    )
    | {"WebhookAlerts": "Logs::MetricFilter"},
}
"""By part of the stack. A resource that is not in this table is one that nobody asked for."""

HANDLERS = {
    "ApiFunction": "functions.api.handler.handler",
    "RunTurnFunction": "functions.run_turn.handler.handler",
    "ExpireFunction": "functions.expire.handler.handler",
    "RelayFunction": "functions.relay.handler.handler",
    "NotifyFunction": "functions.notify.handler.handler",
    "SweepFunction": "functions.sweep.handler.handler",
}

RULES = {Variable.RETENTION_SECONDS, Variable.LONGEST_WAIT_SECONDS, Variable.RETRY_WINDOW_SECONDS}
TOLD = {
    "ApiFunction": RULES
    | {
        Variable.STAGE,
        Variable.AGENTS,
        Variable.PUBLIC_URL,
        Variable.ISSUERS,
        Variable.TABLE,
        Variable.SEALING_KEY,
        Variable.ALLOW_PRIVATE_WEBHOOKS,
        Variable.WEBHOOK_OWNERSHIP,
        Variable.NUDGES_QUEUE,
        Variable.BUCKET,
        Variable.EVIDENCE_DAYS,
    },
    "RunTurnFunction": RULES
    | {
        Variable.STAGE,
        Variable.AGENTS,
        Variable.PUBLIC_URL,
        Variable.TABLE,
        Variable.TURNS_QUEUE,
        Variable.TURNS_DEAD_LETTERS,
        Variable.BUCKET,
    },
    "ExpireFunction": RULES | {Variable.STAGE, Variable.AGENTS, Variable.PUBLIC_URL, Variable.TABLE},
    "RelayFunction": {
        Variable.STAGE,
        Variable.TABLE,
        Variable.BUCKET,
        Variable.TURNS_QUEUE,
        Variable.NUDGES_QUEUE,
        Variable.WAIT_MACHINE,
    },
    "NotifyFunction": {
        Variable.STAGE,
        Variable.PUBLIC_URL,
        Variable.TABLE,
        Variable.NUDGES_QUEUE,
        Variable.NUDGES_DEAD_LETTERS,
        Variable.NUDGES_QUEUE_ARN,
        Variable.SCHEDULE_GROUP,
        Variable.SCHEDULE_ROLE,
        Variable.SEALING_KEY,
        Variable.ALLOW_PRIVATE_WEBHOOKS,
        Variable.EVIDENCE_DAYS,
    },
    "SweepFunction": RULES
    | {
        Variable.STAGE,
        Variable.AGENTS,
        Variable.PUBLIC_URL,
        Variable.TABLE,
        Variable.TURNS_QUEUE,
        Variable.NUDGES_QUEUE,
        Variable.WAIT_MACHINE,
        Variable.SEALING_KEY,
    },
}
"""What each function is told, and nothing more: a name that is missing here is an empty setting there."""


def test_the_stack_holds_what_the_flow_uses_and_nothing_else(every: Template) -> None:
    wanted = {part + name: f"AWS::{kind}" for part, names in RESOURCES.items() for name, kind in names.items()}

    assert {name: resource["Type"] for name, resource in every.resources.items()} == wanted


def test_the_bucket_is_encrypted_private_and_lets_nothing_through_but_tls(every: Template) -> None:
    bucket = every.of_type("AWS::S3::Bucket")["TasksBucket"]
    (denied,) = every.of_type("AWS::S3::BucketPolicy")["TasksBucketPolicy"]["PolicyDocument"]["Statement"]

    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"] == [
        {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    ]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    assert "VersioningConfiguration" not in bucket
    assert (denied["Effect"], denied["Action"], denied["Condition"]) == (
        "Deny",
        "s3:*",
        {"Bool": {"aws:SecureTransport": "false"}},
    )


def test_objects_that_were_left_behind_end_by_themselves_long_after_their_task(every: Template) -> None:
    rules = every.of_type("AWS::S3::Bucket")["TasksBucket"]["LifecycleConfiguration"]["Rules"]

    days = {rule["Prefix"]: rule["ExpirationInDays"] for rule in rules if rule["Status"] == "Enabled"}

    assert days == {"parts/": 30 + 30 + 365, "evidence/": 31}


def test_two_local_runs_of_one_template_differ_by_parameters_alone(local: Template) -> None:
    parameters = {name for name in local.body["Parameters"] if name != "BootstrapVersion"}

    assert parameters == {"Agents", "PublicUrl", "Issuers"}


def test_a_stage_on_aws_is_what_its_newest_synth_says_and_not_what_the_one_before_did(production: Template) -> None:
    """`cdk deploy` keeps the value a parameter had before, whatever its new default."""
    environment = production.of_type("AWS::Lambda::Function")["ApiFunction"]["Environment"]["Variables"]

    assert set(production.body["Parameters"]) == {"BootstrapVersion"}
    assert environment[Variable.AGENTS] == DEFAULT_AGENTS
    assert json.loads(environment[Variable.ISSUERS]) == [
        {key: PRODUCTION[key] for key in ("issuer", "audience", "jwks_uri")}
    ]


def test_the_outputs_say_where_everything_is(every: Template) -> None:
    assert set(every.body["Outputs"]) == {
        *("Url", "ApiEndpoint", "Table", "Bucket", "WaitMachine", "SealingKey"),
        *("TurnsQueue", "TurnsDeadLetters", "NudgesQueue", "NudgesDeadLetters"),
        *("RelayDeadLetters", "SweepDeadLetters"),
    }


def test_the_stage_of_one_machine_cannot_be_deployed_by_mistake(local: Template, production: Template) -> None:
    """`cdk deploy` without a stage brings no address, which `make serve` always does."""
    (assertion,) = local.body["Rules"]["OneMachine"]["Assertions"]

    assert said(assertion["Assert"]) == {"Fn::Not": [{"Fn::Equals": ["$PublicUrl", ""]}]}
    assert "-c stage=" in assertion["AssertDescription"]
    assert local.body["Parameters"]["PublicUrl"]["Default"] == ""
    assert "OneMachine" not in production.body["Rules"]


def test_two_stages_in_one_account_are_told_apart_by_name(production: Template) -> None:
    (group,) = production.of_type("AWS::Scheduler::ScheduleGroup").values()
    (api,) = production.of_type("AWS::ApiGatewayV2::Api").values()

    assert (group["Name"], api["Name"]) == ("a2a-serverless-prod", "a2a-serverless-prod")


def test_the_access_log_takes_no_place_in_the_policy_that_all_apis_of_an_account_share(every: Template) -> None:
    """API Gateway adds other groups to a policy of 5,120 characters, and a deployment fails when it is full."""
    name = every.of_type("AWS::Logs::LogGroup")["FrontDoorAccessLog"]["LogGroupName"]

    assert name.startswith("/aws/vendedlogs/a2a-serverless-")
    assert "AWS::StackId" in name  # so that it is free when a stage comes again


def test_without_a_public_address_partners_are_told_the_address_of_the_api_itself(
    local: Template, production: Template
) -> None:
    def told(template: Template) -> object:
        return template.of_type("AWS::Lambda::Function")["NotifyFunction"]["Environment"]["Variables"][
            Variable.PUBLIC_URL
        ]

    assert told(local) == "PublicUrlGiven ? $PublicUrl : FrontDoorHttp.ApiEndpoint"
    assert told(production) == "FrontDoorHttp.ApiEndpoint"


def test_every_hop_runs_its_own_handler_out_of_one_asset(every: Template) -> None:
    functions = every.of_type("AWS::Lambda::Function")

    assert {name: function["Handler"] for name, function in functions.items()} == HANDLERS
    assert len({function["Code"]["S3Key"] for function in functions.values()}) == 1


def test_every_function_runs_on_the_newest_python_and_the_cheaper_processor_without_tracing(every: Template) -> None:
    for function in every.of_type("AWS::Lambda::Function").values():
        assert function["Runtime"] == "python3.14"
        assert function["Architectures"] == ["arm64"]
        assert "TracingConfig" not in function


def test_every_function_is_told_what_it_has_a_use_for(every: Template) -> None:
    functions = every.of_type("AWS::Lambda::Function")
    told = {name: set(function["Environment"]["Variables"]) for name, function in functions.items()}

    assert told == {name: {str(variable) for variable in variables} for name, variables in TOLD.items()}


def test_the_functions_can_read_what_they_are_told(every: Template) -> None:
    environment = every.of_type("AWS::Lambda::Function")["ApiFunction"]["Environment"]["Variables"]

    settings = Settings.from_env(environment)

    assert settings.retention.days == settings.longest_wait.days == 30
    assert settings.retry_window.total_seconds() == 3600


def test_only_a_local_run_may_send_webhooks_to_private_addresses(local: Template, production: Template) -> None:
    def allowed(template: Template) -> set[str]:
        functions = template.of_type("AWS::Lambda::Function").values()
        return {function["Environment"]["Variables"].get(Variable.ALLOW_PRIVATE_WEBHOOKS, "") for function in functions}

    assert allowed(local) == {"1", ""}
    assert allowed(production) == {""}


# What is stored


def test_the_table_keeps_every_change_for_the_stream_and_can_be_restored_to_any_second(every: Template) -> None:
    table = every.of_type("AWS::DynamoDB::Table")["TasksTable"]

    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_a_list_reads_heads_and_a_sweep_reads_keys(every: Template) -> None:
    table = every.of_type("AWS::DynamoDB::Table")["TasksTable"]
    indexes = {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}

    assert [key["AttributeName"] for key in indexes["by_owner"]["KeySchema"]] == ["owner", "listed"]
    assert indexes["by_owner"]["Projection"]["ProjectionType"] == "INCLUDE"
    assert [key["AttributeName"] for key in indexes["due"]["KeySchema"]] == ["due_shard", "due_at"]
    assert indexes["due"]["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    assert [key["AttributeName"] for key in indexes["webhooks"]["KeySchema"]] == ["webhook_of", "sk"]
    assert indexes["webhooks"]["Projection"] == {"ProjectionType": "KEYS_ONLY"}


def test_what_is_stored_on_aws_outlives_the_stack_and_what_a_local_run_stores_does_not(
    local: Template, production: Template
) -> None:
    """`RetainExceptOnCreate` keeps all but what a first deployment made before it failed."""
    kinds = {
        *("AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::SQS::Queue", "AWS::Logs::LogGroup", "AWS::S3::Bucket"),
        "AWS::StepFunctions::StateMachine",
    }

    def policies(template: Template, policy: str) -> dict[str, str]:
        return {name: each[policy] for name, each in template.resources.items() if each["Type"] in kinds}

    kept = policies(production, "DeletionPolicy")
    assert set(policies(local, "DeletionPolicy").values()) == {"Delete"}
    assert kept.pop("TasksTable") == "Retain"  # it is protected, and would hold the rollback up
    assert set(kept.values()) == {"RetainExceptOnCreate"}
    assert set(policies(production, "UpdateReplacePolicy").values()) == {"Retain"}
    assert production.of_type("AWS::DynamoDB::Table")["TasksTable"]["DeletionProtectionEnabled"] is True


def test_queues_are_encrypted_and_take_nothing_over_plain_http(every: Template) -> None:
    queues = every.of_type("AWS::SQS::Queue")
    refusals = {
        policy["Queues"][0]
        for policy in every.of_type("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }

    assert all(queue["SqsManagedSseEnabled"] for queue in queues.values())
    assert refusals == set(queues)


def test_the_sealing_key_is_turned_over(every: Template) -> None:
    assert every.of_type("AWS::KMS::Key")["SealingKey"]["EnableKeyRotation"] is True


def test_logs_are_not_kept_for_ever(every: Template) -> None:
    groups = every.of_type("AWS::Logs::LogGroup")

    assert {group["RetentionInDays"] for group in groups.values()} == {30}


# What is asynchronous


def test_work_that_cannot_be_done_lands_in_dead_letters_on_every_hop(every: Template) -> None:
    queues, functions = every.of_type("AWS::SQS::Queue"), every.of_type("AWS::Lambda::Function")
    stream = every.of_type("AWS::Lambda::EventSourceMapping")["RelayFromTable"]
    rule = every.of_type("AWS::Events::Rule")["SweepEveryMinute"]

    assert queues["RunTurnTurns"]["RedrivePolicy"] == {
        "deadLetterTargetArn": "RunTurnDeadLetters.Arn",
        "maxReceiveCount": 5,
    }
    assert queues["NotifyNudges"]["RedrivePolicy"]["deadLetterTargetArn"] == "NotifyDeadLetters.Arn"
    assert stream["DestinationConfig"] == {"OnFailure": {"Destination": "RelayDeadLetters.Arn"}}
    assert rule["Targets"][0]["DeadLetterConfig"] == {"Arn": "SweepDeadLetters.Arn"}
    assert functions["SweepFunction"]["DeadLetterConfig"] == {"TargetArn": "SweepDeadLetters.Arn"}


def test_dead_letters_are_kept_as_long_as_sqs_can(every: Template) -> None:
    queues = every.of_type("AWS::SQS::Queue")
    fortnight = 14 * 86400

    assert {queue["MessageRetentionPeriod"] for name, queue in queues.items() if "DeadLetters" in name} == {fortnight}


@pytest.mark.parametrize(
    ("mapping", "queue", "function"),
    [
        ("RunTurnFunctionFromQueue", "RunTurnTurns", "RunTurnFunction"),
        ("NotifyFunctionFromQueue", "NotifyNudges", "NotifyFunction"),
    ],
)
def test_a_message_stays_hidden_at_least_as_long_as_its_function_may_run(
    every: Template, mapping: str, queue: str, function: str
) -> None:
    source = every.of_type("AWS::Lambda::EventSourceMapping")[mapping]
    hidden = every.of_type("AWS::SQS::Queue")[queue]["VisibilityTimeout"]

    assert source["EventSourceArn"] == f"{queue}.Arn"
    assert hidden >= every.of_type("AWS::Lambda::Function")[function]["Timeout"]
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["ScalingConfig"]["MaximumConcurrency"] >= 2


def test_a_function_that_sends_back_what_it_was_sent_is_not_stopped_as_a_runaway(every: Template) -> None:
    """Lambda ends a chain of calls through SQS that comes back for the sixteenth time, unless a function allows it."""
    functions, sources = every.of_type("AWS::Lambda::Function"), every.of_type("AWS::Lambda::EventSourceMapping")
    worked_off = {source["EventSourceArn"]: source["FunctionName"] for source in sources.values()}

    feeds_itself = {
        function
        for role, statement in every.statements()
        for queue, function in worked_off.items()
        if "sqs:SendMessage" in statement["Action"]
        and queue in statement["Resource"]
        and functions[function]["Role"] == f"{role}.Arn"
    }

    assert {name for name, function in functions.items() if function.get("RecursiveLoop") == "Allow"} == feeds_itself
    assert feeds_itself == {"NotifyFunction"}


def test_one_worker_takes_one_turn(every: Template) -> None:
    assert every.of_type("AWS::Lambda::EventSourceMapping")["RunTurnFunctionFromQueue"]["BatchSize"] == 1


def test_relay_hears_of_heads_alone_and_one_poisoned_change_cannot_stop_it(every: Template) -> None:
    stream = every.of_type("AWS::Lambda::EventSourceMapping")["RelayFromTable"]

    assert stream["EventSourceArn"] == "TasksTable.StreamArn"
    assert stream["FilterCriteria"] == {
        "Filters": [
            {"Pattern": '{"dynamodb":{"Keys":{"sk":{"S":["HEAD"]}}}}'},
        ]
    }
    assert stream["BisectBatchOnFunctionError"] is True
    assert stream["MaximumRetryAttempts"] == 10
    assert 0 < stream["MaximumRecordAgeInSeconds"] < 86400
    assert stream["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert stream["StartingPosition"] == "TRIM_HORIZON"


def test_the_sweep_comes_once_a_minute(every: Template) -> None:
    rule = every.of_type("AWS::Events::Rule")["SweepEveryMinute"]

    assert rule["ScheduleExpression"] == "rate(1 minute)"
    assert [target["Arn"] for target in rule["Targets"]] == ["SweepFunction.Arn"]


# The front door


def test_every_path_and_method_reaches_the_api_function(every: Template) -> None:
    routes, integrations = every.of_type("AWS::ApiGatewayV2::Route"), every.of_type("AWS::ApiGatewayV2::Integration")

    assert [route["RouteKey"] for route in routes.values()] == ["$default"]
    assert [each["PayloadFormatVersion"] for each in integrations.values()] == ["2.0"]


def test_the_api_is_throttled_logged_and_open_to_no_browser(every: Template) -> None:
    stage = every.of_type("AWS::ApiGatewayV2::Stage")["FrontDoorStage"]

    assert stage["StageName"] == "$default"
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": 100, "ThrottlingBurstLimit": 200}
    assert "$context.requestId" in stage["AccessLogSettings"]["Format"]
    assert "$context.authorizer" not in stage["AccessLogSettings"]["Format"]
    for kept_out in ("query", "header", "routeKey", "$request"):  # a callback address has its key in the query
        assert kept_out not in stage["AccessLogSettings"]["Format"]
    assert "CorsConfiguration" not in every.of_type("AWS::ApiGatewayV2::Api")["FrontDoorHttp"]


def test_the_function_answers_before_the_gateway_gives_up(every: Template) -> None:
    assert every.of_type("AWS::Lambda::Function")["ApiFunction"]["Timeout"] < 30


# What is watched


def test_alarms_reach_the_topic_that_was_named(local: Template, production: Template) -> None:
    topic = "arn:aws:sns:eu-west-1:111122223333:on-call"

    assert all(alarm["AlarmActions"] == [topic] for alarm in production.of_type("AWS::CloudWatch::Alarm").values())
    assert all("AlarmActions" not in alarm for alarm in local.of_type("AWS::CloudWatch::Alarm").values())


def test_webhooks_that_are_given_up_or_switched_off_wake_somebody(every: Template) -> None:
    (counted,) = every.of_type("AWS::Logs::MetricFilter").values()
    (metric,) = counted["MetricTransformations"]
    alarms = every.of_type("AWS::CloudWatch::Alarm")
    watched = {
        each["Dimensions"][0]["Value"]: (each["Namespace"], each["MetricName"], each["Dimensions"][0]["Name"])
        for name, each in alarms.items()
        if name.startswith("WatchWebhooks")
    }

    assert counted["LogGroupName"] == "NotifyLogs"
    assert counted["FilterPattern"] == '{ $.alert = "*" }'
    assert metric["Dimensions"] == [{"Key": "alert", "Value": "$.alert"}]
    assert set(watched) == {Alert.EXHAUSTED, Alert.DISABLED}
    assert set(watched.values()) == {(metric["MetricNamespace"], metric["MetricName"], "alert")}


def test_a_deployment_cannot_turn_authentication_off_by_a_parameter(local: Template, production: Template) -> None:
    assert "Issuers" in local.body["Parameters"]
    assert "Issuers" not in production.body["Parameters"]
