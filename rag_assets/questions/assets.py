"""The asset `generated_questions`, and the job that makes questions."""

import dagster as dg

from rag_assets import lineage
from rag_assets.change.steps import StepList
from rag_assets.config import Config
from rag_assets.evaluation.steps import QUESTION_SETS
from rag_assets.questions.step_tables import GENERATED

JOB = "make_questions"


def definitions(config: Config, steps: StepList) -> dg.Definitions:
    """`generated_questions`, which no refresh makes: people run its job, or materialize it."""
    job = dg.define_asset_job(
        config.dagster.name(JOB),
        selection=[lineage.key_of(config, each) for each in (GENERATED.asset, QUESTION_SETS.name)],
        description="Makes questions from documents and tables; only those of what changed. The "
        "same as `rag-assets questions make`.",
        executor_def=lineage.in_process(config),
        tags=lineage.run_tags(config),
    )
    assets = lineage.step_assets(config, steps, room="questions")
    return dg.Definitions(assets=assets, jobs=[job])
