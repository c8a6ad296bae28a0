"""Staging without a package index: the sources alone, for every stage."""

from pathlib import Path

from cdk.code import stage
from cdk.context import Choices


def source_only(choices: Choices, folder: Path) -> Path:
    """Stage what a local run stages."""
    return stage(folder, runtime_requirements=False, agent_source=choices.agent_source)
