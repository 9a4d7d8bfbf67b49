"""Steps: what a room hands out for each of its tables, and the list that they make.

A `StepKind` says all that the graph, a refresh, `plan`, `explain`, `status` and `doctor` need to
know of a table; a `Step` is that table for one variant. The kinds stand in the `steps.py` of their
rooms, and `rag_assets.graph` lists them once: a new step is a kind in its room and a line there.
What lies below that list is handed it by whoever calls.

The tables of one variant are addressed by its settings (`config.addresses`), so variants share
steps: the second one finds nothing to do.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal, TypeAlias

import pyarrow as pa

from rag_assets.change.data_versions import current_version
from rag_assets.change.sync import Report
from rag_assets.change.tracing import UnitStep, UnitTrace
from rag_assets.change.work import Derivation, Target
from rag_assets.config import Config, Variant
from rag_assets.identity import Canonical
from rag_assets.reports.metadata_values import Value
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet

Domain: TypeAlias = Literal["document", "table"]
Log: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Input:
    """A table that a step reads."""

    asset: str
    """The asset of the step that keeps it."""
    table: str
    """Name of the table in the store."""
    key: str
    """Column that names a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable:
    """The table of a step, and what it is made from."""

    asset: str
    """The asset that keeps it, as a person writes its key."""
    table: str
    """Name of the table in the store."""
    key: str
    """Column that names a row."""
    group: str
    """Column that names the input of a row; the key where one input gives one row."""
    schema: pa.Schema
    """The columns of the table, without those that a model adds."""
    revision: int | str
    """The revision of the code: raised when the same inputs and settings give other rows."""
    inputs: tuple[Input, ...] = ()
    """The tables that it reads."""
    recipe: Canonical = None
    """The settings that it depends on. What is found only where it runs, such as the versions of
    parsers and the files of models, its room adds."""
    side_tables: tuple[str, ...] = ()
    """Tables that are written along with it and lie beside it."""

    @property
    def as_input(self) -> Input:
        """The table as another step reads it."""
        return Input(self.asset, self.table, self.key)

    def target(self, schema: pa.Schema | None = None) -> Target:
        """The table as `refresh` takes it; with other columns than `schema`, if given."""
        columns = self.schema if schema is None else schema
        return Target(self.table, columns, key=self.key, group=self.group)

    @property
    def tables(self) -> tuple[str, ...]:
        """The table and those beside it."""
        return (self.table, *self.side_tables)

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """Table and key column of each input."""
        return tuple((each.table, each.key) for each in self.inputs)


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a table, read when they are to be shown."""

    columns: Sequence[str]
    """What is shown: never a hidden column, nor a key or an id that is made of one."""
    read: Callable[[], pa.Table | None]
    """The rows; None if there are none."""


@dataclass(frozen=True, slots=True)
class ShownContent:
    """What is shown of what a table holds, beside the counts of a pass."""

    names: Collection[str]
    """The names of all values that `describe` may give."""
    describe: Callable[[], Mapping[str, Value]]
    """The values by name; asked for where the table changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What a step did to its table, and what is shown of it."""

    report: Report
    schema: pa.Schema
    """The columns of the table."""
    columns: Sequence[str] = ()
    """Columns of which the first rows are shown."""
    preview: Preview | None = None
    """First rows that are more than some columns."""
    content: ShownContent | None = None
    about: Mapping[str, Value] = field(default_factory=dict)
    """What is to be said of this pass, by name."""
    is_renewed: bool = True
    """Whether the source of the table could be read: if not, its asset stays as old as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """What a step of one variant works on."""

    store: Store
    config: Config
    variant: str
    """The variant that is refreshed; any variant for a step that all of them share."""
    steps: "StepList"
    log: Log = lambda _: None
    """Receives progress, one line at a time."""
    warn: Log = lambda _: None
    """Receives what went wrong without stopping the step."""
    retry: bool = False
    """Whether to try again also what failed on its own content, or at a limit."""
    allow_shrink: bool = False
    """Accept that a source lost more than half of its items."""

    @property
    def recipe(self) -> Variant:
        """The recipe of the variant."""
        return self.config.variant(self.variant)


class StepKind(ABC):
    """What a room hands out for one of its tables."""

    name: ClassVar[str]
    """The asset that keeps the table, as a person writes its key."""
    room: ClassVar[str]
    """The folder of its code, and the group of its asset."""
    about: ClassVar[str]
    """The description of the asset."""
    counts: ClassVar[str]
    """The plural of an input: files, documents, figures, rows or units."""
    holds: ClassVar[str] = "units"
    """The plural of a row of the table, for people."""
    domain: ClassVar[Domain | None] = None
    """The domain of all rows of the table; None where it has rows of both."""
    labels: ClassVar[frozenset[str]] = frozenset({"lancedb"})
    """What the table is kept in and made with, as the UI shows it."""
    would_change: ClassVar[str] = "an edit of what it is made from"
    """What would give a unit another row here, for people."""

    has_variants: ClassVar[bool] = True
    """Whether it depends on a variant; if not, there is one for all of them."""
    reads_sources: ClassVar[bool] = False
    """Whether it is read from where people change it, not made from tables of the state."""
    is_planned: ClassVar[bool] = True
    """Whether a refresh of a variant needs it, so that `plan` tells of it."""
    is_optional: ClassVar[bool] = False
    """Whether there may be no table, since there is nothing to put into it."""
    is_retried: ClassVar[bool] = False
    """Whether it begins once more after an error: its source or its server may be back."""
    fails_beyond_input: ClassVar[bool] = False
    """Whether a failure may have a cause outside of the input: a helper, a model, a setting."""
    uses_gpu: ClassVar[bool] = False
    """Whether it holds a model in memory: such steps take turns."""
    completes: ClassVar[bool] = False
    """Whether a variant is complete with it: its table is the one that is searched."""

    def is_made(self, config: Config) -> bool:  # noqa: ARG002 - for kinds that ask
        """Whether `config` asks for it."""
        return True

    @abstractmethod
    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The table for the variant with this recipe, and what it is made from."""

    def step(self, config: Config, recipe: Variant) -> "Step":
        """The step for the variant with this recipe."""
        table = self.table(config, recipe)
        return Step(kind=self, **{each.name: getattr(table, each.name) for each in fields(table)})

    @abstractmethod
    def refresh(self, work: StepContext) -> StepResult:
        """Bring its table up to date."""

    @abstractmethod
    def derivation(self, work: StepContext) -> Derivation | None:
        """What its table is made from; None where that is unknown yet, a source, or a wish."""

    def reads(self, config: Config) -> Sequence[Sequence[str]]:  # noqa: ARG002 - for kinds that ask
        """Keys of the assets that it reads and that are no steps."""
        return ()

    def labels_of(self, config: Config) -> frozenset[str]:  # noqa: ARG002 - for kinds that ask
        """`labels`, and what depends on the config."""
        return self.labels

    def held_in(self, complete_set: CompleteSet) -> str | None:  # noqa: ARG002 - for kinds that ask
        """The name of its table in a complete set; None where the set does not tell."""
        return None

    def traced(self, trace: UnitTrace) -> UnitStep | None:
        """What its table holds of a unit; None where that is not known.

        Unless a kind says more, it is the row of the unit, or those of the unit's document.
        """
        table = self.held_in(trace.complete_set) or trace.table_of(self.name)
        if table is None or not trace.store.exists(table):
            return None
        key = trace.keys[self.name]
        value = trace.unit["document_id" if key == "document_id" else "unit_id"]
        return trace.step(self.name, table, key=key, value=value, would_change=self.would_change)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(StepTable):
    """The table of a kind for one variant."""

    kind: StepKind


Steps: TypeAlias = Mapping[str, Step]
"""Steps by their assets, each after those that it is made from."""


class StepList:
    """All kinds, in the order in which their tables are built."""

    def __init__(self, *kinds: StepKind) -> None:
        self.kinds: Sequence[StepKind] = kinds

    def shared(self, config: Config) -> Steps:
        """The steps of which there is one for all variants."""
        recipe = next(iter(config.variants.values()))
        made = (kind for kind in self.kinds if not kind.has_variants and kind.is_made(config))
        return {kind.name: kind.step(config, recipe) for kind in made}

    def of_variant(self, config: Config, variant: str) -> Steps:
        """The steps that make the tables of `variant`, without the shared ones.

        Raises:
            ConfigError: The config has no such variant.
        """
        recipe = config.variant(variant)
        made = (kind for kind in self.kinds if kind.has_variants and kind.is_made(config))
        return {kind.name: kind.step(config, recipe) for kind in made}

    def all_of(self, config: Config, *variants: str) -> Iterator[Step]:
        """The shared steps, then those of `variants`; of all variants, if none is named."""
        yield from self.shared(config).values()
        for variant in variants or config.variants:
            yield from self.of_variant(config, variant).values()

    def in_order(self, config: Config, variant: str) -> Steps:
        """The shared steps and those of `variant`, in the order in which they are built."""
        steps = {**self.shared(config), **self.of_variant(config, variant)}
        return {kind.name: steps[kind.name] for kind in self.kinds if kind.name in steps}

    def kind(self, asset: str) -> StepKind | None:
        """The kind of the step that keeps an asset; None where no step does."""
        return next((kind for kind in self.kinds if kind.name == asset), None)

    def completing(self, config: Config, variant: str) -> Step:
        """The step whose table is searched: a variant is complete with it."""
        steps = self.of_variant(config, variant).values()
        return next(step for step in steps if step.kind.completes)

    def upstream(self, config: Config, kind: StepKind) -> list[str]:
        """The assets that `kind` is made from and no other of them is: its arrows in the graph."""
        steps = self.in_order(config, next(iter(config.variants)))
        inputs = [each.asset for each in steps[kind.name].inputs]
        indirect = {above for each in inputs for above in _above(steps, each)}
        return [each for each in inputs if each not in indirect]


def made_from(
    store: Store, inputs: Collection[Input], *, recipe: str
) -> Callable[[], Mapping[str, str]]:
    """What a table is made from, by name, as it stands whenever that is asked.

    Args:
        store: Holds the tables.
        inputs: Those that it reads.
        recipe: Fingerprint of everything else that it depends on.
    """

    def parts() -> Mapping[str, str]:
        versions = {each.asset: current_version(store, each.table, key=each.key) for each in inputs}
        return {**versions, "recipe": recipe}

    return parts


def _above(steps: Steps, asset: str) -> Iterator[str]:
    """Everything that a step is made from, directly or not."""
    for each in steps[asset].inputs:
        yield each.asset
        yield from _above(steps, each.asset)
