"""What must hold of the vectors before they answer queries."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
import numpy as np
import pyarrow as pa

from rag_assets import asset_checks, quality
from rag_assets.change.steps import Step
from rag_assets.config import Config
from rag_assets.index.steps import KINDS
from rag_assets.index.units import matrix_of
from rag_assets.quality import Profiler, Subject, TableMeasures, Tally
from rag_assets.store import Store

KEY = "unit_id"


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    return asset_checks.definitions(config, *subjects(config))


def subjects(config: Config) -> list[Subject]:
    """The tables of this room and what must hold of them."""
    return [
        quality.of_step(
            config,
            kind,
            stage="vectors",
            measure=lambda store, step, _: _measured(store, step),
        )
        for kind in KINDS
    ]


def _measured(store: Store, step: Step) -> TableMeasures:
    name = step.table
    tally = Tally("duplicate_ids", "distance_from_1")
    profiler = Profiler(expected_rows=store.count(name))
    encoders: Counter[tuple[str, str]] = Counter()
    has_vectors = "vector" in store.schema(name).names
    columns = [KEY, "uri", "domain", "encoder_id", *(["vector"] if has_vectors else [])]
    for batch in store.batches(name, columns=columns):
        profiler.rows(batch)
        tally.keys(batch[KEY])
        if has_vectors:
            norms = profiler.vectors(matrix_of(batch["vector"]))
            tally.largest("distance_from_1", np.abs(norms - 1), shown=batch.select([KEY, "uri"]))
        pairs = pa.table(batch).group_by(["domain", "encoder_id"]).aggregate([([], "count_all")])
        for pair in pairs.to_pylist():
            encoders[pair["domain"], pair["encoder_id"]] += pair["count_all"]
    tally.put(
        "encoders",
        _compared(encoders, by_domain=not has_vectors),
        examples=({"encoder": name, "vectors": n} for name, n in _vectors_of(encoders)),
    )
    profile = profiler.profile()
    count, examples = quality.missing_inputs(
        store, wanted=step.sources, table=(name, KEY), rows=profile.rows
    )
    tally.put("unaccounted_units", count, examples=examples)
    return tally.measures(profile)


def _vectors_of(encoders: Mapping[tuple[str, str], int]) -> Sequence[tuple[str, int]]:
    """How many vectors are of each encoder, the most frequent first."""
    counts: Counter[str] = Counter()
    for (_, encoder), count in encoders.items():
        counts[encoder] += count
    return counts.most_common()


def _compared(encoders: Iterable[tuple[str, str]], *, by_domain: bool) -> int:
    """How many encoders give vectors that are compared: of all units, or at most of a domain."""
    if not by_domain:
        return len({encoder for _, encoder in encoders})
    return max(Counter(domain for domain, _ in encoders).values(), default=0)
