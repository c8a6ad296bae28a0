"""The one code asset of all functions, staged as a folder without Docker."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_SHIPPED = ("__pycache__", "*.pyc", "*.md")


def stage(target: Path, *, runtime_requirements: bool) -> Path:
    """Fill `target` with what the functions import, and return it."""
    shutil.copytree(ROOT / "functions", target / "functions", ignore=shutil.ignore_patterns(*NOT_SHIPPED))
    shutil.copytree(
        ROOT / "shared" / "a2a_serverless",
        target / "a2a_serverless",
        ignore=shutil.ignore_patterns(*NOT_SHIPPED, "local", "cli"),
    )
    return target
