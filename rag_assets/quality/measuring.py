"""Measuring a table batch by batch: exceptions with examples, and its profile.

Memory is bounded by one batch and by the keys of the table: all keys are kept to find duplicates.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change import sync
from rag_assets.change.data_versions import current_version
from rag_assets.identity import Canonical
from rag_assets.quality.languages import languages_of
from rag_assets.quality.values import (
    EXAMPLES_SHOWN,
    Example,
    Number,
    Profile,
    TableMeasures,
)
from rag_assets.reports.previews import shortened
from rag_assets.store import Store

NAMING = ("uri", "source", "table", "row_key", "index")
"""Columns that name a chunk, a row or a unit for people, in tables that have them."""
SAMPLED_TEXTS = 5_000
"""Texts whose language is detected in a table of any size: enough for shares within 1 %."""


class Tally:
    """Totals over the batches of a table, each with a few examples: the first or the worst."""

    def __init__(self, *counted: str) -> None:
        """Start with the total 0 for each of `counted`."""
        self.totals: dict[str, Number] = dict.fromkeys(counted, 0)
        self.examples: dict[str, list[Example]] = {}
        self._keys: list[pa.Array] = []

    def count(self, total: str, is_exception: pa.Array, *, shown: pa.RecordBatch) -> None:
        """Add the rows where `is_exception`; examples show the columns of `shown`."""
        found = pc.sum(is_exception).as_py() or 0
        self.totals[total] += found
        examples = self.examples.setdefault(total, [])
        if found and len(examples) < EXAMPLES_SHOWN:
            wanted = shown.filter(is_exception).slice(0, EXAMPLES_SHOWN - len(examples))
            examples += [_example(row) for row in wanted.to_pylist()]

    def largest(self, total: str, values: np.ndarray, *, shown: pa.RecordBatch) -> None:
        """Keep the largest of `values`, one for each row of `shown`, with the rows as examples."""
        if not len(values):
            return
        places = np.argsort(-values, kind="stable")[:EXAMPLES_SHOWN]
        rows = shown.take(pa.array(places)).to_pylist()
        examples = self.examples.setdefault(total, [])
        examples += [
            {**_example(row), total: float(value)}
            for row, value in zip(rows, values[places], strict=True)
        ]
        examples.sort(key=lambda example: -float(example[total] or 0))
        del examples[EXAMPLES_SHOWN:]
        self.totals[total] = max(self.totals[total], float(values[places[0]]))

    def put(self, total: str, value: Number, *, examples: Iterable[Example] = ()) -> None:
        """Set a total that was computed elsewhere."""
        self.totals[total] = value
        self.examples[total] = [_example(row) for row in islice(examples, EXAMPLES_SHOWN)]

    def share(self, total: str, *, of: str, among: int) -> None:
        """Set a total to the total `of` divided by `among`, with the same examples."""
        self.totals[total] = self.totals[of] / among if among else 0.0
        self.examples[total] = self.examples.get(of, [])

    def keys(self, keys: pa.Array) -> None:
        """Add the keys of a batch; no key of the table may occur twice.

        They are copied: a column that Lance returns keeps its whole batch in memory.
        """
        self._keys.append(keys.take(pa.array(np.arange(len(keys)))))

    def measures(self, profile: Profile) -> TableMeasures:
        """All totals; `duplicate_ids` is the number of surplus rows."""
        if self._keys:
            keys = pa.chunked_array(self._keys)
            surplus = len(keys) - pc.count_distinct(keys, mode="all").as_py()
            self.put("duplicate_ids", surplus, examples=_repeated(keys) if surplus else ())
        return TableMeasures(totals=self.totals, examples=self.examples, profile=profile)


class Profiler:
    """The profile of a table from its batches."""

    def __init__(self, *, expected_rows: int) -> None:
        """`expected_rows`, roughly the size of the table, sets the share of texts to sample."""
        self._share = SAMPLED_TEXTS / max(expected_rows, 1)
        self._rows = self._texts = self._vectors = 0
        self._nulls: Counter[str] = Counter()
        self._length = self._norm = 0.0
        self._languages: Counter[str] = Counter()
        self._sum: np.ndarray | None = None

    def rows(self, batch: pa.RecordBatch, *, nullable: Sequence[str] = ()) -> None:
        """Count the rows, and the empty cells of the `nullable` columns."""
        self._rows += batch.num_rows
        for name in nullable:
            self._nulls[name] += batch[name].null_count

    def texts(self, texts: pa.Array, *, keys: pa.Array, lengths: pa.Array) -> None:
        """Add texts with their lengths; each run samples the same ones, by their keys (UUID)."""
        self._texts += len(lengths)
        self._length += pc.sum(lengths).as_py() or 0
        if self._share < 1:
            limit = f"{int(self._share * 16**8):08x}"
            texts = texts.filter(pc.less(keys, limit))
        self._languages += languages_of(texts)

    def vectors(self, matrix: np.ndarray) -> np.ndarray:
        """Add vectors (n, d); returns their lengths, (n,) float64, 0 where not finite."""
        norms = np.linalg.norm(matrix, axis=1).astype(np.float64)
        is_number = np.isfinite(norms)
        norms[~is_number] = 0
        total = matrix[is_number].sum(axis=0, dtype=np.float64)
        self._sum = total if self._sum is None else self._sum + total
        self._norm += float(norms.sum())
        self._vectors += len(matrix)
        return norms

    def profile(self, *, null_shares: Mapping[str, float] | None = None) -> Profile:
        """The profile of all rows so far; `null_shares` replaces the counted ones."""
        seen = self._languages.total()
        counted = {name: count / self._rows for name, count in self._nulls.items() if self._rows}
        return Profile(
            rows=self._rows,
            null_shares=counted if null_shares is None else null_shares,
            mean_length=self._length / self._texts if self._texts else None,
            languages={code: count / seen for code, count in sorted(self._languages.items())},
            mean_norm=self._norm / self._vectors if self._vectors else None,
            centroid=_rounded(self._sum / self._vectors)
            if self._sum is not None and self._vectors
            else (),
        )


def lengths_of(texts: pa.Array) -> pa.Array:
    """Characters of each text, without the blanks around it."""
    return pc.utf8_length(pc.utf8_trim_whitespace(texts))


def table_states(store: Store, *tables: tuple[str, str]) -> list[Canonical]:
    """The data version and the number of failed inputs of tables, named with their key columns."""
    return [
        [current_version(store, name, key=key), failed_inputs(store, name)] for name, key in tables
    ]


def failed_inputs(store: Store, name: str) -> int:
    """How many inputs are not in the table because they failed."""
    finished = store.completion(name)
    return finished.failed if finished else len(sync.quarantined(store, name))


def inputs_of(store: Store, name: str, *, wanted: Callable[[], int]) -> int:
    """The number of inputs of a table at its last complete refresh.

    The inputs may have changed since; a later run will process that. If no refresh was completed,
    it is the number of inputs now, which `wanted` counts.
    """
    finished = store.completion(name)
    return finished.inputs if finished else wanted()


def missing_inputs(
    store: Store, *, wanted: Sequence[tuple[str, str]], table: tuple[str, str], rows: int
) -> tuple[int, list[Example]]:
    """How many inputs are missing from a table, or rows have no input, with examples.

    Args:
        store: Holds the tables.
        wanted: The tables whose rows are the inputs, each with its key column.
        table: The table to check, with its key column.
        rows: Number of its rows.

    Inputs that failed do not count as missing. Keys are read only if the numbers do not agree.
    """
    name, key = table
    inputs = inputs_of(store, name, wanted=lambda: sum(store.count(source) for source, _ in wanted))
    short = inputs - rows - failed_inputs(store, name)
    if not short:
        return 0, []
    there = _keys(store, name, key)
    known = there | {failure.key for failure in sync.quarantined(store, name)}
    expected: set[str] = set()
    examples: list[Example] = []
    for source, column in wanted:
        keys = _keys(store, source, column)
        examples += _named(store, source, column, keys - known, what="missing")
        expected |= keys
    examples += _named(store, name, key, there - expected, what="not asked for")
    return abs(short), examples[:EXAMPLES_SHOWN]


def _named(
    store: Store, table: str, key: str, units: Collection[str], *, what: str
) -> Iterator[Example]:
    """The first of `units`, named for people: by file, or by table and key of the row."""
    shown = sorted(units)[:EXAMPLES_SHOWN]
    known = store.schema(table).names
    columns = [key, *(name for name in NAMING if name in known)]
    rows = store.read_keys(table, column=key, keys=shown, columns=columns) if shown else None
    for row in rows.sort_by(key).to_pylist() if rows else ():
        unit = row.pop(key)
        yield {**{name: value for name, value in row.items() if value is not None}, what: unit}


def _keys(store: Store, name: str, column: str) -> set[str]:
    return set(store.read(name, columns=[column])[column].to_pylist())


def _repeated(keys: pa.ChunkedArray) -> list[Example]:
    counts = pc.value_counts(keys)
    often = counts.filter(pc.greater(counts.field("counts"), 1)).slice(0, EXAMPLES_SHOWN)
    return [{"id": row["values"], "times": row["counts"]} for row in often.to_pylist()]


def _example(row: Mapping[str, object]) -> Example:
    return {name: shortened(value) for name, value in row.items()}


def _rounded(vector: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in vector]
