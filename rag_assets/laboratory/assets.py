"""The assets of the laboratory: answers measured, experiments, and models that are trained."""

import dagster as dg

from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.laboratory.answer_evaluation import assets as answer_evaluation
from rag_assets.laboratory.experiments import assets as experiments
from rag_assets.laboratory.training import assets as training


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """The assets and jobs that measure answers, and of all experiments and trainings."""
    return dg.Definitions.merge(
        answer_evaluation.definitions(config, steps),
        experiments.definitions(config, steps),
        training.definitions(config, steps),
    )
