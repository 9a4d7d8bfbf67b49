"""What searches leave behind for the next: rankings of arms and scores of rerankers, by content.

A key names all that a value depends on and nothing else: the units' content, the signal and the
index that it searched, the filter, the query and what encoded it; or the query, the text's hash and
the reranker. So the second arm of an experiment pays only for what differs from the first. An exact
dense search has no index, and BM25 counts what its table holds: where a table was built again with
the same content, their results are found. No key names a table version. Values are never wrong,
only missing: a cache that cannot be read or written is one that holds nothing, and a damaged file
is filled anew.
"""

import logging
import sqlite3
import struct
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from zlib import crc32

from rag_assets.retrieval.rankings import Ranking

MOST_BYTES = 2**30
"""A cache that holds more is emptied, and its file filled again."""
TABLES = ("rankings", "scores")
KEYS_AT_ONCE = 500
SECONDS_TO_WAIT = 10
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
CHECK = struct.Struct("<I")
"""CRC-32 of what follows."""
HEAD = struct.Struct("<QQ")
"""How deep a kept ranking reaches, and how many units it holds."""

logger = logging.getLogger(__name__)


class Cache:
    """A file of key and value, which several processes may share."""

    def __init__(self, path: Path | None) -> None:
        """Keep values in the file `path`; nothing is kept without one."""
        self._path = path

    @property
    def is_kept(self) -> bool:
        """Whether anything is kept at all."""
        return self._path is not None

    def rankings(self, keys: Sequence[str], *, depth: int) -> dict[str, Ranking]:
        """The kept rankings that reach down to `depth`, by their key."""
        found = {}
        for key, value in self._get("rankings", keys):
            kept = _unpacked(value)
            if kept is not None and kept[0] >= depth:
                found[key] = kept[1].head(depth)
        return found

    def keep_rankings(self, rankings: Mapping[str, Ranking], *, depth: int) -> None:
        """Keep rankings of the `depth` best units, or of all where there are fewer."""
        packed = ((key, _packed(ranking, depth=depth)) for key, ranking in rankings.items())
        self._put("rankings", packed)

    def scores(self, keys: Sequence[str]) -> dict[str, float]:
        """The kept scores, by their key."""
        return {key: value for key, value in self._get("scores", keys) if isinstance(value, float)}

    def keep_scores(self, scores: Mapping[str, float]) -> None:
        """Keep scores."""
        self._put("scores", scores.items())

    def forget_rankings(self) -> int:
        """Forget all rankings, so that nothing of them stays in the file; returns how many."""
        if self._path is None or not self._path.is_file():
            return 0
        try:
            with self._opened() as database:
                with database:
                    gone = database.execute("DELETE FROM rankings").rowcount
                database.execute("VACUUM")
        except sqlite3.DatabaseError as error:
            logger.warning("the cache %s cannot be read and is removed: %s", self._path, error)
            self._path.with_name(f"{self._path.name}-journal").unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
            return 0
        return gone

    def _get(self, table: str, keys: Sequence[str]) -> Iterator[tuple[str, bytes | float]]:
        if self._path is None or not keys or not self._path.is_file():
            return
        try:
            with self._opened() as database:
                for start in range(0, len(keys), KEYS_AT_ONCE):
                    part = keys[start : start + KEYS_AT_ONCE]
                    marks = ", ".join("?" * len(part))
                    yield from database.execute(
                        f"SELECT key, value FROM {table} WHERE key IN ({marks})", part
                    )
        except sqlite3.Error as error:
            logger.warning("results kept in %s cannot be read: %s", self._path, error)
            self._mend(error)

    def _put(self, table: str, entries: Iterable[tuple[str, bytes | float]]) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._opened() as database, database:
                if _held_bytes(database) > MOST_BYTES:
                    for name in TABLES:
                        database.execute(f"DELETE FROM {name}")
                database.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", entries)
        except (OSError, sqlite3.Error) as error:
            logger.info("results cannot be kept in %s: %s", self._path, error)
            self._mend(error)

    def _mend(self, error: Exception) -> None:
        """Rebuild the file if `error` says that it is damaged, not in use or out of reach."""
        # the low byte is the code, those above say more of it
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED:
            try:
                self._rebuild()
            except (OSError, sqlite3.Error) as failure:
                logger.warning("the damaged file %s cannot be removed: %s", self._path, failure)

    def _rebuild(self) -> None:
        """Remove the file if it is damaged, so that the next to keep anything makes a new one."""
        from filelock import FileLock

        assert self._path is not None, "only a file can be damaged"
        # one at a time: the second would remove what the first has made anew
        with (
            FileLock(self._path.with_suffix(".lock")),
            closing(sqlite3.connect(self._path, timeout=SECONDS_TO_WAIT)) as database,
        ):
            try:
                database.execute("BEGIN EXCLUSIVE")  # nobody is writing to it
                if database.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",):
                    return
            except sqlite3.OperationalError:
                return
            except sqlite3.DatabaseError as error:
                logger.debug("%s is damaged beyond reading: %s", self._path, error)
            # the journal first: it would be rolled back into the new file
            self._path.with_name(f"{self._path.name}-journal").unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path or "", timeout=SECONDS_TO_WAIT)) as database:
            for table in TABLES:
                columns = "(key TEXT PRIMARY KEY, value) WITHOUT ROWID"
                database.execute(f"CREATE TABLE IF NOT EXISTS {table} {columns}")
            yield database


def _packed(ranking: Ranking, *, depth: int) -> bytes:
    """`CHECK`, `HEAD`, the scores, and the ids line by line: JSON takes ten times as long.

    What earlier releases kept looks otherwise, and is taken for damaged.
    """
    scores = struct.pack(f"<{len(ranking)}d", *ranking.scores)
    body = HEAD.pack(depth, len(ranking)) + scores + "\n".join(ranking.unit_ids).encode()
    return CHECK.pack(crc32(body)) + body


def _unpacked(value: bytes | float) -> tuple[int, Ranking] | None:
    """Depth and ranking of `_packed`; None if it is damaged."""
    if not isinstance(value, bytes) or len(value) < CHECK.size + HEAD.size:
        return None
    body = value[CHECK.size :]
    if CHECK.unpack_from(value) != (crc32(body),):
        return None
    depth, count = HEAD.unpack_from(body)
    scores = struct.unpack_from(f"<{count}d", body, HEAD.size)
    units = body[HEAD.size + 8 * count :].decode().split("\n") if count else []
    return depth, Ranking(tuple(units), scores)


def _held_bytes(database: sqlite3.Connection) -> int:
    """Size of what the file holds; pages that were emptied are not given back, but used again."""
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
