"""What is kept of a table while it is read once: some tens of bytes for each row.

Keys and contents are kept as hashes of 64 bits that hold within this process (see
`columns.keys`), so that a table of any size can be compared with the one that it was made from.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from rag_assets.change.steps import Step
from rag_assets.columns.arrow_sql import query
from rag_assets.columns.keys import Digests
from rag_assets.index.units import matrix_of
from rag_assets.operations.doctor.faults import RowsAt
from rag_assets.schemas import SPARSE
from rag_assets.store import ROW_ID, Store

ROWS_A_BATCH = 16_384
LENGTH_TOLERANCE = 1e-3
"""How far the length of a vector may be from 1."""
SEED = 20
TEXT_COLUMNS = ("text", "text_hash")
HASHES = {
    "high": "hash(key)",
    "low": "hash(key || chr(1))",
    "group": "hash(input)",
    "content": "hash(row_fingerprint)",
    "hashed": "hash(text_hash)",
    "altered": "sha256(text) <> text_hash",
}
"""What is kept of a row, by an expression over its columns."""


@dataclass(slots=True)
class Census:
    """All rows of one version of a table."""

    step: Step
    table: str
    """The generation of the table."""
    version: int
    row_ids: np.ndarray
    high: np.ndarray
    """First half of the hash of the key of each row; `low` is the second."""
    low: np.ndarray
    content: np.ndarray
    """The hash of each `row_fingerprint`."""
    group: np.ndarray | None = None
    """Hash of the input of each row, where one input gives several."""
    place: np.ndarray | None = None
    """Position of each row within its input, likewise."""
    hashed: np.ndarray | None = None
    """Hash of `text_hash`, in tables of texts."""
    altered: np.ndarray | None = None
    """Whether the text is another than the one that was hashed, likewise."""
    vector: np.ndarray | None = None
    """Hash of the vector, in tables of vectors."""
    length: np.ndarray | None = None
    """Length of the vector, likewise; NaN where it is not finite."""
    encoders: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of units by domain and encoder, in tables of units."""

    def __len__(self) -> int:
        return len(self.row_ids)

    @property
    def keys(self) -> Digests:
        """Both halves of the hash of each key."""
        return self.high, self.low

    def rows(self, is_wanted: np.ndarray) -> RowsAt:
        """The rows that are wanted, by where they lie."""
        return RowsAt(self.table, self.version, self.row_ids[is_wanted])


def census_of(store: Store, step: Step) -> Census:
    """Read every row of the newest version of the table of a step.

    Raises:
        MissingTableError: There is no such table.
        DamagedTablesError: Files of it cannot be read.
    """
    table = store.generation(step.table)
    version = store.version(table)
    there = set(store.schema(table, version=version).names)
    asked = _columns(step, there)
    parts: defaultdict[str, list[np.ndarray]] = defaultdict(list)
    encoders: Counter[tuple[str, str]] = Counter()
    for batch in store.batches(
        table, columns=asked, version=version, rows=ROWS_A_BATCH, with_row_ids=True
    ):
        if "encoder_id" in asked:
            encoders.update(_encoders_in(batch))
        for name, values in _kept_of(step, batch).items():
            parts[name].append(values)
    held = {name: np.concatenate(found) for name, found in parts.items()}

    def kept(name: str) -> np.ndarray:
        return held.get(name, np.empty(0, np.uint64))

    has_groups, has_texts = step.group != step.key, there.issuperset(TEXT_COLUMNS)
    return Census(
        step,
        table,
        version,
        row_ids=kept("row_ids"),
        high=kept("high"),
        low=kept("low"),
        content=kept("content"),
        group=kept("group") if has_groups else None,
        place=kept("place") if has_groups else None,
        hashed=kept("hashed") if has_texts else None,
        altered=kept("altered").astype(bool) if has_texts else None,
        vector=kept("vector") if "vector" in there else None,
        length=kept("length") if "vector" in there else None,
        encoders=encoders,
    )


def _columns(step: Step, there: set[str]) -> list[str]:
    wanted = [step.key, "row_fingerprint", *TEXT_COLUMNS, "domain", "encoder_id", "vector", SPARSE]
    if step.group != step.key:
        wanted += [step.group, "index"]
    return [name for name in dict.fromkeys(wanted) if name in there]


def _kept_of(step: Step, batch: pa.RecordBatch) -> dict[str, np.ndarray]:
    """What is kept of the rows of a batch, by the fields of `Census`."""
    there = set(batch.schema.names)
    kept = {"row_ids": batch[ROW_ID].to_numpy()}
    columns = {"key": batch[step.key], "row_fingerprint": batch["row_fingerprint"]}
    wanted = ["high", "low", "content"]
    if step.group != step.key:
        kept["place"] = batch["index"].to_numpy()
        columns["input"] = batch[step.group]
        wanted.append("group")
    if there.issuperset(TEXT_COLUMNS):
        columns |= {name: batch[name] for name in TEXT_COLUMNS}
        wanted += ["hashed", "altered"]
    if "vector" in there:
        vectors = matrix_of(batch["vector"])
        kept |= {"vector": _hashes_of(vectors), "length": _lengths_of(vectors)}
        if SPARSE in there:
            kept["vector"] += _hashes_of_weights(batch[SPARSE])
            kept["length"][_has_bad_weight(batch[SPARSE])] = np.nan
    selected = ", ".join(f'{HASHES[name]} AS "{name}"' for name in wanted)
    found = query(f"SELECT {selected} FROM rows", rows=pa.table(columns))
    return kept | {name: found[name].to_numpy() for name in wanted}


def _hashes_of(vectors: np.ndarray) -> np.ndarray:
    """One number (uint64) for each of the vectors (n, d): equal ones have equal numbers."""
    weights = np.random.default_rng(SEED).integers(1, 2**63, vectors.shape[1], np.uint64) | 1
    return np.ascontiguousarray(vectors).view(np.uint32).astype(np.uint64) @ weights


def _lengths_of(vectors: np.ndarray) -> np.ndarray:
    """The L2 norm of each of the vectors (n, d); NaN where one is not finite."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[~np.isfinite(lengths)] = np.nan
    return lengths


def _hashes_of_weights(column: pa.ListArray) -> np.ndarray:
    """One number (uint64) for the lexical weights of each text: equal ones have equal numbers."""
    one, other = np.random.default_rng(SEED).integers(1, 2**63, 2, np.uint64) | 1
    pairs = column.flatten()
    tokens = pairs.field("token").to_numpy().astype(np.uint64)
    bits = pairs.field("weight").to_numpy().view(np.uint32).astype(np.uint64)
    return _sums_of(column, (tokens * one ^ bits) * other)


def _has_bad_weight(column: pa.ListArray) -> np.ndarray:
    """For each text whether one of its lexical weights is not above 0, or not finite."""
    weights = column.flatten().field("weight").to_numpy()
    is_bad = ~(np.isfinite(weights) & (weights > 0))
    return _sums_of(column, is_bad.astype(np.uint64)) > 0


def _sums_of(column: pa.ListArray, values: np.ndarray) -> np.ndarray:
    """The sum (uint64) of the values of each list of a column."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    ends = np.cumsum(np.concatenate([[0], column.value_lengths().to_numpy()]))
    return sums[ends[1:]] - sums[ends[:-1]]


def _encoders_in(batch: pa.RecordBatch) -> dict[tuple[str, str], int]:
    names = ["domain", "encoder_id"]
    found = pa.table(batch.select(names)).group_by(names).aggregate([([], "count_all")])
    return {(row["domain"], row["encoder_id"]): row["count_all"] for row in found.to_pylist()}
