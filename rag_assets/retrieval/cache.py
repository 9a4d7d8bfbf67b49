"""Cache of search results: rankings of single signals, and scores of rerankers.

A key is a fingerprint of everything that a value depends on, and of nothing else. For a ranking:
the content of the units, the signal, the state of its index, the filter, the query and its encoder.
For a score: the query, the hash of the text and the reranker. So the second arm of an experiment
computes only what differs from the first. No key names a table version: a table that was built
again with the same content finds its results, for exact dense search and for BM25.

A cached value is never wrong, only missing. A cache that cannot be read or written behaves like an
empty one, and a damaged file is replaced.
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
"""A larger cache is emptied before the next result is kept."""
TABLES = ("rankings", "scores")
KEYS_AT_ONCE = 500
SECONDS_TO_WAIT = 10
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
CHECK = struct.Struct("<I")
"""CRC-32 of the bytes that follow."""
HEAD = struct.Struct("<QQ")
"""Depth of a cached ranking, and its number of units."""

logger = logging.getLogger(__name__)


class Cache:
    """A file of keys and values. Several processes may share it."""

    def __init__(self, path: Path | None) -> None:
        """Keep values in the file `path`; without one nothing is kept."""
        self._path = path

    @property
    def is_kept(self) -> bool:
        """Whether anything is kept at all."""
        return self._path is not None

    def rankings(self, keys: Sequence[str], *, depth: int) -> dict[str, Ranking]:
        """The cached rankings of at least `depth` units, by their key."""
        found = {}
        for key, value in self._get("rankings", keys):
            kept = _unpacked(value)
            if kept is not None and kept[0] >= depth:
                found[key] = kept[1].head(depth)
        return found

    def keep_rankings(self, rankings: Mapping[str, Ranking], *, depth: int) -> None:
        """Keep rankings of the `depth` best units, or of all units if there are fewer."""
        packed = ((key, _packed(ranking, depth=depth)) for key, ranking in rankings.items())
        self._put("rankings", packed)

    def scores(self, keys: Sequence[str]) -> dict[str, float]:
        """The cached scores, by their key."""
        return {key: value for key, value in self._get("scores", keys) if isinstance(value, float)}

    def keep_scores(self, scores: Mapping[str, float]) -> None:
        """Keep the scores of texts for a query."""
        self._put("scores", scores.items())

    def erase_rankings(self) -> int:
        """Erase all rankings, so that no trace of them stays in the file; returns how many."""
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
            logger.warning("cached results in %s cannot be read: %s", self._path, error)
            self._mend(error)

    def _put(self, table: str, entries: Iterable[tuple[str, bytes | float]]) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._opened() as database, database:
                if _used_bytes(database) > MOST_BYTES:
                    for name in TABLES:
                        database.execute(f"DELETE FROM {name}")
                database.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", entries)
        except (OSError, sqlite3.Error) as error:
            logger.info("results cannot be kept in %s: %s", self._path, error)
            self._mend(error)

    def _mend(self, error: Exception) -> None:
        """Remove a damaged file. An `error` about a busy or unreachable file changes nothing."""
        # the low byte is the primary code, the others give details
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED:
            try:
                self._rebuild()
            except (OSError, sqlite3.Error) as failure:
                logger.warning("the damaged file %s cannot be removed: %s", self._path, failure)

    def _rebuild(self) -> None:
        """Remove the file if it is damaged; the next value that is kept makes a new one."""
        from filelock import FileLock

        assert self._path is not None, "only a file can be damaged"
        # one process at a time: a second one would remove the new file of the first
        with (
            FileLock(self._path.with_suffix(".lock")),
            closing(sqlite3.connect(self._path, timeout=SECONDS_TO_WAIT)) as database,
        ):
            try:
                database.execute("BEGIN EXCLUSIVE")  # no other process is writing to it
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
    """`CHECK`, `HEAD`, the scores, and the ids line by line: JSON takes ten times as long."""
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


def _used_bytes(database: sqlite3.Connection) -> int:
    """Size of the content; emptied pages stay in the file and are used again."""
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
