"""What one deployment was told: read once from the CDK context, and refused in a sentence where it cannot stand.

No construct is made here, so a refusal costs nothing and every rule can be tested without a synth.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

Value = TypeVar("Value", str, int)

LOCAL = "local"
DEFAULT_AGENTS = "freight=functions.agents.freight:agent"
NO_AUTHENTICATION = "none-and-i-mean-it"

PYTHONS = ("3.14", "3.13")
ARCHITECTURES = ("arm64", "x86_64")
OWNERSHIP = ("none", "token", "options")
"""How an address is asked whether it wants webhooks before it is registered (`webhook.ownership` in the kit)."""
LOG_RETENTION_DAYS = {
    1: "ONE_DAY", 7: "ONE_WEEK", 14: "TWO_WEEKS", 30: "ONE_MONTH", 60: "TWO_MONTHS", 90: "THREE_MONTHS",
    180: "SIX_MONTHS", 365: "ONE_YEAR", 731: "TWO_YEARS", 1827: "FIVE_YEARS", 3653: "TEN_YEARS",
}  # fmt: skip
"""CloudWatch Logs takes these numbers of days and no others between them; the names are the CDK's."""
OWN_PATHS = ("agents", "v1")
"""What the paths of the API begin with that are not the deployment's to choose."""
MOST_ENVIRONMENT = 2800
"""Bytes. Lambda takes 4,096 of all variables, and what else the stack tells a function is about 1,000."""
MOST_POLICIES = 10
"""Managed policies that a role takes, unless the account asked for more (IAM quotas)."""
LONGEST_EXECUTION_DAYS = 365
"""A Standard execution lives one year at most (Step Functions quotas)."""


class Refusal(Exception):
    """The deployment was told something that cannot stand; the message is one sentence for who told it."""


@dataclass(frozen=True)
class Choices:
    """Everything that one deployment may choose, checked."""

    stage: str
    agents: str
    agent_source: Path | None
    agent_policies: tuple[str, ...]
    """ARNs of managed policies: what agents may do on AWS besides saying what they say."""
    agent_environment: Mapping[str, str]
    """Variables that agents find in their environment."""
    public_url: str
    issuers: str
    allow_private_webhooks: bool
    retention: timedelta
    longest_wait: timedelta
    retry_window: timedelta
    evidence: timedelta
    """How long both sides of every exchange are kept; nothing is kept for no time."""
    log_retention: str
    """The CDK's name for it, one of the values of `LOG_RETENTION_DAYS`."""
    python: str
    architecture: str
    turn_concurrency: int
    turn_memory: int
    """Megabytes."""
    nudge_concurrency: int
    requests_per_second: int
    request_burst: int
    alarm_topic_arn: str
    webhook_ownership: str

    @property
    def is_local(self) -> bool:
        """Whether this is a run on one machine, which may be thrown away."""
        return self.stage == LOCAL

    @property
    def authentication_is_off(self) -> bool:
        """Whether anybody may use the agents: so in a local run by default, elsewhere only if told so in words."""
        return self.issuers == "[]"


def read(context: Callable[[str], object]) -> Choices:
    """Read the choices of one deployment; `context` gives a key's value or None, as `node.try_get_context` does.

    Raises:
        Refusal: a value is none, or two of them contradict each other.
    """
    told = _Told(context)
    stage = _stage(told)
    local = stage == LOCAL
    retention, longest_wait = _kept_longer_than_waited(told)
    issuers, environment = _issuers(told, stage=stage), _agent_environment(told)
    agents = told.text("agents", DEFAULT_AGENTS if local else "")
    _check_room([agents, issuers, *environment, *environment.values()])
    choices = Choices(
        stage=stage,
        agents=agents,
        agent_source=_agent_source(told),
        agent_policies=_agent_policies(told),
        agent_environment=environment,
        public_url=_public_url(told, local=local),
        issuers=issuers,
        allow_private_webhooks=_private_webhooks(told, stage=stage),
        retention=retention,
        longest_wait=longest_wait,
        retry_window=timedelta(seconds=told.number("retry_window_seconds", 3600, least=0, most=86400)),
        evidence=timedelta(days=told.number("evidence_days", 30, least=0, most=3650)),
        log_retention=_log_retention(told),
        python=_one_of(told.text("python", PYTHONS[0]), PYTHONS, "python"),
        architecture=_one_of(told.text("architecture", ARCHITECTURES[0]), ARCHITECTURES, "architecture"),
        turn_concurrency=told.number("turn_concurrency", 50, least=2, most=1000),
        turn_memory=told.number("turn_memory_mb", 512, least=256, most=10240),
        nudge_concurrency=told.number("nudge_concurrency", 100, least=2, most=1000),
        requests_per_second=told.number("requests_per_second", 100),
        request_burst=told.number("request_burst", 200),
        alarm_topic_arn=_alarm_topic(told),
        webhook_ownership=_one_of(told.text("webhook_ownership", OWNERSHIP[0]), OWNERSHIP, "webhook_ownership"),
    )
    _check_agents_are_named(choices)
    return choices


def check_spelling(given: Iterable[str]) -> None:
    """Check that no key of the context looks like one of ours and is none: what nobody reads would be passed over.

    Keys unlike ours are somebody else's; the CDK keeps flags of its own there.

    Raises:
        Refusal: a key is misspelt; says which was meant.
    """
    known = _keys()
    for key in given:
        close = [] if key in known else difflib.get_close_matches(key, known, n=1, cutoff=0.8)
        if close:
            raise Refusal(f"there is no key {key!r}; did you mean {close[0]!r}?")


def _keys() -> set[str]:
    """Every key that `read` asks for."""
    asked: set[str] = set()
    read(asked.add)
    return asked


class _Told:
    """Context values as text and numbers; the command line gives text, cdk.json any JSON."""

    def __init__(self, context: Callable[[str], object]) -> None:
        self._context = context

    def text(self, key: str, default: str) -> str:
        value = self._context(key)
        return default if value is None else str(value).strip()

    def number(self, key: str, default: int, *, least: int = 1, most: int = 2**31 - 1) -> int:
        value = self.text(key, str(default))
        if not re.fullmatch(r"-?[0-9]{1,12}", value) or not least <= int(value) <= most:
            raise Refusal(f"{key}={value!r} should be a whole number from {least} to {most}")
        return int(value)

    def yes(self, key: str, *, default: bool) -> bool:
        return _one_of(self.text(key, str(default)).lower(), ("true", "false"), key) == "true"


def _stage(told: _Told) -> str:
    stage = told.text("stage", LOCAL)
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", stage):
        raise Refusal(f"stage={stage!r} should be a lower-case name of at most 20 letters, digits and dashes")
    return stage


def _check_agents_are_named(choices: Choices) -> None:
    if not choices.agents:
        raise Refusal(
            f"stage {choices.stage!r} names no agents: give -c agents=name=package.module:attribute (the kit's example "
            f"is {DEFAULT_AGENTS})"
        )


def _agent_source(told: _Told) -> Path | None:
    given = told.text("agent_source", "")
    if not given:
        return None
    folder = Path(given).resolve()
    if not folder.is_dir():
        raise Refusal(f"agent_source={given!r} is no folder; looked at {folder}")
    return folder


def _agent_policies(told: _Told) -> tuple[str, ...]:
    policies = _listed(told.text("agent_policies", ""))
    for policy in policies:
        if not re.fullmatch(r"arn:[a-z-]+:iam::([0-9]{12}|aws):policy/[\w+=.@/-]+", policy, re.ASCII):
            raise Refusal(f"agent_policies: {policy!r} should be the ARN of a managed policy of IAM")
    if len(policies) > MOST_POLICIES:
        raise Refusal(f"agent_policies names {len(policies)} policies; a role takes {MOST_POLICIES}")
    return policies


def _agent_environment(told: _Told) -> Mapping[str, str]:
    """Lambda keeps names that begin with `AWS_` and some others to itself, and the functions read those with `A2A_`."""
    variables: dict[str, str] = {}
    for entry in _listed(told.text("agent_environment", "")):
        name, is_there, value = entry.partition("=")
        if not is_there or not re.fullmatch(r"(?!AWS_|A2A_|LAMBDA_|POWERTOOLS_)[A-Za-z][A-Za-z0-9_]+", name):
            raise Refusal(
                f"agent_environment: {entry!r} should be NAME=value, with a name of letters, digits and underscores "
                "that begins with none of AWS_, LAMBDA_, POWERTOOLS_ and A2A_"
            )
        if name in variables:
            raise Refusal(f"agent_environment names {name} twice")
        variables[name] = value
    return variables


def _check_room(texts: Iterable[str]) -> None:
    taken = sum(len(text.encode()) for text in texts)
    if taken > MOST_ENVIRONMENT:
        raise Refusal(
            f"agents, issuer and agent_environment take {taken} bytes of the functions' environment; there is room for "
            f"{MOST_ENVIRONMENT}"
        )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def _public_url(told: _Told, *, local: bool) -> str:
    url = told.text("public_url", "")
    schemes = "https?" if local else "https"
    if url and not re.fullmatch(schemes + r"://[^\s/?#]+(/[^\s?#]*)?", url):
        raise Refusal(f"public_url={url!r} should be an https address without query and fragment")
    if urlsplit(url).path.removeprefix("/").partition("/")[0] in OWN_PATHS:
        raise Refusal(
            f"public_url={url!r} begins with a path of the API's own ({', '.join(OWN_PATHS)}): a gateway that takes it "
            "off a request and one that leaves it on could not be told apart"
        )
    return url.rstrip("/")


_ISSUER_WANTED = (
    "give -c issuer=https://..., -c audience=... and -c jwks_uri=https://... (where its keys are published)"
)


def _issuers(told: _Told, *, stage: str) -> str:
    """The trusted issuers as the JSON list that the api reads; `[]` is no authentication."""
    issuer = {key: told.text(key, "") for key in ("issuer", "audience", "jwks_uri")}
    given, missing = any(issuer.values()), [key for key, value in issuer.items() if not value]
    off = told.text("authentication", "")
    if off not in ("", NO_AUTHENTICATION):
        raise Refusal(f"authentication={off!r} is unknown; the only value is {NO_AUTHENTICATION!r}")
    if off and given:
        raise Refusal(f"authentication={off} contradicts the issuer and audience that were given too")
    if given and missing:
        raise Refusal(f"{missing[0]} is missing: {_ISSUER_WANTED}")
    if stage != LOCAL and not given and not off:
        raise Refusal(
            f"stage {stage!r} has no issuer, so anybody could use its agents: {_ISSUER_WANTED}, or say "
            f"-c authentication={NO_AUTHENTICATION}"
        )
    _check_issuer(issuer, local=stage == LOCAL)
    return json.dumps([issuer] if given else [])


def _check_issuer(issuer: Mapping[str, str], *, local: bool) -> None:
    """In the clear only on one machine, because the keys that decide who is who are fetched there."""
    schemes = "https?" if local else "https"
    for key in ("issuer", "jwks_uri"):
        if issuer[key] and not re.fullmatch(schemes + r"://\S+", issuer[key]):
            raise Refusal(f"{key}={issuer[key]!r} should be an https address")


def _private_webhooks(told: _Told, *, stage: str) -> bool:
    allowed = told.yes("allow_private_webhooks", default=stage == LOCAL)
    if allowed and stage != LOCAL:
        raise Refusal(
            f"allow_private_webhooks lets a caller reach addresses inside the network, so stage {stage!r} cannot have "
            "it; only stage 'local' can"
        )
    return allowed


def _log_retention(told: _Told) -> str:
    days = _one_of(told.number("log_retention_days", 30), tuple(LOG_RETENTION_DAYS), "log_retention_days")
    return LOG_RETENTION_DAYS[days]


def _alarm_topic(told: _Told) -> str:
    topic = told.text("alarm_topic_arn", "")
    if topic and not re.fullmatch(r"arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+(\.fifo)?", topic):
        raise Refusal(f"alarm_topic_arn={topic!r} should be the ARN of an SNS topic")
    return topic


def _kept_longer_than_waited(told: _Told) -> tuple[timedelta, timedelta]:
    retention = told.number("retention_days", 30, most=3650)
    longest_wait = told.number("max_wait_days", 30, most=LONGEST_EXECUTION_DAYS - 1)
    if retention < longest_wait:
        raise Refusal(
            f"retention_days={retention} is shorter than max_wait_days={longest_wait}: a task must be kept at least "
            "as long as it may wait for an answer"
        )
    return timedelta(days=retention), timedelta(days=longest_wait)


def _one_of(value: Value, known: tuple[Value, ...], key: str) -> Value:
    if value not in known:
        raise Refusal(f"{key}={value!r} should be one of {', '.join(map(str, known))}")
    return value
