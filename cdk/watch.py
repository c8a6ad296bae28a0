"""Alarms on what should never happen by itself: dead letters, webhooks that are given up or switched off, work that
falls behind, waits that break, 5xx."""

from collections.abc import Mapping

from aws_cdk import (
    Duration,
    aws_apigatewayv2,
    aws_cloudwatch,
    aws_cloudwatch_actions,
    aws_lambda,
    aws_logs,
    aws_sns,
    aws_sqs,
    aws_stepfunctions,
)
from constructs import Construct

FIVE_MINUTES = Duration.minutes(5)

LONGEST_IN_A_QUEUE = Duration.minutes(30)
"""A turn runs for 15 minutes at most and a nudge is held back for as long; both are in their queues meanwhile."""

WEBHOOK_ALERTS = {
    "exhausted": "a nudge was given up after its last attempt; it lies in the dead letters of Notify",
    "disabled": "a webhook was switched off: it was gone, asked for it, or failed for days",
}
"""Of the alerts that `notify` logs (`core.delivery_health.Alert`), those that wake somebody."""


class Watch(Construct):
    """Each alarm goes to the topic that the deployment named, or stands in the console alone."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        topic_arn: str,
        dead_letters: Mapping[str, aws_sqs.Queue],
        work: Mapping[str, aws_sqs.Queue],
        relay: aws_lambda.Function,
        notify: aws_lambda.Function,
        stage: str,
        machine: aws_stepfunctions.StateMachine,
        http: aws_apigatewayv2.HttpApi,
    ) -> None:
        super().__init__(scope, name)
        self._actions = (
            [aws_cloudwatch_actions.SnsAction(aws_sns.Topic.from_topic_arn(self, "Topic", topic_arn))]
            if topic_arn
            else []
        )
        for hop, queue in dead_letters.items():
            self._alarm(
                f"{hop}DeadLetters",
                queue.metric_approximate_number_of_messages_visible(period=FIVE_MINUTES, statistic="Maximum"),
                says=f"{hop} gave up work; it lies in the dead letters",
            )
        self._alarm(
            "RelayBehind",
            relay.metric("IteratorAge", period=FIVE_MINUTES, statistic="Maximum"),
            least=Duration.minutes(5).to_milliseconds(),
            says="changes wait in the table's stream, so nudges and waits are late",
        )
        for hop, queue in work.items():
            self._alarm(
                f"{hop}Behind",
                queue.metric_approximate_age_of_oldest_message(period=FIVE_MINUTES, statistic="Maximum"),
                least=LONGEST_IN_A_QUEUE.to_seconds(),
                says=f"work of {hop} waits in its queue: more comes than its functions may take at a time",
            )
        self._watch_webhooks(notify, stage)
        self._alarm("WaitsBroken", machine.metric_failed(period=FIVE_MINUTES), says="a wait ended without its deadline")
        self._alarm("ServerErrors", http.metric_server_error(period=FIVE_MINUTES), says="the API answered with 5xx")

    def _watch_webhooks(self, notify: aws_lambda.Function, stage: str) -> None:
        """Count the alerts in the log of `notify`, each kind for itself."""
        counted = aws_logs.MetricFilter(
            self,
            "WebhookAlerts",
            log_group=notify.log_group,
            filter_pattern=aws_logs.FilterPattern.exists("$.alert"),
            metric_namespace=f"A2aServerless/{stage}",
            metric_name="WebhookAlerts",
            metric_value="1",
            dimensions={"alert": "$.alert"},
        )
        for alert, says in WEBHOOK_ALERTS.items():
            metric = counted.metric(period=FIVE_MINUTES, statistic="Sum", dimensions_map={"alert": alert})
            self._alarm(f"Webhooks{alert.capitalize()}", metric, says=says)

    def _alarm(self, name: str, metric: aws_cloudwatch.Metric, *, says: str, least: float = 1) -> None:
        alarm = metric.create_alarm(
            self,
            name,
            alarm_description=says,
            threshold=least,
            evaluation_periods=1,
            comparison_operator=aws_cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=aws_cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(*self._actions)
