"""The issuer's keys, kept: no request can make us fetch more than once a minute, and an outage does not forget them.

The set belongs to the one configured address. Nothing in a token names where keys come from.
"""

import logging
import re
import threading
from typing import Final

from .https import DOCUMENT_CAP, Exchange, ExchangeFailed, HttpAnswer, HttpRequest, exchange
from .keys import Key, KeySet, NoKey, load_cryptography, read_key_set

logger = logging.getLogger("a2a_receiver")

MIN_TTL: Final = 5 * 60
MAX_TTL: Final = 24 * 3600
"""Seconds between which `Cache-Control: max-age` is honoured; without one the lower."""
STALE_IF_ERROR: Final = 24 * 3600
"""Seconds that keys outlive their freshness when the issuer cannot be asked."""
REFRESH_INTERVAL: Final = 60
"""Seconds between two fetches, whoever causes them: any number of unknown kids costs one fetch a minute."""
COLD_RETRY: Final = 10
"""The same while no keys are held at all: there is nothing to serve in the meantime."""
ABSENT_TTL: Final = 5 * 60
"""Seconds that a kid which a fresh set lacked is refused without another look."""
_COLD_WAIT: Final = 6.0
"""Seconds to wait for somebody else's first fetch: a little more than an exchange may take."""

_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=([0-9]{1,9})(?:$|[\s,;])", re.IGNORECASE)


class JwksCache:
    """Thread-safe. One fetch at a time; while it runs, known keys answer and unknown ones are told to wait."""

    def __init__(self, url: str, *, ask: Exchange = exchange) -> None:
        """Keys published at `url` (https), asked for by `ask`, which tests replace."""
        load_cryptography()
        self._url = url
        self._ask = ask
        self._flight = threading.Lock()
        self._keys: KeySet | None = None
        self._fresh_until = 0.0
        self._asked_at: float | None = None
        self._failed = False
        self._absent: dict[str, float] = {}

    def find(self, kid: str, alg: str, *, now: float) -> Key | NoKey:
        """The key called `kid` for `alg` at `now` (Unix seconds)."""
        keys = self._held(now=now)
        if keys is None:
            return NoKey.UNAVAILABLE
        found = keys.find(kid, alg)
        if found is not NoKey.UNKNOWN or self._absent.get(kid, 0) > now:
            return found
        return self._find_again(kid, alg, now=now)

    def warm(self, *, now: float) -> bool:
        """Fetch the keys if none are held; call it at start so that the first request need not."""
        return self._held(now=now) is not None

    def _held(self, *, now: float) -> KeySet | None:
        """The keys to go by: fresh, else refreshed, else stale for a day."""
        if self._keys is not None and now < self._fresh_until:
            return self._keys
        self._refresh(now=now, wait=_COLD_WAIT if self._keys is None else 0)
        if now >= self._fresh_until + STALE_IF_ERROR:
            return None
        return self._keys

    def _find_again(self, kid: str, alg: str, *, now: float) -> Key | NoKey:
        """A kid that the held set lacks: perhaps a new key, so look once, within the limit."""
        refreshed = self._refresh(now=now, wait=0)
        found = self._keys.find(kid, alg) if self._keys is not None else NoKey.UNKNOWN
        if found is not NoKey.UNKNOWN:
            return found
        if refreshed:
            self._remember_absent(kid, now=now)
        return NoKey.UNAVAILABLE if self._failed or self._flight.locked() else NoKey.UNKNOWN

    def _refresh(self, *, now: float, wait: float) -> bool:
        """Fetch unless that is too early or somebody is at it; True when the set is new."""
        if not self._flight.acquire(blocking=wait > 0, timeout=wait or -1):
            return False
        try:
            if not self._may_ask(now=now):
                return False
            self._asked_at = now
            return self._fetch(now=now)
        finally:
            self._flight.release()

    def _may_ask(self, *, now: float) -> bool:
        if self._asked_at is None:
            return True
        interval = COLD_RETRY if self._keys is None else REFRESH_INTERVAL
        # A clock set back must not silence us until it catches up.
        return not 0 <= now - self._asked_at < interval

    def _fetch(self, *, now: float) -> bool:
        try:
            keys, lifetime = self._load()
        except Exception as error:  # noqa: BLE001  `ask` is the user's: whatever it raises, held keys go on serving
            self._failed = True
            logger.warning("key set of the issuer could not be loaded: %s", error)
            return False
        self._keys, self._failed = keys, False
        self._fresh_until = now + lifetime
        return True

    def _load(self) -> tuple[KeySet, int]:
        answer = self._ask(HttpRequest("GET", self._url, {"Accept": "application/json"}))
        if answer.status != 200 or len(answer.body) > DOCUMENT_CAP:
            raise ExchangeFailed(f"key set answered {answer.status} with {len(answer.body)} bytes")
        return read_key_set(answer.body), _lifetime(answer)

    def _remember_absent(self, kid: str, *, now: float) -> None:
        """Small by itself: at most one kid per refresh gets here, and the old ones go."""
        self._absent = {known: until for known, until in self._absent.items() if until > now}
        self._absent[kid] = now + ABSENT_TTL


def _lifetime(answer: HttpAnswer) -> int:
    stated = _MAX_AGE.search(answer.headers.get("cache-control", ""))
    return min(max(int(stated.group(1)) if stated else MIN_TTL, MIN_TTL), MAX_TTL)
