"""The assets of the room: elements, descriptions of figures, and chunks of each document."""

import dagster as dg

from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.documents import checks
from rag_assets.lineage import step_assets


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """`parsed_documents` and `chunks` with their checks; `figure_descriptions` with a model."""
    assets = dg.Definitions(assets=step_assets(config, steps, room="documents"))
    return dg.Definitions.merge(assets, checks.definitions(config))
