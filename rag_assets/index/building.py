"""Building one search index of a table of units, by the settings of the config.

`indexes` says when a table needs one.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from rag_assets.config import STOP_WORDS, TextIndexSettings, VectorIndexSettings
from rag_assets.index.units import matrix_of
from rag_assets.process.memory import release_memory
from rag_assets.store import ROW_ID
from rag_assets.store.search_indexes import VECTOR, text_index_name, vector_index_name
from rag_assets.store.text_parts import TEXT, TextIndex, to_be_counted
from rag_assets.terms.spelling import indexed_text

if TYPE_CHECKING:
    from lance import LanceDataset
    from lancedb.index import IvfFlat, IvfPq, IvfRq, IvfSq
    from lancedb.table import Table

INDEXES = "_indices"
"""The folder of a table with a folder for each part of an index."""
PQ_BITS = 8
"""Bits of one code of product quantization."""
LONGEST_WORD = 40
"""Words of more bytes are left out of the full-text index."""
ROWS_OF_A_LIST = 4_096
"""Units of each list of an IVF_FLAT index unless the settings say how many lists: Lance's own."""
LEARNT_FROM = 256
"""Vectors for each list by which k-means places it."""
ROWS_AT_ONCE = 8_192
SCORES_OF_A_PRODUCT = 2**20
"""So many scores of vectors against lists, 4 MB, stay near a core."""


def build_text_index(table: "Table", settings: TextIndexSettings) -> None:
    """Index the text of a table of units, from the rows that it has now and from no others."""
    dataset = table.to_lance()
    rows = rows_of_fragments(dataset)
    everything = TextIndex([], uncounted=frozenset(rows))
    parts = to_be_counted(everything, rows=rows) or [[]]  # an empty table has one
    build_text_parts(dataset, parts, settings)


def build_text_parts(
    dataset: "LanceDataset", parts: Sequence[Sequence[int]], settings: TextIndexSettings
) -> None:
    """Let each of `parts`, fragments of a table, be one of its full-text index, in one commit.

    Words are indexed as they are compared (`terms.spelling`), while the table keeps them as they
    are written. So a part is built over a copy of its texts, and its files are moved to the table.
    """
    built, name = [], text_index_name(settings)
    rows = rows_of_fragments(dataset)
    column = [each.id() for each in dataset.lance_schema.fields() if each.name() == TEXT]
    session = dataset.new_file_session()
    for part in parts:
        with TemporaryDirectory(prefix="rag_assets") as folder:
            made = _spelled_copy(dataset, part, folder).create_index_uncommitted(
                TEXT,
                "INVERTED",
                name=name,
                replace=True,
                fragment_ids=[*part],
                with_position=False,
                base_tokenizer=settings.tokenizer,
                language=settings.language,
                stem=settings.stem,
                remove_stop_words=settings.stop_words != "none",
                custom_stop_words=_own_stop_words(settings),
                ascii_folding=True,
                lower_case=True,
                max_token_length=LONGEST_WORD,
            )
            for file in filter(Path.is_file, Path(folder, INDEXES, made.uuid).rglob("*")):
                session.upload_file(file, file.relative_to(folder).as_posix())
        built.append(replace(made, fields=column, dataset_version=dataset.version))
        release_memory(rows=sum(rows[fragment] for fragment in part))
    dataset.commit_existing_index_segments(name, TEXT, built)


def _spelled_copy(dataset: "LanceDataset", part: Sequence[int], folder: str) -> "LanceDataset":
    """The texts of the fragments `part` as they are indexed, in the same places of a new table."""
    from lance import LanceDataset, LanceFragment, LanceOperation, write_dataset

    column = pa.schema([pa.field(TEXT, pa.string())])

    def spelled(found: LanceFragment) -> Iterator[pa.RecordBatch]:
        for batch in found.to_batches(columns=[TEXT], with_row_id=True, include_deleted_rows=True):
            rows = zip(batch[TEXT].to_pylist(), batch[ROW_ID].to_pylist(), strict=True)
            texts = [None if row is None else indexed_text(text) for text, row in rows]
            yield pa.record_batch([pa.array(texts, pa.string())], schema=column)

    written = [
        LanceFragment.create(folder, spelled(fragment), fragment.fragment_id, column)
        for fragment in dataset.get_fragments()
        if fragment.fragment_id in part
    ]
    empty = write_dataset(column.empty_table(), folder)
    everything = LanceOperation.Merge(written, empty.lance_schema)  # keeps the fragments' numbers
    copy = LanceDataset.commit(empty, everything, read_version=empty.version)
    copy.delete(f"{TEXT} IS NULL")
    return copy


def rows_of_fragments(dataset: "LanceDataset") -> dict[int, int]:
    """How many rows each fragment has."""
    return {one.fragment_id: one.metadata.num_rows for one in dataset.get_fragments()}


def build_vector_index(table: "Table", settings: VectorIndexSettings) -> None:
    """Build the ANN index of a table of units.

    Raises:
        ValueError: The settings cannot give one of this table; the message says why.
    """
    dimension, rows = table.schema.field(VECTOR).type.list_size, table.count_rows()
    if why := _why_unfit(settings, rows=rows, dimension=dimension):
        raise ValueError(f"index.vectors, for {table.name}: {why}")
    name = vector_index_name(settings)
    lists = settings.partitions or max(1, rows // ROWS_OF_A_LIST)
    if settings.type == "ivf_flat" and rows >= lists * LEARNT_FROM:
        _build_flat(table.to_lance(), lists=lists, name=name)
    else:
        table.create_index(VECTOR, config=_vector_config(settings), name=name)


def _build_flat(dataset: "LanceDataset", *, lists: int, name: str) -> None:
    """Build an IVF_FLAT index whose units are put into their lists here.

    Lance compares each vector with each list by itself. Where there are many lists, that is most of
    its build: five million units have 1,261. A product of matrices takes a third of the time or
    less, by the dimension. The products are small, one on each core: threads of BLAS would wait for
    each other between them, and cost more than they compute. (pylance 14.0)
    """
    from lance import write_dataset
    from lance.indices import IndicesBuilder

    learnt = IndicesBuilder(dataset, VECTOR).train_ivf(
        lists, distance_type="cosine", sample_rate=LEARNT_FROM
    )
    centers = matrix_of(learnt.centroids)
    halves = (centers**2).sum(axis=1) / 2
    step = max(1, SCORES_OF_A_PRODUCT // lists)
    columns = pa.schema([("row_id", pa.uint64()), ("partition", pa.uint32())])

    def nearest(vectors: np.ndarray) -> np.ndarray:
        return (vectors @ centers.T - halves).argmax(axis=1)

    def listed(cores: ThreadPoolExecutor) -> Iterator[pa.RecordBatch]:
        for batch in dataset.to_batches([VECTOR], with_row_id=True, batch_size=ROWS_AT_ONCE):
            vectors = matrix_of(batch[VECTOR])
            some = (vectors[at : at + step] for at in range(0, len(vectors), step))
            near = np.concatenate([*cores.map(nearest, some)])
            yield pa.record_batch([batch[ROW_ID], pa.array(near, pa.uint32())], schema=columns)

    with (
        TemporaryDirectory(prefix="rag_assets") as folder,
        ThreadPoolExecutor(os.cpu_count()) as cores,
        threadpool_limits(1, user_api="blas"),
    ):
        in_lists = pa.RecordBatchReader.from_batches(columns, listed(cores))
        write_dataset(in_lists, folder, max_rows_per_file=np.iinfo(np.int32).max)
        dataset.create_index(
            VECTOR,
            "IVF_FLAT",
            name=name,
            replace=True,
            metric="cosine",
            num_partitions=lists,
            ivf_centroids=learnt.centroids,
            precomputed_partition_dataset=folder,
        )


def _why_unfit(settings: VectorIndexSettings, *, rows: int, dimension: int) -> str | None:
    """Why `settings` give no ANN index of so many `rows`; None if they do."""
    if settings.partitions and settings.partitions > rows:
        return f"partitions = {settings.partitions:,} is more than its {rows:,} units"
    if settings.type == "ivf_pq":
        codes = 2**PQ_BITS
        if rows < codes:
            return f"ivf_pq learns {codes} codes from as many units, and it has {rows:,}"
    if settings.type == "ivf_rq" and dimension % 8:
        return f"ivf_rq needs dimensions in multiples of 8, and it has {dimension}"
    return None


def _own_stop_words(settings: TextIndexSettings) -> list[str] | None:
    """Stop words in place of those that Lance has for the language; None leaves these."""
    chosen = settings.stop_words
    return chosen if isinstance(chosen, list) else [*STOP_WORDS.get(chosen, ())] or None


def _vector_config(settings: VectorIndexSettings) -> "IvfFlat | IvfSq | IvfPq | IvfRq":
    from lancedb.index import IvfFlat, IvfPq, IvfRq, IvfSq

    partitions = settings.partitions
    if settings.type == "ivf_pq":
        return IvfPq(distance_type="cosine", num_partitions=partitions, num_bits=PQ_BITS)
    if settings.type == "ivf_rq":
        return IvfRq(distance_type="cosine", num_partitions=partitions)
    plain = IvfSq if settings.type == "ivf_sq" else IvfFlat
    return plain(distance_type="cosine", num_partitions=partitions)
