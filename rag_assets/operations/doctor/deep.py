"""What takes a model, or a second index: a sample of the units of each table, looked at again."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from rag_assets.config import TextIndexSettings
from rag_assets.index import encoders
from rag_assets.index.building import build_text_index
from rag_assets.index.encoders import IndexEncoder
from rag_assets.index.steps import UnitVectors
from rag_assets.index.units import matrix_of
from rag_assets.models.tasks import part_of
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import Fault
from rag_assets.operations.doctor.indexes import made_anew
from rag_assets.operations.doctor.row_faults import found
from rag_assets.operations.doctor.table_scan import Census
from rag_assets.retrieval.lexical import SCORE
from rag_assets.store import Store
from rag_assets.store.text_parts import TEXT
from rag_assets.workers import Failed
from rag_assets.workers.executors import for_embedding

UNITS_SAMPLED = 64
QUERIES = 16
QUERY_WORDS = 6
DEPTH = 20
FARTHEST = 5e-3
"""Cosine distance that batches of other sizes and reduced precision may make (facts: 2e-3)."""
SCORES_AGREE = 1e-4
"""Relative; the same sums in another order."""


def faults_of(practice: Practice, table: ExaminedTable, census: Census) -> Iterator[Fault]:
    """Vectors that the model does not give again, and rankings that a fresh index does not."""
    if not len(census):
        return
    places = np.linspace(0, len(census) - 1, min(UNITS_SAMPLED, len(census))).astype(np.int64)
    row_ids = census.row_ids[np.unique(places)]
    texts = practice.store.take(census.table, row_ids, columns=[TEXT], version=census.version)[
        TEXT
    ].to_pylist()
    if isinstance(table.step.kind, UnitVectors):
        yield from _other_vectors(practice, table, census, row_ids=row_ids, texts=texts)
    queries = [" ".join(text.split()[-QUERY_WORDS:]) for text in texts[:QUERIES]]
    text = practice.config.index.text
    if detail := _other_rankings(practice.store, census, queries=queries, settings=text):
        yield replace(
            table.fault(practice.store, "other-ranking"),
            reason=detail,
            mends=[made_anew(table.step.table)],
        )


def _other_vectors(
    practice: Practice,
    table: ExaminedTable,
    census: Census,
    *,
    row_ids: np.ndarray,
    texts: Sequence[str],
) -> Iterator[Fault]:
    recipe = practice.config.variant(table.variants[0])
    assert isinstance(table.step.kind, UnitVectors), "it embeds texts"
    model = table.step.kind.model_of(recipe)
    encoder = encoders.known_encoder(practice.store, practice.config, model=model)
    if encoder is None:
        practice.log(f"{model} is not on this machine: nothing is embedded again")
        return
    practice.log(f"embedding {len(texts)} texts of {table.subject(practice.store)} again")
    again = _embedded(practice, encoder, texts)
    if again is None:
        return
    held = practice.store.take(census.table, row_ids, columns=["vector"], version=census.version)[
        "vector"
    ]
    cosines = np.einsum("ij,ij->i", matrix_of(held.combine_chunks()), again)
    is_other = np.isin(census.row_ids, row_ids[~(1 - cosines <= FARTHEST)])
    yield from found(practice, table, "other-vector", delete=census.rows(is_other))


def _embedded(practice: Practice, encoder: IndexEncoder, texts: Sequence[str]) -> np.ndarray | None:
    """The vectors of `texts` on the path of the index; None where that cannot be computed here."""
    with for_embedding(practice.config.execution, device=encoder.device) as executor:
        executor.submit(encoder.task("doctor", texts))
        [(_, outcome)] = executor.finished()
    if isinstance(outcome, Failed):
        practice.log(f"nothing is embedded again: {outcome.reason}")
        return None
    return part_of(outcome.value).embedded.vectors


def _other_rankings(
    store: Store, census: Census, *, queries: Sequence[str], settings: TextIndexSettings
) -> str | None:
    """How many queries are ranked otherwise by an index that was built from nothing just now."""
    with TemporaryDirectory(prefix="rag_assets") as folder:
        fresh = Store(Path(folder))
        for batch in store.batches(census.table, columns=["unit_id", TEXT], version=census.version):
            rows = pa.Table.from_batches([batch])
            fresh.append(census.table, rows, schema=rows.schema)
        build_text_index(fresh.open(census.table), settings)
        differing = [
            query
            for query in queries
            if not np.allclose(
                _scores(store, census.table, query),
                _scores(fresh, census.table, query),
                rtol=SCORES_AGREE,
            )
        ]
    if not differing:
        return None
    return f"{len(differing)} of {len(queries)} queries, such as {differing[0]!r}"


def _scores(store: Store, table: str, query: str) -> np.ndarray:
    """The best scores of a query, in order, padded with 0: ties have no order of their own."""
    from lance.query import MatchQuery

    hits = store.dataset(table).to_table(
        columns=[SCORE], full_text_query=MatchQuery(query, TEXT), limit=DEPTH, with_row_id=True
    )
    scores = np.zeros(DEPTH)
    held = np.sort(hits[SCORE].to_numpy())[::-1]
    scores[: len(held)] = held
    return scores
