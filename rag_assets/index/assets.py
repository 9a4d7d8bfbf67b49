"""The index's assets: vectors of both domains, and the two in one table."""

import dagster as dg

from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.index import checks
from rag_assets.lineage import step_assets


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The assets that turn texts into searchable tables, with their checks."""
    assets = dg.Definitions(assets=step_assets(config, steps, room="index"))
    return dg.Definitions.merge(assets, checks.definitions(config))
