"""What must hold of the vectors before they answer queries."""

from dataclasses import dataclass

import dagster as dg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import lineage, quality, sync
from rag_assets.config import Config
from rag_assets.identity import Canonical
from rag_assets.quality import Expectation, Measures, Subject
from rag_assets.store import Store

LENGTHS = pa.schema([pa.field("unit_id", pa.string()), pa.field("norm", pa.float64())])


@dataclass(frozen=True, slots=True)
class Step:
    """A table of units and the tables that it takes them from."""

    asset: str
    table: str
    """Field of `VariantTables`."""
    sources: tuple[tuple[str, str], ...]
    """Field of `VariantTables` and key column of each."""


STEPS = (
    Step("chunk_vectors", table="documents", sources=(("chunks", "chunk_id"),)),
    Step("row_vectors", table="rows", sources=(("serialized_rows", "row_id"),)),
    Step("joint_index", table="joint", sources=(("documents", "unit_id"), ("rows", "unit_id"))),
)


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    store = lineage.store_of(config)
    return dg.Definitions(
        asset_checks=[quality.checks(_subject(step, config=config), store=store) for step in STEPS]
    )


def _subject(step: Step, *, config: Config) -> Subject:
    def table_of(variant: str | None, name: str) -> str:
        return getattr(config.tables_of(str(variant)), name)

    def state(store: Store, variant: str | None) -> Canonical:
        tables = (*step.sources, (step.table, "unit_id"))
        return quality.standing(store, *((table_of(variant, name), key) for name, key in tables))

    def measure(store: Store, variant: str | None) -> Measures:
        name = table_of(variant, step.table)
        taken = sum(store.count(table_of(variant, source)) for source, _ in step.sources)
        held = _lengths(store, name)
        return Measures(
            rows=held,
            totals={
                "missing_units": taken - held.num_rows - quality.failed_inputs(store, name),
                "encoders": _encoders(store, name),
            },
        )

    return Subject(
        asset=dg.AssetKey(step.asset),
        partitions=lineage.variants(config),
        state=state,
        measure=measure,
        expectations=_expectations(tolerance=config.quality.norm_tolerance),
    )


def _expectations(*, tolerance: float) -> list[Expectation]:
    return [
        quality.unique("unit_id", name="ids_unique", description="No two units share an id."),
        quality.within(
            "norm",
            low=1 - tolerance,
            high=1 + tolerance,
            name="vectors_normalised",
            description="Every vector has length 1: cosine distance needs it.",
        ),
        quality.within(
            "missing_units",
            low=0,
            high=0,
            name="units_complete",
            description="Every unit has a vector, or a reason why not.",
        ),
        quality.within(
            "encoders",
            high=1,
            name="one_encoder",
            description="All vectors come from one model on one path: they can be compared.",
        ),
    ]


def _lengths(store: Store, name: str) -> pa.Table:
    """`unit_id` and `norm`, the Euclidean length of its vector."""
    lengths = (
        pa.table({"unit_id": batch["unit_id"], "norm": _norms(batch["vector"])})
        for batch in store.batches(name, columns=["unit_id", "vector"])
    )
    return sync.concatenated(lengths, LENGTHS)


def _norms(vectors: pa.FixedSizeListArray) -> np.ndarray:
    """Length of each vector, (n,) float64; 0 where a component is not a number."""
    matrix = vectors.flatten().to_numpy().reshape(len(vectors), -1)
    return np.nan_to_num(np.linalg.norm(matrix.astype(np.float64), axis=1), nan=0.0)


def _encoders(store: Store, name: str) -> int:
    return pc.count_distinct(store.read(name, columns=["encoder_id"])["encoder_id"]).as_py()
