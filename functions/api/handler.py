"""api: API Gateway (HTTP API) -> Lambda. Every A2A call, in both versions and bindings, and the cards."""

from typing import Any

from functions.start import is_on_lambda, starting

with starting():
    from a2a_serverless.protocol.apigateway import answer
    from functions.api.parts import service
    from functions.logs import log_as

    log = log_as("api")
    if is_on_lambda():
        service()


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Answer one request (payload format 2.0)."""
    return answer(service(), event)
