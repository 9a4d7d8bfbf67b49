"""Where the tables lie: in a folder, or below a URL of an S3-compatible object store.

Credentials, region and endpoint of an object store come from the environment alone (`AWS_*`).
"""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rag_assets.process.errors import ExplainedError

if TYPE_CHECKING:
    from lancedb.db import DBConnection
    from pyarrow.fs import FileInfo, FileSystem

MANIFESTS = "_versions"
"""Folder of a table with a file for each version: without one there is no table."""
NEWEST_FIRST = 2**64 - 1
"""Lance names a manifest by what is left of this number: a listing begins with the newest."""

Stamp: TypeAlias = tuple[int, int, int]


class UnreachableTablesError(ExplainedError, OSError):
    """The object store that holds the tables does not answer."""

    def __init__(self, url: str, error: OSError) -> None:
        super().__init__(
            f"the tables at {url} cannot be reached ({str(error).splitlines()[0]}): check "
            "`tables_url`, that the store runs, and the AWS_* variables of the environment"
        )


class Folder:
    """Tables on a disk."""

    def __init__(self, path: Path) -> None:
        """Use the folder at `path`; it is made when it is first connected to."""
        self._path = path

    def connect(self) -> "DBConnection":
        """Open it for reading and writing tables."""
        import lancedb

        self._path.mkdir(parents=True, exist_ok=True)
        return lancedb.connect(self._path)

    def uri(self, name: str, /) -> str:
        """The folder of the table, for Lance."""
        return str(self._path / f"{name}.lance")

    def exists(self, name: str, /) -> bool:
        """Whether the table was ever written; a run that was killed before leaves only folders."""
        try:
            with os.scandir(self._path / f"{name}.lance" / MANIFESTS) as versions:
                return any(version.name.endswith(".manifest") for version in versions)
        except FileNotFoundError:
            return False

    def names(self) -> list[str]:
        """All tables, sorted."""
        return sorted(path.stem for path in self._path.glob("*.lance") if self.exists(path.stem))

    def drop(self, name: str, /) -> None:
        """Remove the table if there is one; whoever is killed leaves it whole or gone."""
        folder, dropped = self._path / f"{name}.lance", self._path / f".{name}.dropped"
        remove_folder(dropped)
        if folder.exists():
            # Renamed in one act: a killed run leaves a table or none, and never half of one.
            folder.replace(dropped)
            remove_folder(dropped)

    def stamp(self, name: str, version: int, /) -> Stamp | None:
        """Inode, time and size of the manifest; None where the version is gone."""
        folder = self._path / f"{name}.lance" / MANIFESTS
        with suppress(FileNotFoundError):
            found = (folder / f"{NEWEST_FIRST - version}.manifest").stat()
            return found.st_ino, found.st_mtime_ns, found.st_size
        return None

    def sweep(self) -> None:
        """Remove what killed runs left of tables that they began or dropped; nobody may write."""
        begun = [self._path / f"{name}.lance" for name in self.begun()]
        for folder in (*begun, *self._path.glob(".*.dropped")):
            remove_folder(folder)

    def begun(self) -> list[str]:
        """What killed runs left of tables that they had only begun, sorted."""
        return sorted(
            path.stem for path in self._path.glob("*.lance") if not self.exists(path.stem)
        )

    def sizes(self, name: str, paths: Sequence[str], /) -> dict[str, int | None]:
        """How long these files of a table are, in bytes; None for one that is gone."""
        folder = self._path / f"{name}.lance"
        return {path: _size(folder / path) for path in paths}


class Bucket:
    """Tables in an object store."""

    def __init__(self, url: str) -> None:
        """Use what lies below `url` (`s3://bucket/prefix`); nothing is asked of it yet."""
        self._url = url.rstrip("/")
        self._seen: set[str] = set()

    def connect(self) -> "DBConnection":
        """Open it for reading and writing tables."""
        import lancedb

        return lancedb.connect(self._url)

    def uri(self, name: str, /) -> str:
        """The URL of the table, for Lance."""
        return f"{self._url}/{name}.lance"

    def exists(self, name: str, /) -> bool:
        """Whether the table was ever written; asked of the store until it is."""
        if name not in self._seen:
            found = self._listed(f"/{name}.lance/{MANIFESTS}")
            if any(file.extension == "manifest" for file in found):
                self._seen.add(name)
        return name in self._seen

    def names(self) -> list[str]:
        """All tables, sorted."""
        names = [
            info.base_name.removesuffix(".lance")
            for info in self._listed("")
            if info.extension == "lance"
        ]
        return sorted(name for name in names if self.exists(name))

    def drop(self, name: str, /) -> None:
        """Remove the table: its manifests first, without which there is none."""
        self._seen.discard(name)
        files, root = self._files()
        # An object store renames nothing: without manifests the rest is no table.
        files.delete_dir_contents(f"{root}/{name}.lance/{MANIFESTS}", missing_dir_ok=True)
        files.delete_dir_contents(f"{root}/{name}.lance", missing_dir_ok=True)

    def stamp(self, _name: str, _version: int, /) -> Stamp | None:
        """Always None: to ask for a stamp would take each search a round trip."""
        return None

    def sweep(self) -> None:
        """Remove what killed runs left of tables that they began or dropped."""
        for name in self.begun():
            self.drop(name)

    def begun(self) -> list[str]:
        """What killed runs left of tables that they had only begun, sorted."""
        named = [
            info.base_name.removesuffix(".lance")
            for info in self._listed("")
            if info.extension == "lance"
        ]
        return sorted(name for name in named if not self.exists(name))

    def sizes(self, name: str, paths: Sequence[str], /) -> dict[str, int | None]:
        """How long these files of a table are: one question for all of a folder."""
        folders = {path.rpartition("/")[0] for path in paths}
        found = {
            f"{folder}/{info.base_name}": info.size
            for folder in folders
            for info in self._listed(f"/{name}.lance/{folder}")
        }
        return {path: found.get(path) for path in paths}

    def _listed(self, folder: str) -> "list[FileInfo]":
        """What lies in a folder below the URL; nothing if it is not there."""
        from pyarrow.fs import FileSelector

        try:
            files, root = self._files()
            return files.get_file_info(FileSelector(f"{root}{folder}", allow_not_found=True))
        except OSError as error:
            raise UnreachableTablesError(self._url, error) from error

    def _files(self) -> "tuple[FileSystem, str]":
        from pyarrow.fs import FileSystem

        return FileSystem.from_uri(self._url)


Place: TypeAlias = Folder | Bucket
"""A home of LanceDB tables."""


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def remove_folder(path: Path) -> None:
    """Remove a folder and all below it; it may be gone already."""
    shutil.rmtree(path, ignore_errors=True)
