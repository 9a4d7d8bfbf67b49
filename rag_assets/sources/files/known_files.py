"""What was found out about each file, so that only a file that moved is read again.

A cache beside the manifest: whoever loses it reads all files once more.
"""

import time
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.identity import document_ids
from rag_assets.sources.files.listing import Entry, Listing
from rag_assets.sources.step_tables import FILES
from rag_assets.store import Store
from rag_assets.store.atomic import put

RECIPE = str(FILES.revision)
"""Raised when a file may be judged differently than before."""
SAVE_EVERY_SECONDS = 30.0

CONTENT = pa.schema(
    [item for item in schemas.DOCUMENT_FILES if item.name not in schemas.SYSTEM_COLUMNS]
)
ROWS = pa.schema([*CONTENT, schemas.FINGERPRINT])
"""The schema of rows of the manifest, as they are found out."""
_LOOK = ("size", "modified", "mark")
"""What tells that a file moved."""
_SEEN = pa.schema(
    [
        pa.field("document_id", pa.string()),
        *(pa.field(name, pa.int64()) for name in _LOOK),
        pa.field("sha256", pa.string()),
        pa.field("media_type", pa.string()),
        pa.field("status", pa.string()),
        pa.field("reason", pa.string()),
        schemas.FINGERPRINT,
    ],
    metadata={"recipe": f"{RECIPE}, looks 3"},
)


class KnownFiles:
    """What the bytes of each file were at the last look: a cache that may be lost."""

    def __init__(self, store: Store) -> None:
        self._file = store.root / "looks" / f"{schemas.DOCUMENT_FILES_TABLE}.parquet"
        self._known = _SEEN.empty_table()
        self._fresh: dict[str, dict[str, object]] = {}
        self._saved = time.monotonic()
        if self._file.is_file():
            import pyarrow.parquet as pq

            try:
                table = pq.read_table(self._file)
            except (pa.ArrowException, OSError):
                return  # damaged: all files are looked at again
            if table.schema.metadata == _SEEN.metadata:
                self._known = table

    def unmoved(self, listing: Listing) -> tuple[list[Entry], pa.Table]:
        """The entries that must be read, and the rows of the others."""
        entries, source = listing.entries, listing.source
        ids = document_ids(source.name, [entry.uri for entry in entries])
        places = KeyIndex(self._known["document_id"]).places(pa.array(ids, pa.string()))
        here = np.flatnonzero(places != ABSENT)
        kept = self._known.take(pa.array(places[here]))
        known = [entries[place] for place in here.tolist()]
        may_stay = [not entry.problem and entry.size <= source.max_bytes for entry in known]
        is_same = np.array(may_stay, bool)
        for name in _LOOK:
            now = np.array([getattr(entry, name) for entry in known], np.int64)
            is_same &= kept[name].to_numpy() == now
        rows = kept.filter(pa.array(is_same))
        same = here[is_same]
        moved = np.delete(np.arange(len(entries)), same).tolist()
        columns = {name: rows[name] for name in rows.column_names if name in ROWS.names} | {
            "source": pa.repeat(pa.scalar(source.name), len(same)),
            "uri": pa.array([entries[place].uri for place in same.tolist()], pa.string()),
            "modified": rows["modified"].cast(ROWS.field("modified").type),
        }
        return [entries[place] for place in moved], pa.table(columns, schema=ROWS)

    def add(self, entry: Entry, row: Mapping[str, object]) -> None:
        """Remember what a file was found to be; a long pass is saved on the way."""
        found = {name: row[name] for name in _SEEN.names if name in row}
        look = {name: getattr(entry, name) for name in _LOOK}
        self._fresh[str(row["document_id"])] = found | look
        if time.monotonic() - self._saved > SAVE_EVERY_SECONDS:
            self.save()

    def forget(self, document: str) -> None:
        """Have nothing written down of a document."""
        known = self._known["document_id"]
        self.save(keep=known.filter(pc.not_equal(known, document)))

    def save(self, *, keep: pa.ChunkedArray | None = None) -> None:
        """Write down the entries whose key is in `keep`, all if None."""
        import pyarrow.parquet as pq

        fresh = pa.Table.from_pylist(list(self._fresh.values()), schema=_SEEN)
        is_old = KeyIndex(fresh["document_id"]).places(self._known["document_id"]) == ABSENT
        rows = pa.concat_tables([self._known.filter(pa.array(is_old)), fresh])
        if keep is not None:
            is_kept = KeyIndex(keep).places(rows["document_id"]) != ABSENT
            rows = rows.filter(pa.array(is_kept))
        if not self._fresh and rows.num_rows == self._known.num_rows:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".fresh")
        pq.write_table(rows, new)
        put(new, self._file)
        self._saved = time.monotonic()
