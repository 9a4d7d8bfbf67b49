"""What a refresh works with: a table, its inputs, and the code that turns inputs into rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeAlias

import pyarrow as pa

from rag_assets.change.changing_inputs import ChangingInputs
from rag_assets.change.difference import INPUTS
from rag_assets.change.quarantine import Failure
from rag_assets.columns.arrow_sql import query
from rag_assets.columns.sql import quoted
from rag_assets.store import Store

Inputs: TypeAlias = pa.Table | pa.RecordBatchReader | ChangingInputs
"""What a target is made from: key and fingerprint of each input, of schema `INPUTS`."""


@dataclass(frozen=True, slots=True)
class Target:
    """A derived table."""

    name: str
    schema: pa.Schema
    key: str
    """Column that names a row."""
    group: str
    """Column that names the row's input; the same as `key` where one input gives one row."""

    @property
    def inputs(self) -> str:
        """What its inputs are, for people: `documents`, `rows`."""
        return f"{self.group.removesuffix('_id').removesuffix('_key')}s"


@dataclass(frozen=True, slots=True)
class Batch:
    """What a transform yields: the complete output of some inputs."""

    rows: pa.Table
    """Content columns of the target; `refresh` fills in the system columns."""
    done: Sequence[str]
    """Keys of the inputs that `rows` covers completely."""
    failed: Sequence[Failure] = ()
    """Inputs that gave nothing, or, when also in `done`, not everything."""


class Transform(Protocol):
    """Turns changed inputs (schema `INPUTS`) into batches of output."""

    def __call__(self, changed: pa.Table, /) -> Iterable[Batch]:
        """Yield the complete output of every changed input, in batches of bounded size."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """A table and what it is made from: what `decide` takes. Nothing of it writes anything."""

    store: Store
    target: Target
    made_from: Callable[[], Mapping[str, str]]
    """What the table is made from, by name: the data version of each table that it reads, and its
    recipe. It is asked for at first, and again once the inputs are read. If a complete pass was
    made from the same, nothing is read."""
    inputs: Callable[[], Inputs]
    """Reads the inputs, of schema `INPUTS`, at once or in batches, and writes nothing. The
    fingerprint of an input covers its content and the recipe: see `with_recipe`. Of inputs that can
    tell what changed (`ChangingInputs`), only that is read."""
    recipe: Mapping[str, str] = field(default_factory=dict)
    """What the recipe consists of, in words and by name: kept, to say later what changed."""
    lost: Callable[[], str | None] | None = None
    """Says why the table has to be built again although its rows stand: side tables are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Derivation):
    """A table, its inputs and the code that makes its rows: what `refresh` takes."""

    land: Callable[[], None] | None = None
    """Fetches from a source what the inputs are read from. Only `refresh` calls it, once, and not
    where nothing changed: `decide` makes do with what is known without."""
    transform: Transform
    """Turns the changed inputs into batches. It may read what the target holds, since old rows are
    deleted only when their replacement is committed."""
    settle: Callable[[], None] | None = None
    """Brings the side tables in line with the target, once all is committed. Until it has returned,
    the pass does not count as finished."""
    keeps_last_good: bool = False
    """Whether an input that gives nothing any more leaves what its last good version gave, until it
    gives something or is gone. Its failure says since when it is stale."""
    ended: Callable[[], None] | None = None
    """Notes how the sources were found, at the end of each pass, one with nothing to do too. The
    lock of the table is still held."""

    @classmethod
    def of(
        cls,
        derivation: Derivation,
        transform: Transform,
        *,
        inputs: Callable[[], Inputs] | None = None,
        settle: Callable[[], None] | None = None,
        keeps_last_good: bool = False,
    ) -> Self:
        """What is derived, with the code that makes it; `inputs` in place of its own, if given."""
        return cls(
            store=derivation.store,
            target=derivation.target,
            made_from=derivation.made_from,
            inputs=inputs or derivation.inputs,
            recipe=derivation.recipe,
            lost=derivation.lost,
            transform=transform,
            settle=settle,
            keeps_last_good=keeps_last_good,
        )


def with_recipe(table: pa.Table, *, key: str, content: str, recipe: str) -> pa.Table:
    """Inputs of a derived table: `key` and the fingerprint of its `content` under a `recipe`.

    Returns a table of schema `INPUTS`; `content` is the column that names what the input says.
    """
    return query(
        f"SELECT {key} AS key, sha256({content} || ':' || {quoted(recipe)}) AS fingerprint "
        "FROM inputs",
        inputs=table,
    ).cast(INPUTS)
