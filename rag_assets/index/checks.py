"""What must hold of the vectors before they answer queries."""

from collections import Counter
from dataclasses import dataclass

import dagster as dg
import numpy as np
import pyarrow.compute as pc

from rag_assets import gates, quality
from rag_assets.config import Config
from rag_assets.index.units import matrix_of
from rag_assets.quality import Expectation, Profiler, Subject, TableMeasures, Tally
from rag_assets.store import Store

KEY = "unit_id"


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
    Step("joint_index", table="joint", sources=(("documents", KEY), ("rows", KEY))),
)

EXPECTATIONS: tuple[Expectation, ...] = (
    quality.none("ids_unique", of="duplicate_ids", description="No two units share an id."),
    quality.at_most(
        "vectors_normalised",
        of="distance_from_1",
        description="Every vector has length 1: cosine distance needs it.",
    ),
    quality.none(
        "units_complete",
        of="unaccounted_units",
        description="Every unit has a vector, or a reason why not.",
    ),
    quality.at_most(
        "one_encoder",
        of="encoders",
        most=1,
        description="All vectors come from one model on one path: they can be compared.",
    ),
)


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    return gates.definitions(config, *subjects(config))


def subjects(config: Config) -> list[Subject]:
    """The tables of this room and what must hold of them."""
    return [_subject(step, config=config) for step in STEPS]


def _subject(step: Step, *, config: Config) -> Subject:
    def table(variant: str | None) -> str:
        return getattr(config.tables_of(str(variant)), step.table)

    def sources(variant: str | None) -> list[tuple[str, str]]:
        names = config.tables_of(str(variant))
        return [(getattr(names, source), key) for source, key in step.sources]

    return quality.of_table(
        step.asset,
        stage="vectors",
        settings=config.checks.vectors,
        table=table,
        key=KEY,
        made_from=sources,
        measure=lambda store, variant: _measured(store, table(variant), sources=sources(variant)),
        expectations=EXPECTATIONS,
    )


def _measured(store: Store, name: str, *, sources: list[tuple[str, str]]) -> TableMeasures:
    tally = Tally("duplicate_ids", "distance_from_1")
    profiler = Profiler(expected_rows=store.count(name))
    encoders: Counter[str] = Counter()
    for batch in store.batches(name, columns=[KEY, "uri", "encoder_id", "vector"]):
        profiler.rows(batch)
        tally.keys(batch[KEY])
        norms = profiler.vectors(matrix_of(batch["vector"]))
        tally.largest("distance_from_1", np.abs(norms - 1), shown=batch.select([KEY, "uri"]))
        for count in pc.value_counts(batch["encoder_id"]).to_pylist():
            encoders[count["values"]] += count["counts"]
    tally.put(
        "encoders",
        len(encoders),
        examples=({"encoder": name, "vectors": n} for name, n in encoders.most_common()),
    )
    profile = profiler.profile()
    count, examples = quality.missing_inputs(
        store, wanted=sources, table=(name, KEY), rows=profile.rows
    )
    tally.put("unaccounted_units", count, examples=examples)
    return tally.measures(profile)
