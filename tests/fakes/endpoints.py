"""How endpoints are, and where owners point webhooks, in memory."""

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

from a2a_serverless.app.ports import Clock
from a2a_serverless.core.delivery_endpoint import EndpointHealth
from a2a_serverless.testing.memory import FakeClock
from a2a_serverless.types import Owner


class MemoryEndpoints:
    """Endpoints. `clock` decides what was not tried for a day."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or FakeClock()
        self._known: dict[str, tuple[EndpointHealth, datetime]] = {}
        self._places: dict[str, dict[str, datetime]] = {}
        self._lock = threading.Lock()
        self._numbers = count(1)

    def endpoint(self, name: str) -> EndpointHealth:
        health, until = self._known.get(name, (EndpointHealth(), None))
        known = health if until is not None and until > self._clock() else EndpointHealth()
        with self._lock:
            return replace(known, leases=tuple(sorted(self._taken(name).values())))

    def enter(self, name: str, *, places: int, until: datetime) -> str | None:
        with self._lock:
            taken = self._taken(name)
            if len(taken) >= places:
                return None
            place = f"place-{next(self._numbers)}"
            taken[place] = until
            return place

    def save_endpoint(self, name: str, health: EndpointHealth, *, leaving: str = "") -> None:
        self._known[name] = (replace(health, leases=()), self._clock() + timedelta(days=1))
        with self._lock:
            self._taken(name).pop(leaving, None)

    def _taken(self, name: str) -> dict[str, datetime]:
        known = self._places.get(name, {})
        self._places[name] = {place: until for place, until in known.items() if until > self._clock()}
        return self._places[name]


class MemoryHosts:
    """WebhookHosts."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[Owner, str], set[str]] = {}

    def admit(self, owner: Owner, host: str, *, most: int, now: datetime) -> bool:
        hosts = self._hosts.setdefault((owner, f"{now:%Y-%m-%dT%H}"), set())
        if host not in hosts and len(hosts) >= most:
            return False
        hosts.add(host)
        return True
