"""The assets of the room: rows with ids, and rows as text."""

import dagster as dg

from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.lineage import step_assets
from rag_assets.tables import checks


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The assets `table_rows` and `serialized_rows`, with their checks."""
    assets = dg.Definitions(assets=step_assets(config, steps, room="tables"))
    return dg.Definitions.merge(assets, checks.definitions(config))
