"""The command line: `a2a-serverless`."""

from a2a_serverless.cli.main import main

__all__ = ["main"]
