"""One certificate authority for all tests of the dialler, and nothing left open after any of them."""

from collections.abc import Iterator

import pytest

from tests.unit.webhook import loopback


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> loopback.Authority:
    """Trusted by every dialler of the run."""
    return loopback.Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    yield
    while loopback.opened:
        loopback.opened.pop().close_idle()
