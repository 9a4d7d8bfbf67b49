"""Texts to be embedded, and the tables of the state that may hold their vectors already."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from rag_assets.columns.gathered import gathered
from rag_assets.columns.keys import ABSENT, DigestIndex, Digests, KeyIndex, digests
from rag_assets.columns.sql import KEYS_PER_STATEMENT, quoted
from rag_assets.index.parts import TEXT
from rag_assets.index.units import TextSource
from rag_assets.models.weights import is_sparse
from rag_assets.store import ROW_ID, Store

OWNERS = ("documents__", "rows__")
"""Prefixes of the tables that own vectors; the joint table copies them."""
ROWS_AT_ONCE = 65_536
TEXTS_AT_ONCE = 16_384
SIZES = {"text_hash": "text_hash", "bytes": "octet_length(text)"}
SCANNED_FROM_SHARE = 16
"""If more than one text in so many changed, all texts are scanned: to name a row costs more than to
pass over one."""


def planned(
    store: Store, source: TextSource, keys: pa.ChunkedArray, *, name: str, version: int
) -> pa.Table:
    """The texts of the rows with these `keys`: their digests (`TEXT`), bytes and row id.

    Args:
        store: Holds the source.
        source: The source of the texts.
        keys: The keys of its rows.
        name: The generation of the source.
        version: The version that is read.
    """
    if len(keys) * SCANNED_FROM_SHARE <= store.count(source.name):  # of an empty table as well
        return _looked_up(store, source, keys, name=name, version=version)
    return _scanned(store, source, keys, name=name, version=version)


def _scanned(
    store: Store, source: TextSource, keys: pa.ChunkedArray, *, name: str, version: int
) -> pa.Table:
    """What is planned, from all rows of the source."""
    index = KeyIndex(keys)
    parts = []
    for batch in store.batches(
        name,
        columns={source.key: source.key, **SIZES},
        version=version,
        rows=TEXTS_AT_ONCE,
        with_row_ids=True,
    ):
        is_wanted = index.places(batch[source.key]) != ABSENT
        parts.append(_digested(pa.table(batch).filter(pa.array(is_wanted))))
    return pa.concat_tables(parts)


def _looked_up(
    store: Store, source: TextSource, keys: pa.ChunkedArray, *, name: str, version: int
) -> pa.Table:
    """The texts of the rows of `keys`, which are read alone."""
    row_ids = store.row_ids(name, column=source.key, keys=keys, version=version)
    columns = {**SIZES, ROW_ID: ROW_ID}
    return pa.concat_tables(
        _digested(store.take(name, some, columns=columns, version=version))
        for some in np.array_split(row_ids, len(row_ids) // KEYS_PER_STATEMENT + 1)
    )


def _digested(rows: pa.Table) -> pa.Table:
    """Rows of a source, made of `SIZES` and row ids, as rows of a plan."""
    columns = zip(TEXT, digests(rows["text_hash"]), strict=True)
    named = {name: pa.array(values) for name, values in columns}
    return pa.table(named | {name: rows[name] for name in ("bytes", ROW_ID)})


def tables_with_vectors(
    store: Store, *, target: str, log: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Tables that may hold vectors, retired ones too, `target` first."""
    own = store.generation(target)
    tables = store.stock(*OWNERS, log=log)
    tables.sort(key=lambda name: name != own)
    return [name for name in tables if "encoder_id" in store.schema(name).names]


def places_of_vectors(
    store: Store, table: str, texts: Digests, *, encoder_id: str, version: int
) -> np.ndarray:
    """For each text the id of a row of `table` that has its vector, `ABSENT` if none has."""
    index = DigestIndex(texts)
    found = np.full(len(texts[0]), ABSENT)
    batches = store.batches(
        table,
        columns=["text_hash"],
        where=_gives(encoder_id),
        version=version,
        rows=ROWS_AT_ONCE,
        with_row_ids=True,
    )
    for part in gathered(batches):
        places = index.places_of(part["text_hash"])
        is_wanted = places != ABSENT
        found[places[is_wanted]] = part[ROW_ID].to_numpy()[is_wanted]
    return found[index.places(texts)]


def _gives(encoder_id: str) -> str:
    """Condition on units that hold what the encoder gives, or lexical weights as well."""
    exactly = f"encoder_id = {quoted(encoder_id)}"
    if is_sparse(encoder_id):
        return exactly
    return f"({exactly} OR starts_with(encoder_id, {quoted(f'{encoder_id}/')}))"


def lack_vectors(store: Store, texts: Digests, *, target: str, encoder_id: str) -> np.ndarray:
    """For each text whether no table holds its vector (boolean); `target` is looked at first."""
    is_missing = np.ones(len(texts[0]), bool)
    for table in tables_with_vectors(store, target=target):
        if not is_missing.any():
            break
        version = store.version(table)
        places = places_of_vectors(store, table, texts, encoder_id=encoder_id, version=version)
        is_missing &= places == ABSENT
    return is_missing
