"""The section `dagster`: what the graph is called in Dagster, and which of its parts it brings.

Several indexes, and assets of other people, may live in one code location. Each index has a prefix
then: it begins the keys of its assets and all its other names. Whoever names something in Dagster,
or looks for it there, asks this section.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from rag_assets.config.base import Section

INDEX_TAG = "rag_assets/index"
"""Tag of the runs of an index that has a prefix, which is its value: limits of queues count by it.
"""
NIGHTLY_JOB = "nightly_refresh"
BACKFILL_JOB = "backfill_variant"
CLEAN_UP_JOB = "clean_up"
PROMOTE_JOB = "promote"
ROLLBACK_JOB = "rollback"
INSTANCE_FOLDER = "dagster"
"""Folder of the state that is Dagster's instance, unless `DAGSTER_HOME` names another."""
GPU_POOL = "gpu"
"""What holds a model in memory takes turns: the instance gives this pool one slot."""
BETWEEN = "__"
"""What separates the prefix from a name that may not have a slash; it is in no name of its own."""


class Naming(Section):
    """How this index is named in Dagster; without a prefix all names are as they stand here."""

    key_prefix: str | None = Field(
        None,
        pattern=r"^[a-z0-9]+(_[a-z0-9]+)*(/[a-z0-9]+(_[a-z0-9]+)*)*$",
        max_length=60,
        description="begins the keys of all assets, such as handbook or team/handbook, and the "
        "names of jobs, schedules, sensors, groups and pools (handbook__promote)",
    )
    executor: bool = Field(
        True,
        description="whether the graph sets the executor of its runs (`execution.steps`); false "
        "leaves them to the executor of the Dagster project that it is part of",
    )
    code_location: str = Field(
        "rag_assets",
        min_length=1,
        description="the code location that shows the runs of commands",
    )

    def path(self, *own: str) -> list[str]:
        """The path of the key of an asset, from the parts of its `own` name."""
        return [*self._parts, *own]

    def own_path(self, path: Sequence[str]) -> tuple[str, ...]:
        """The path of a key without the prefix; empty where the key does not begin with it."""
        parts = self._parts
        return tuple(path[len(parts) :]) if [*path[: len(parts)]] == parts else ()

    def name(self, own: str) -> str:
        """What a job, schedule, sensor, group, pool or op is called that is `own` by itself."""
        return BETWEEN.join([*self._parts, own])

    def own_name(self, name: str) -> str:
        """A name, such as that of a job or a step, without the prefix; `name` if it has none."""
        return name.removeprefix(self.name(""))

    @property
    def tags(self) -> Mapping[str, str]:
        """The tags of each run; none without a prefix."""
        return {INDEX_TAG: self.key_prefix} if self.key_prefix else {}

    @property
    def _parts(self) -> list[str]:
        return self.key_prefix.split("/") if self.key_prefix else []
