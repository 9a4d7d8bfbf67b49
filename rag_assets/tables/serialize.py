"""`serialized_rows__<serializer>`: each row of `table_rows` as text.

Hidden columns stay out of the text, and so do empty cells unless the config keeps them. A row with
nothing left to write is a `Failure` that waits until the row changes.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.row_inputs import RowInputs, rows_named
from rag_assets.change.steps import made_from
from rag_assets.change.sync import Batch, Derivation, Failure, Report, Work, refresh
from rag_assets.config import Config, SerializerName
from rag_assets.identity import fingerprint, text_hash
from rag_assets.schemas import TABLE_ROWS_TABLE
from rag_assets.store import Store
from rag_assets.tables.headings import split
from rag_assets.tables.serializers import EMPTY, Pair, Serializer, serializer_of
from rag_assets.tables.step_tables import SERIALIZING, serialized_of
from rag_assets.tables.units import texts_shown

EmptyCells: TypeAlias = Literal["drop", "keep"]
NAMES = ("row_id", "source", "table", "title", "row_key")
PARTS = (*NAMES, "pairs", "shown")
"""Columns of `table_rows` that a text is made of."""


def refresh_serialized_rows(
    store: Store,
    config: Config,
    *,
    serializer: SerializerName,
    log: Callable[[str], None],
    retry: bool = False,
) -> Report:
    """Bring the table of `serializer` up to `table_rows`; `retry` also tries failed rows."""
    empty_cells = config.tables.empty_cells
    of_rows = derivation(store, config, serializer=serializer)
    pinned: dict[str, int] = {}

    def inputs() -> RowInputs:
        rows = _inputs(store, recipe=_recipe(config, serializer))
        pinned.update(rows.tables)
        return rows

    def transform(changed: pa.Table, /) -> Iterator[Batch]:
        [(table, version)] = pinned.items()
        for rows in rows_named(
            store, table, key="row_id", keys=changed["key"], columns=PARTS, version=version
        ):
            yield serialized(rows, serializer=serializer, empty_cells=empty_cells)

    return refresh(Work.of(of_rows, transform, inputs=inputs), log=log, retry=retry)


def derivation(store: Store, config: Config, *, serializer: SerializerName) -> Derivation:
    """The table of `serializer`, made from `table_rows`."""
    recipe = _recipe(config, serializer)
    step = serialized_of(config, serializer)
    return Derivation(
        store=store,
        target=step.target(schemas.SERIALIZED_ROWS),
        made_from=made_from(store, step.inputs, recipe=recipe),
        recipe={"serializer": serializer, "empty cells": config.tables.empty_cells},
        inputs=lambda: _inputs(store, recipe=recipe),
    )


def _recipe(config: Config, serializer: SerializerName) -> str:
    return fingerprint("serialized_rows", SERIALIZING, serializer, config.tables.empty_cells)


def _inputs(store: Store, *, recipe: str) -> RowInputs:
    return RowInputs.of(store, TABLE_ROWS_TABLE, key="row_id", recipe=recipe)


def serialized(rows: pa.Table, *, serializer: SerializerName, empty_cells: EmptyCells) -> Batch:
    """`rows` (schema `schemas.TABLE_ROWS`) with their texts."""
    write = serializer_of(serializer)
    texts = [
        _written(write, title, pairs, serializer=serializer)
        for title, pairs in zip(rows["title"].to_pylist(), _visible(rows, empty_cells), strict=True)
    ]
    written = pa.array([isinstance(text, str) for text in texts], pa.bool_())
    kept = rows.select(list(NAMES)).filter(written)
    found = [text for text in texts if isinstance(text, str)]
    kept = kept.append_column("text", pa.array(found, pa.string()))
    kept = kept.append_column("text_hash", pa.array([*map(text_hash, found)], pa.string()))
    reasons = [text.reason for text in texts if isinstance(text, _Unwritten)]
    unwritten = rows.select(list(NAMES)).filter(pc.invert(written)).to_pylist()
    return Batch(
        kept,
        done=kept["row_id"].to_pylist(),
        failed=[
            Failure(
                key=row["row_id"],
                label=f"{row['source']}/{row['table']} row {row['row_key']}",
                reason=reason,
            )
            for row, reason in zip(unwritten, reasons, strict=True)
        ],
    )


class _Unwritten(NamedTuple):
    """A row that has no text."""

    reason: str


def _written(
    write: Serializer, title: str, pairs: Sequence[Pair], *, serializer: SerializerName
) -> str | _Unwritten:
    """The text of a row; a serializer of somebody's own may fail on it."""
    if not pairs:
        return _Unwritten("no values to write: every column is empty or hidden")
    try:
        text = write(title, pairs)
        if not (isinstance(text, str) and text):
            return _Unwritten(f"{serializer} gives {text!r:.80}, which is no text")
        text.encode()
    except Exception as error:  # whatever code of others raises
        return _Unwritten(f"{serializer} fails: {type(error).__name__}: {error}")
    return text


def _visible(rows: pa.Table, empty_cells: EmptyCells) -> Iterator[Sequence[Pair]]:
    """For each row the pairs that are written; none where all values are empty or hidden."""
    lists = rows["pairs"].combine_chunks()
    heading, value, numeric, hidden = (
        pc.struct_field(lists.flatten(), name) for name in ("heading", "value", "numeric", "hidden")
    )
    if rows["shown"].null_count < len(rows):
        heading, value, numeric = _as_shown(rows, heading, value, numeric)
    value = pc.if_else(pc.equal(pc.utf8_trim_whitespace(value), ""), None, value)
    shown = pc.invert(hidden)
    filled = pc.and_(shown, pc.is_valid(value))
    if empty_cells == "drop":
        shown = filled
    headings = heading.filter(shown).to_pylist()
    values = pc.fill_null(value.filter(shown), EMPTY).to_pylist()
    numbers = numeric.filter(shown).to_pylist()
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    shown_before, filled_before = (
        np.concatenate([[0], np.cumsum(mask.to_numpy(zero_copy_only=False))])[ends].tolist()
        for mask in (shown, filled)
    )
    for (start, end), (first, last) in zip(
        pairwise(shown_before), pairwise(filled_before), strict=True
    ):
        if first == last:
            yield ()
        else:
            yield [*map(Pair, headings[start:end], values[start:end], numbers[start:end])]


def _as_shown(
    rows: pa.Table, heading: pa.Array, value: pa.Array, numeric: pa.Array
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Headings, values, and whether these are numbers, as the file shows them."""
    shown = texts_shown(rows["pairs"], rows["shown"])
    headings = [
        words if text and (unit := split(whole)[1]) and unit in text else whole
        for whole, text in zip(heading.to_pylist(), shown.to_pylist(), strict=True)
        for words in [split(whole)[0]]
    ]
    is_shown = pc.is_valid(shown)
    return (
        pa.array(headings, pa.string()),
        pc.if_else(is_shown, shown, value),
        pc.and_not(numeric, is_shown),
    )
