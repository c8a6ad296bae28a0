"""api: API Gateway (HTTP API) -> Lambda."""
