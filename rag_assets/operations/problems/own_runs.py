"""Which of an instance's runs and assets are those of one index.

In a Dagster project of somebody's, one instance has the runs of several indexes and of jobs that
are nothing to them. What commands, alerts and clean-up look at, close or delete is their own alone.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import INDEX_TAG, Config
from rag_assets.config.naming import (
    BACKFILL_JOB,
    CLEAN_UP_JOB,
    INSTANCE_FOLDER,
    NIGHTLY_JOB,
    PROMOTE_JOB,
    ROLLBACK_JOB,
)
from rag_assets.graph import STEPS
from rag_assets.operations.problems.current import RECALL_NOTICES, SERVING_INDEX
from rag_assets.sources.steps import EXPORTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import dagster as dg

ENDED = ("SUCCESS", "FAILURE", "CANCELED")
"""The states in which a run has ended."""
ASSET_JOB = "__ASSET_JOB"
"""How Dagster calls the job of a run of single assets."""
EXPERIMENTS = "experiments"
"""Name of the job of experiments, and first part of the keys of its assets."""
JOBS = frozenset(
    {
        NIGHTLY_JOB,
        BACKFILL_JOB,
        CLEAN_UP_JOB,
        PROMOTE_JOB,
        ROLLBACK_JOB,
        "plan",
        "doctor",
        "explain",
        "make_questions",
        "evaluate_answers",
        "answer_experiments",
        "training",
        EXPERIMENTS,
    }
)
ASSETS = frozenset(
    {
        *(kind.name for kind in STEPS.kinds),
        "source",
        EXPORTS,
        EXPERIMENTS,
        SERVING_INDEX,
        RECALL_NOTICES,
        "retrieval_evaluation",
        "answer_evaluation",
        "retriever_weights",
        "reranker_weights",
    }
)
"""How the names of assets begin."""


def is_own_asset(key: "dg.AssetKey", config: Config) -> bool:
    """Whether an asset is one of this index, whatever its config names now."""
    return next(iter(config.dagster.own_path(key.path)), None) in ASSETS


def is_own_job(job: str, config: Config) -> bool:
    """Whether a job is one of this index, by its name."""
    return job in map(config.dagster.name, JOBS)


def is_own_run(run: "dg.DagsterRun", config: Config, instance: "dg.DagsterInstance") -> bool:
    """Whether a run is one of this index: by its job, or by the assets that it was to make.

    In the instance of its state folder, an index without a prefix has all runs but those of others.
    In any other instance it has none of other code locations, whose jobs may be called like its.
    """
    prefix, origin = config.dagster.key_prefix, run.remote_job_origin
    folder = config.state_dir / INSTANCE_FOLDER
    is_of_the_state = Path(instance.root_directory).resolve() == folder.resolve()
    is_elsewhere = origin is not None and origin.location_name != config.dagster.code_location
    if is_elsewhere and not (prefix or is_of_the_state):
        return False
    if run.job_name == ASSET_JOB and run.asset_selection:
        return any(is_own_asset(key, config) for key in run.asset_selection)
    if is_own_job(run.job_name, config):
        return run.tags.get(INDEX_TAG, prefix) == prefix
    return is_of_the_state and not (prefix or INDEX_TAG in run.tags)


def own_runs(
    runs: "Iterable[dg.DagsterRun]", config: Config, instance: "dg.DagsterInstance"
) -> "list[dg.DagsterRun]":
    """Those of `runs` that are of this index."""
    return [run for run in runs if is_own_run(run, config, instance)]
