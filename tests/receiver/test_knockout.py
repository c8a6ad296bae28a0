"""Takes out each refusal of the receiver, one at a time, and shows that a case notices."""

import logging
from hashlib import sha256
from types import ModuleType

import pytest

from tests.receiver.harness import Case, Outcome, core, is_right, run
from tests.receiver.kinds import all_cases
from tests.receiver.knockout import SOURCE, Knockout, forget, knockouts, load
from tests.receiver.making import AUDIENCE, ISSUER

NOT_A_REFUSAL = {
    "strict_json: data.count(b'[') + data.count(b'{') <= limit": "a short cut to the same answer",
    "keys: choice isinstance(parsed, dict)": "without it the set fails to load by an exception, as it must",
}
KNOCKOUTS = [knockout for knockout in knockouts() if f"{knockout.module}: {knockout.what}" not in NOT_A_REFUSAL]


@pytest.mark.parametrize("knockout", KNOCKOUTS, ids=lambda knockout: knockout.id)
def test_a_refusal_that_is_taken_out_is_noticed(knockout: Knockout, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    package = load(knockout)
    try:
        assert any(notices(case, package) for case in likely_first(knockout)) or loopback_is_wrong(package)
    finally:
        forget(package)


def likely_first(knockout: Knockout) -> list[Case]:
    """Those that the refusal was for, then some of every kind: most knockouts are noticed soon."""
    mixed = sorted(all_cases(), key=lambda case: sha256(case.id.encode()).digest())
    return sorted(mixed, key=lambda case: (case.reason != knockout.reason, len(case.requests) > 2))


def test_nothing_is_noticed_where_nothing_was_taken_out() -> None:
    whole = load(Knockout("strict_json", 0, "nothing", (SOURCE / "strict_json.py").read_text(), ""))
    try:
        assert [case.id for case in all_cases() if notices(case, whole)] == []
        assert not loopback_is_wrong(whole)
    finally:
        forget(whole)


def notices(case: Case, package: ModuleType) -> bool:
    """Whether the case comes out otherwise than it should, or is refused for another reason."""
    try:
        outcome = run(case, core, package)
    except Exception:  # noqa: BLE001  a crash is as wrong as it gets
        return True
    return not is_right(case, outcome) or gave_another_reason(case, outcome) or outcome_is_odd(outcome)


def gave_another_reason(case: Case, outcome: Outcome) -> bool:
    fetched_too_often = case.max_jwks_fetches is not None and outcome.jwks_fetches > case.max_jwks_fetches
    return fetched_too_often or (case.reason != "" and outcome.reasons[-1:] != [case.reason])


def outcome_is_odd(outcome: Outcome) -> bool:
    """Hints in a nudge are text or not there, whatever the body held."""
    hints = [hint for nudge in outcome.nudges for hint in (nudge.context_id, nudge.state)]
    return not all(hint is None or isinstance(hint, str) for hint in hints)


def loopback_is_wrong(package: ModuleType) -> bool:
    """http is for loopback, where it was allowed, and for nothing else."""
    for issuer, is_fine in (
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8000", True),
        ("http://a2a.example.com", False),
        ("http://127.0.0.1.example.com", False),
        (ISSUER, True),
    ):
        try:
            package.Strict(issuer=issuer, audience=AUDIENCE, allow_loopback_http=True)
        except package.ConfigError:
            if is_fine:
                return True
        else:
            if not is_fine:
                return True
    return False
