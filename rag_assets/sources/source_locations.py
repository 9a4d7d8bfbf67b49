"""Where a source lies: a folder or file on this machine, a bucket, or a database.

A source that cannot be reached raises `SourceError`; it is never mistaken for an empty one.
"""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from rag_assets.config import ConfigError, TableSource, redacted, resolve_package_path

SQLITE_MAGIC = b"SQLite format 3\x00"
PACKAGE = "package:"
SQLITE_URL = "sqlite:///"
SUFFIXES = (".csv", ".tsv", ".parquet", ".xlsx")
"""The suffixes of files that hold tables."""


class SourceError(Exception):
    """A source cannot be read; the message names it (without a password) and the remedy."""


@dataclass(frozen=True, slots=True)
class Database:
    """Tables behind a SQLAlchemy URL."""

    url: str
    file: Path | None = None
    """The file of an SQLite database; None for a server."""


@dataclass(frozen=True, slots=True)
class TabularFiles:
    """A folder or single file of CSV, Parquet or XLSX."""

    url: str


def local_path(url: str) -> Path | None:
    """The path that `url` stands for on this machine; None for a bucket.

    Raises:
        SourceError: `package:NAME/PATH` does not exist.
    """
    if url.startswith(PACKAGE):
        try:
            return resolve_package_path(url)
        except ConfigError as error:
            raise SourceError(str(error)) from error
    if url.startswith("file:"):
        return Path(url2pathname(urlparse(url).path))
    return None if "://" in url else Path(url)


def place_of(source: TableSource) -> Database | TabularFiles:
    """What the URL of `source` leads to; a file that holds an SQLite database is a database.

    Raises:
        SourceError: A local file or folder does not exist.
    """
    assert source.url is not None, "a dlt source knows its place itself"
    url = source.url.get_secret_value()
    if url.startswith(SQLITE_URL):
        return _sqlite(local_path(url.removeprefix(SQLITE_URL)), url, name=source.name)
    if source.is_database:
        return Database(_with_driver(url))
    path = local_path(url)
    if path is not None and path.is_file() and _is_sqlite(path):
        return Database(f"{SQLITE_URL}{path}", file=path)
    return TabularFiles(url)


def shown(source: TableSource) -> str:
    """The place of `source` as a person may see it: without a password."""
    return redacted(source.url.get_secret_value()) if source.url else f"the source {source.dlt}"


def _sqlite(path: Path | None, url: str, *, name: str) -> Database:
    if path is None or not path.name or path.name == ":memory:":
        raise SourceError(f"{name}: {redacted(url)} names no file: write sqlite:///PATH")
    if url.startswith(f"{SQLITE_URL}file:"):
        return Database(url)
    if not path.is_file():
        raise SourceError(f"{name}: there is no database file {path}: check sources.tables.url")
    return Database(f"{SQLITE_URL}{path}", file=path)


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def _with_driver(url: str) -> str:
    """`url` with psycopg named as the driver of PostgreSQL, the one that is installed.

    It takes what its predecessor takes, which shows the date `infinity` as the year 9999.
    """
    for scheme in ("postgresql://", "postgres://", "postgresql+psycopg2://"):
        if url.startswith(scheme):
            return f"postgresql+psycopg://{url.removeprefix(scheme)}"
    return url
