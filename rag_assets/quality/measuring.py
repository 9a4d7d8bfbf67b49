"""Measuring a table batch by batch: exceptions with examples, and its profile.

Memory is bounded by a batch, keys aside: those are held to find the ones that occur twice.
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
    Measures,
    Number,
    Profile,
)
from rag_assets.reports.previews import shortened
from rag_assets.store import Store

NAMING = ("uri", "source", "table", "row_key", "index")
"""Columns by which a person knows a chunk, a row or a unit, as far as its table has them."""
SAMPLED_TEXTS = 5_000
"""Texts whose language is told, whatever the size of the table: the share is known to 1 %."""


class Tally:
    """Totals over the batches of a table, each with the first or worst units behind it."""

    def __init__(self, *counted: str) -> None:
        """Start with the total 0 for each of `counted`."""
        self.totals: dict[str, Number] = dict.fromkeys(counted, 0)
        self.examples: dict[str, list[Example]] = {}
        self._keys: list[pa.Array] = []

    def count(self, total: str, is_exception: pa.Array, *, shown: pa.RecordBatch) -> None:
        """Add the rows where `is_exception`; the columns of `shown` are what an example shows."""
        found = pc.sum(is_exception).as_py() or 0
        self.totals[total] += found
        examples = self.examples.setdefault(total, [])
        if found and len(examples) < EXAMPLES_SHOWN:
            wanted = shown.filter(is_exception).slice(0, EXAMPLES_SHOWN - len(examples))
            examples += [_example(row) for row in wanted.to_pylist()]

    def largest(self, total: str, values: np.ndarray, *, shown: pa.RecordBatch) -> None:
        """Keep the largest of `values`, one for each row of `shown`, with the rows behind it."""
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
        """A total that is known as a whole."""
        self.totals[total] = value
        self.examples[total] = [_example(row) for row in islice(examples, EXAMPLES_SHOWN)]

    def share(self, total: str, *, of: str, among: int) -> None:
        """The share that the total `of` has among so many, with its examples."""
        self.totals[total] = self.totals[of] / among if among else 0.0
        self.examples[total] = self.examples.get(of, [])

    def keys(self, keys: pa.Array) -> None:
        """Keys of a batch, of which none may occur twice.

        They are copied: a column that comes from Lance keeps its whole batch in memory.
        """
        self._keys.append(keys.take(pa.array(np.arange(len(keys)))))

    def measures(self, profile: Profile) -> Measures:
        """Everything that was counted; `duplicate_ids` is the number of rows too many."""
        if self._keys:
            keys = pa.chunked_array(self._keys)
            surplus = len(keys) - pc.count_distinct(keys, mode="all").as_py()
            self.put("duplicate_ids", surplus, examples=_repeated(keys) if surplus else ())
        return Measures(totals=self.totals, examples=self.examples, profile=profile)


class Profiler:
    """The profile of a table from its batches."""

    def __init__(self, *, expected_rows: int) -> None:
        """`expected_rows`, about the size of the table, decides how many texts are sampled."""
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
        """Texts with their lengths; the same ones are sampled in each run, by their keys (UUID)."""
        self._texts += len(lengths)
        self._length += pc.sum(lengths).as_py() or 0
        if self._share < 1:
            limit = f"{int(self._share * 16**8):08x}"
            texts = texts.filter(pc.less(keys, limit))
        self._languages += languages_of(texts)

    def vectors(self, matrix: np.ndarray) -> np.ndarray:
        """Vectors, (n, d); returns their lengths, (n,) float64, 0 where one is not a number."""
        norms = np.linalg.norm(matrix, axis=1).astype(np.float64)
        is_number = np.isfinite(norms)
        norms[~is_number] = 0
        total = matrix[is_number].sum(axis=0, dtype=np.float64)
        self._sum = total if self._sum is None else self._sum + total
        self._norm += float(norms.sum())
        self._vectors += len(matrix)
        return norms

    def profile(self, *, null_shares: Mapping[str, float] | None = None) -> Profile:
        """What was seen; `null_shares` where the room knows them from elsewhere."""
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


def standing(store: Store, *tables: tuple[str, str]) -> list[Canonical]:
    """How tables stand, each named with its key column: data version and failed inputs."""
    return [
        [current_version(store, name, key=key), failed_inputs(store, name)] for name, key in tables
    ]


def failed_inputs(store: Store, name: str) -> int:
    """How many inputs the table lacks because they failed."""
    finished = store.completion(name)
    return finished.failed if finished else len(sync.quarantined(store, name))


def inputs_of(store: Store, name: str, *, wanted: Callable[[], int]) -> int:
    """How many inputs a table has to account for: those of its last complete pass.

    Since then another run may have moved what it is made from, and will work that in. Only where no
    pass was completed `wanted` counts: what there is now.
    """
    finished = store.completion(name)
    return finished.inputs if finished else wanted()


def missing(
    store: Store, *, wanted: Sequence[tuple[str, str]], held: tuple[str, str], rows: int
) -> tuple[int, list[Example]]:
    """How far the `rows` of `held` are from its inputs, failed ones aside, with examples.

    Tables are named with their key columns; the inputs are the rows of those `wanted`. Keys are
    read only where the numbers do not agree.
    """
    name, key = held
    inputs = inputs_of(store, name, wanted=lambda: sum(store.count(table) for table, _ in wanted))
    short = inputs - rows - failed_inputs(store, name)
    if not short:
        return 0, []
    there = _keys(store, name, key)
    known = there | {failure.key for failure in sync.quarantined(store, name)}
    asked: set[str] = set()
    examples: list[Example] = []
    for table, column in wanted:
        keys = _keys(store, table, column)
        examples += _named(store, table, column, keys - known, what="missing")
        asked |= keys
    examples += _named(store, name, key, there - asked, what="not asked for")
    return abs(short), examples[:EXAMPLES_SHOWN]


def _named(
    store: Store, table: str, key: str, units: Collection[str], *, what: str
) -> Iterator[Example]:
    """The first of `units` as a person knows them: the file, or the table and key of the row."""
    shown = sorted(units)[:EXAMPLES_SHOWN]
    held = store.schema(table).names
    columns = [key, *(name for name in NAMING if name in held)]
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
