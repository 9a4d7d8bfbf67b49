"""The asset `generated_questions`."""

import dagster as dg

from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.lineage import step_assets


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """`generated_questions`, which people materialize when they want questions made."""
    return dg.Definitions(assets=step_assets(config, steps, room="questions"))
