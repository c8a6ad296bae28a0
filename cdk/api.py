"""The API: the front door that partners see, and the hop `api` behind it."""

import json

from aws_cdk import ArnFormat, Duration, Fn, Stack, aws_apigatewayv2, aws_apigatewayv2_integrations
from constructs import Construct

from a2a_serverless.aws.settings import Variable

from .context import Choices
from .function import HopFunction, Host, accept, let_agents_run, log_group, rules
from .sealing import Sealing
from .tasks import Tasks

ACCESS_LOG = {
    "requestId": "$context.requestId",
    "time": "$context.requestTime",
    "ip": "$context.identity.sourceIp",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "bytes": "$context.responseLength",
    "milliseconds": "$context.responseLatency",
    "error": "$context.error.message",
    "integrationError": "$context.integrationErrorMessage",
}
"""Who asked for what and how it ended; nothing of a header, a body or a query, which holds a callback's key."""


class FrontDoor(Construct):
    """An HTTP API without routes: made first, because the functions are told its address."""

    def __init__(self, scope: Construct, name: str, *, choices: Choices) -> None:
        super().__init__(scope, name)
        self.http = aws_apigatewayv2.HttpApi(
            self,
            "Http",
            api_name=f"a2a-serverless-{choices.stage}",
            description=f"a2a-serverless {choices.stage}: agents for other companies",
            create_default_stage=False,
        )
        access_log = log_group(self, "AccessLog", choices=choices, called=self._access_log_name())
        aws_apigatewayv2.CfnStage(
            self,
            "Stage",
            api_id=self.http.api_id,
            stage_name="$default",  # the one stage whose name is not part of the address
            auto_deploy=True,
            default_route_settings=aws_apigatewayv2.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=choices.requests_per_second,
                throttling_burst_limit=choices.request_burst,
            ),
            access_log_settings=aws_apigatewayv2.CfnStage.AccessLogSettingsProperty(
                destination_arn=Stack.of(self).format_arn(
                    service="logs",
                    resource="log-group",
                    resource_name=access_log.log_group_name,
                    arn_format=ArnFormat.COLON_RESOURCE_NAME,
                ),
                format=json.dumps(ACCESS_LOG),
            ),
        )

    def _access_log_name(self) -> str:
        """Below `/aws/vendedlogs/`, because API Gateway adds every other group that it may write to, to one policy of
        the account that holds 5,120 characters. The stack's unique id makes it another name when a stage comes again
        and the log of the first one is still kept.
        """
        stack = Stack.of(self)
        return f"/aws/vendedlogs/{stack.stack_name}/access/{Fn.select(2, Fn.split('/', stack.stack_id))}"

    @property
    def url(self) -> str:
        """The address that the API has by itself."""
        return self.http.api_endpoint


class Api(Construct):
    """Authenticate, parse, decide, one conditional write, answer."""

    def __init__(
        self, scope: Construct, name: str, *, host: Host, front_door: FrontDoor, tasks: Tasks, sealing: Sealing
    ) -> None:
        super().__init__(scope, name)
        self.function = HopFunction(
            self,
            "api",
            host=host,
            timeout=Duration.seconds(29),  # the gateway gives up after 30
            memory=512,
            environment={
                Variable.AGENTS: host.agents,
                Variable.PUBLIC_URL: host.public_url,
                Variable.ISSUERS: host.issuers,
                Variable.TABLE: tasks.table.table_name,
                Variable.SEALING_KEY: sealing.key.key_arn,
                Variable.ALLOW_PRIVATE_WEBHOOKS: "1" if host.choices.allow_private_webhooks else "",
                Variable.WEBHOOK_OWNERSHIP: host.choices.webhook_ownership,
                Variable.EVIDENCE_DAYS: str(host.choices.evidence.days),
                **rules(host.choices),
            },
        )
        self._allow(tasks, sealing)
        let_agents_run(self.function)  # one that answers at once does so here
        self._serve_at(front_door)

    def _allow(self, tasks: Tasks, sealing: Sealing) -> None:
        may = self.function.may
        may(
            "dynamodb:GetItem",
            "dynamodb:BatchGetItem",
            "dynamodb:Query",
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
            on=tasks.arn,
        )
        may("dynamodb:Query", on=tasks.owner_index_arn)
        tasks.allow_keeping_parts(self.function)
        tasks.allow_keeping_evidence(self.function)
        sealing.allow_sealing_secrets(self.function)
        sealing.allow_signing_cards(self.function)

    def _serve_at(self, front_door: FrontDoor) -> None:
        """Every request goes to the one function, which knows the routes."""
        route = aws_apigatewayv2.HttpRoute(
            self,
            "Everything",
            http_api=front_door.http,
            route_key=aws_apigatewayv2.HttpRouteKey.DEFAULT,
            integration=aws_apigatewayv2_integrations.HttpLambdaIntegration("Integration", self.function),
        )
        accept(
            route,
            "APIG4",
            because="the function checks the token itself: cards are public, and 401 must say which scheme to use",
        )
