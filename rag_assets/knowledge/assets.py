"""The asset of the room: the names in each unit."""

import dagster as dg

from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.knowledge import checks
from rag_assets.lineage import step_assets


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The asset `unit_links`, with its checks, where the config asks for it."""
    assets = dg.Definitions(assets=step_assets(config, steps, room="knowledge"))
    return dg.Definitions.merge(assets, checks.definitions(config))
