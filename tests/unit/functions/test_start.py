"""How the function of the api starts."""

import gc

import pytest

from functions.start import is_on_lambda, starting


@pytest.fixture(autouse=True)
def _thawed() -> None:
    gc.unfreeze()


def test_no_garbage_is_looked_for_while_a_function_starts() -> None:
    with starting():
        assert not gc.isenabled()

    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


def test_garbage_is_looked_for_again_after_a_start_that_failed() -> None:
    with pytest.raises(ImportError), starting():
        raise ImportError("an agent's library is missing")

    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with starting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_only_lambda_says_how_it_starts_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_LAMBDA_INITIALIZATION_TYPE", raising=False)
    assert not is_on_lambda()

    monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
    assert is_on_lambda()
