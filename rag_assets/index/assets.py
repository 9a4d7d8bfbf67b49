"""The index's assets: vectors of both domains, and the two in one table."""

import dagster as dg

from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.lineage import step_assets


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The assets that turn texts into searchable tables, one partition for each variant."""
    return dg.Definitions(assets=step_assets(config, steps, room="index"))
