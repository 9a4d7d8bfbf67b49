"""The assets of the laboratory: experiments, and models that are trained."""

import dagster as dg

from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.laboratory.experiments import assets as experiments
from rag_assets.laboratory.training import assets as training


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The assets and jobs of all experiments and trainings of the config."""
    return dg.Definitions.merge(
        experiments.definitions(config, steps), training.definitions(config, steps)
    )
