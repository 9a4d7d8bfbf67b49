"""The definitions that Dagster loads: all assets, their checks, jobs and schedules.

Each room has its own `dg.Definitions`; here they are merged. Loading imports nothing heavy and
reads only the config, and which variant serves.
"""

import warnings

import dagster as dg

from rag_assets import automation
from rag_assets.config import Config, load
from rag_assets.documents import assets as documents
from rag_assets.evaluation import assets as evaluation
from rag_assets.graph import STEPS
from rag_assets.index import assets as index
from rag_assets.knowledge import assets as knowledge
from rag_assets.laboratory import assets as laboratory
from rag_assets.operations import assets as operations
from rag_assets.questions import assets as questions
from rag_assets.sources import assets as sources
from rag_assets.table_lookup.arm import arms_of
from rag_assets.tables import assets as tables

REFRESHED = (sources, documents, tables, index, knowledge, operations)
"""Rooms whose assets a refresh runs, beside those of evaluation, which is handed its arms."""


def definitions(config: Config) -> dg.Definitions:
    """The whole asset graph that `config` describes.

    Raises:
        ConfigError: Something in it cannot be used.
    """
    automation.check_schedules(config)
    with warnings.catch_warnings():
        # Checks with partitions and shared policies are marked as beta or preview; the tests say
        # what is expected of them.
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        refreshed = dg.Definitions.merge(
            *(room.definitions(config, STEPS) for room in REFRESHED),
            evaluation.definitions(config, STEPS, arms=arms_of),
        )
        return dg.Definitions.merge(
            automation.with_shared_policies(refreshed, config=config),
            automation.definitions(refreshed, config=config),
            automation.with_code(questions.definitions(config, STEPS)),
            automation.with_code(laboratory.definitions(config, STEPS)),
            dg.Definitions(executor=automation.executor_of(config)),
        )


@dg.definitions
def defs() -> dg.Definitions:
    """The graph of `rag_assets.yaml`; an invalid config stops the loading."""
    return definitions(load())
