"""sweep: EventBridge schedule -> Lambda. Finds what does not go on by itself, and puts it back."""

from typing import Any

from a2a_serverless.app.sweep import sweep
from functions import signing, wiring
from functions.logs import log_as
from functions.sweep.parts import sweeper

log = log_as("sweep")


def handler(_event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Sweep once; answers how many tasks were looked at and what was put back."""
    signing.kept_fresh(wiring.clock())
    swept = sweep(sweeper())
    if swept.repaired:
        log.warning("the sweep put tasks back", extra={"repaired": swept.repaired})
    return {"lookedAt": swept.looked_at, "repaired": len(swept.repaired)}
