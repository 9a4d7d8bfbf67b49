"""Building one search index of a table of units, by the settings of the config.

`indexes` says when a table needs one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_assets.config import STOP_WORDS, TextIndexSettings, VectorIndexSettings
from rag_assets.store.search_indexes import VECTOR, text_index_name, vector_index_name
from rag_assets.store.text_parts import TEXT, TextIndex, to_be_counted

if TYPE_CHECKING:
    from lance import LanceDataset
    from lancedb.index import IvfFlat, IvfPq, IvfRq, IvfSq
    from lancedb.table import Table

PQ_BITS = 8
"""Bits of one code of product quantization."""
LONGEST_WORD = 40
"""Words of more bytes are left out of the full-text index."""


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
    """Let each of `parts`, fragments of a table, be one of its full-text index, in one commit."""
    name = text_index_name(settings)
    built = [
        dataset.create_index_uncommitted(
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
        for part in parts
    ]
    dataset.commit_existing_index_segments(name, TEXT, [*built])


def rows_of_fragments(dataset: "LanceDataset") -> dict[int, int]:
    """How many rows each fragment has."""
    return {one.fragment_id: one.metadata.num_rows for one in dataset.get_fragments()}


def build_vector_index(table: "Table", settings: VectorIndexSettings) -> None:
    """Build the ANN index of a table of units.

    Raises:
        ValueError: The settings cannot give one of this table; the message says why.
    """
    dimension = table.schema.field(VECTOR).type.list_size
    if why := _why_unfit(settings, rows=table.count_rows(), dimension=dimension):
        raise ValueError(f"index.vectors, for {table.name}: {why}")
    table.create_index(VECTOR, config=_vector_config(settings), name=vector_index_name(settings))


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
