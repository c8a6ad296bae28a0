"""The webhooks of a task: create, get, list, delete. Secrets go in and never come out."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from a2a_serverless.app.host import Host
from a2a_serverless.app.retry import change_task
from a2a_serverless.core.advance import advance
from a2a_serverless.core.head import Change, Head, Rules
from a2a_serverless.core.push import PushConfig, PushSecrets, WireVersion
from a2a_serverless.core.registration import Authentication, Refused, check_authentication, check_token
from a2a_serverless.errors import InvalidParams, PushNotificationNotSupported, TaskNotFound
from a2a_serverless.types import Caller, Owner, TaskKey, TaskPushNotificationConfig

CONFIG_ID: Final = re.compile(r"[A-Za-z0-9._~-]{1,128}")


def check(host: Host, caller: Caller, wanted: TaskPushNotificationConfig) -> None:
    """Refuse a config that cannot be delivered to.

    Raises:
        PushNotificationNotSupported: this deployment sends no webhooks.
        InvalidParams: the URL, a secret or the id is not of the form it must have, the address wants no webhooks, or
            the caller has pointed webhooks at too many hosts.
    """
    _check_supported(host)
    url = host.check_url(wanted.url)
    if wanted.id and not CONFIG_ID.fullmatch(wanted.id):
        raise InvalidParams.of("id", "at most 128 letters, digits, '.', '_', '~' and '-'")
    _check_secrets(wanted)
    _count_host(host, caller.owner, url)
    host.ask_owner(url)


def _check_supported(host: Host) -> None:
    if not host.push_supported:
        raise PushNotificationNotSupported("this agent sends no push notifications")


def _count_host(host: Host, owner: Owner, url: str) -> None:
    most, now = host.rules.webhook_hosts, host.clock()
    name = urlsplit(url).hostname or ""
    if host.webhook_hosts and not host.webhook_hosts.admit(owner, name, most=most, now=now):
        again = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        raise InvalidParams.of(
            "url", f"must be at one of the {most} hosts of this hour, or be sent after {again:%H:%M}Z"
        )


def _check_secrets(wanted: TaskPushNotificationConfig) -> None:
    for checked in (_authentication(wanted), check_token(wanted.token or None)):
        if isinstance(checked, Refused):
            raise InvalidParams.of(checked.field, checked.wanted)


def _authentication(wanted: TaskPushNotificationConfig) -> Authentication | Refused | None:
    brought = wanted.authentication
    return check_authentication(brought.scheme, brought.credentials) if brought else None


def prepared(
    host: Host,
    key: TaskKey,
    wanted: TaskPushNotificationConfig,
    version: WireVersion,
    now: datetime,
    *,
    unnamed: str,
) -> PushConfig:
    """A checked config with an id, its URL normalised; secrets are sealed when it is stored.

    `unnamed` is the id of one that has none. Clients of 0.3 know one config per task, named like it, unless they name
    it themselves.
    """
    authentication = _authentication(wanted)
    return PushConfig(
        id=wanted.id or (key.task_id if version is WireVersion.V0_3 else unnamed),
        url=host.check_url(wanted.url),
        scheme=authentication.scheme if isinstance(authentication, Authentication) else "",
        has_token=bool(wanted.token),
        wire_version=version,
        created_at=now,
    )


def store(host: Host, key: TaskKey, config: PushConfig, wanted: TaskPushNotificationConfig | None) -> PushConfig:
    """Seal what is secret and store the config."""
    secrets = _secrets(wanted)
    sealed = host.sealer.seal(secrets, key, config.id) if secrets != PushSecrets() else b""
    stored = replace(config, sealed=sealed)
    host.push.put_config(key, stored)
    return stored


def _secrets(wanted: TaskPushNotificationConfig | None) -> PushSecrets:
    if wanted is None:
        return PushSecrets()
    credentials = wanted.authentication.credentials if wanted.authentication else None
    return PushSecrets(credentials=credentials or "", token=wanted.token)


def check_room(head: Head, config: PushConfig, rules: Rules) -> None:
    """Refuse a config that would be one too many.

    Raises:
        InvalidParams: the task has as many as it may.
    """
    if config.id not in head.push and len(head.push) >= rules.push_configs:
        raise InvalidParams.of("taskPushNotificationConfig", f"a task has at most {rules.push_configs} webhooks")


def create(
    host: Host, caller: Caller, task_id: str, wanted: TaskPushNotificationConfig, version: WireVersion
) -> TaskPushNotificationConfig:
    """CreateTaskPushNotificationConfig: store, or replace by id, and tell the webhook where the task stands.

    Raises:
        A2AError: see `check`; TaskNotFound for a task that is not the caller's.
    """
    (key, _), now = _task(host, caller, task_id), host.clock()
    check(host, caller, wanted)
    config = prepared(host, key, wanted, version, now, unnamed=host.ids())

    def decide(head: Head) -> Change:
        check_room(head, config, host.rules)
        store(host, key, config, wanted)
        if config.id in head.push:
            return _told_again(head, rules=host.rules, now=now)
        return advance(head, rules=host.rules, now=now, push=(*head.push, config.id))

    change_task(host.tasks, key, decide, now=now)
    return config.shown(task_id)


def get(host: Host, caller: Caller, task_id: str, config_id: str) -> TaskPushNotificationConfig:
    """GetTaskPushNotificationConfig.

    Raises:
        TaskNotFound: no such task, or no such config (SPEC 3.1.8).
    """
    key, head = _task(host, caller, task_id)
    config = host.push.config(key, config_id)
    if config is None or config_id not in head.push:
        raise TaskNotFound("the task has no push notification config with this id")
    return config.shown(task_id)


def registered(host: Host, caller: Caller, task_id: str) -> tuple[PushConfig, ...]:
    """The webhooks of a task, oldest first, then by id.

    A config counts once the task names it: one that was stored for a write that then lost its race does not.

    Raises:
        TaskNotFound: no such task.
    """
    key, head = _task(host, caller, task_id)
    return tuple(config for config in host.push.configs(key) if config.id in head.push)


def list_all(host: Host, caller: Caller, task_id: str) -> tuple[TaskPushNotificationConfig, ...]:
    """ListTaskPushNotificationConfigs, whole: as its owner may read it."""
    return tuple(config.shown(task_id) for config in registered(host, caller, task_id))


def delete(host: Host, caller: Caller, task_id: str, config_id: str) -> None:
    """DeleteTaskPushNotificationConfig: for good, and again without complaint (SPEC 3.1.10)."""
    (key, _), now = _task(host, caller, task_id), host.clock()

    def decide(head: Head) -> Change | None:
        if config_id not in head.push:
            return None
        kept = tuple(known for known in head.push if known != config_id)
        return advance(head, rules=host.rules, now=now, push=kept)

    change_task(host.tasks, key, decide, now=now)
    host.push.delete_config(key, config_id)


def _told_again(head: Head, *, rules: Rules, now: datetime) -> Change:
    """A new number for where the task stands: a webhook that was replaced has heard of nothing yet."""
    seq = head.version + 1 if head.nudge_seq else 0
    return advance(head, rules=rules, now=now, nudge_seq=seq)


def _task(host: Host, caller: Caller, task_id: str) -> tuple[TaskKey, Head]:
    _check_supported(host)
    key = TaskKey(host.scope(caller), task_id)
    head = host.tasks.head(key, now=host.clock())
    if head is None:
        raise TaskNotFound
    return key, head
