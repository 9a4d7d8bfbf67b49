"""The definitions that Dagster loads: all assets, their checks, jobs and schedules.

Each room has its own `dg.Definitions`; here they are merged. Loading imports nothing heavy and
reads only the config, and which variant serves.
"""

import warnings
from collections.abc import Sequence

import dagster as dg
from pydantic import ValidationError

from rag_assets import automation, resources
from rag_assets.config import Config, ConfigError, Naming, load
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


def definitions(
    config: Config,
    *,
    key_prefix: str | Sequence[str] | None = None,
    executor: bool | None = None,
) -> dg.Definitions:
    """The whole asset graph that `config` describes, alone or as a part of a project.

    Merge it with definitions of one's own, or with those of other indexes: each has a state folder
    and a prefix of its own. See docs/dagster-project.md.

    Args:
        config: What is indexed, how, and where the state lies.
        key_prefix: Begins the keys of all assets, and the names of all else; what the config says
            unless given. Commands know the config alone: name it there as well.
        executor: Whether the graph sets an executor, which two parts of one project must not; what
            the config says unless given.

    Raises:
        ConfigError: Something in it cannot be used.
    """
    config = _named(config, key_prefix, executor=executor)
    automation.check_schedules(config)
    with warnings.catch_warnings():
        # Checks with partitions and shared policies are marked as beta or preview; the tests say
        # what is expected of them.
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        refreshed = dg.Definitions.merge(
            *(room.definitions(config, STEPS) for room in REFRESHED),
            evaluation.definitions(config, STEPS, arms=arms_of),
            dg.Definitions(resources=resources.resources_of(config)),
        )
        return dg.Definitions.merge(
            automation.with_shared_policies(refreshed, config=config),
            automation.definitions(refreshed, config=config),
            automation.with_code(questions.definitions(config, STEPS), config=config),
            automation.with_code(laboratory.definitions(config, STEPS), config=config),
            dg.Definitions(executor=automation.executor_of(config)),
        )


def _named(
    config: Config, key_prefix: str | Sequence[str] | None, *, executor: bool | None
) -> Config:
    """`config` with what a caller says of names and executor.

    Raises:
        ConfigError: The prefix cannot be one.
    """
    prefix = key_prefix if isinstance(key_prefix, str | None) else "/".join(key_prefix)
    said = {"key_prefix": prefix, "executor": executor}
    given = {name: value for name, value in said.items() if value is not None}
    try:
        names = Naming.model_validate({**config.dagster.model_dump(), **given})
    except ValidationError as error:
        raise ConfigError(
            f"key_prefix = {prefix!r}: give lowercase letters and digits with single _ between "
            "them, such as handbook, or several such parts, such as team/handbook"
        ) from error
    return config.model_copy(update={"dagster": names})


@dg.definitions
def defs() -> dg.Definitions:
    """The graph of `rag_assets.yaml`; an invalid config stops the loading."""
    return definitions(load())
