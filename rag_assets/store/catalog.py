"""Which generation of a table its name means now.

A derived table is addressed by what it holds and by a hash of the settings that made it; the words
between the two are for people: `chunks__pymupdf__fixed_256-5d0b7c1e2f3a` is the same table under
whatever name its recipe has. A table that has to be begun anew (its columns are other ones, what
lay beside it is gone) is retired: the next generation begins in a folder of its own, and the old
one stays for those who read it, until a clean-up finds that nobody names it any more. So a version
number never comes to mean other rows.

`tables.json` in the state folder says of each address which generation it has; where that is lost,
the folders tell. Generation 1 of `images` lies in `images.lance`, generation 2 in `images.2.lance`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from rag_assets.store.atomic import write_atomically

ADDRESS = re.compile(r"(?P<kind>[a-z_]+?)__[\w-]+-(?P<hash>[0-9a-f]{12})", re.ASCII)
GENERATION = re.compile(r"(?P<name>[\w-]+)\.(?P<number>\d+)", re.ASCII)

Lock = Callable[[], AbstractContextManager[None]]


class Catalog:
    """The generations of a store's tables, read from its file again when that changes."""

    def __init__(self, file: Path, *, written: Callable[[], Sequence[str]], lock: Lock) -> None:
        """Use `file`, which is there once a table was registered or retired.

        Args:
            file: The file of the catalog.
            written: All generations that were ever written.
            lock: Makes the caller the one who writes the file.
        """
        self._file = file
        self._written_generations = written
        self._lock = lock
        self._stamp: tuple[int, int, int] | None = None
        self._generations: Mapping[str, str] = {}
        self._named: Mapping[str, str] = {}

    def generation(self, name: str) -> str:
        """The generation that a table's `name` means; one that is given stays."""
        if GENERATION.fullmatch(name):
            return name
        self._read()
        known = self._generations.get(_address(name)) or self._named.get(name)
        return known or self._found(name) or first(name)

    def register(self, name: str) -> None:
        """Settle under which words the table is known, before it is first written."""
        if not ADDRESS.fullmatch(name):
            return
        self._read()
        if _address(name) in self._generations or name in self._named:
            return
        with self._lock():
            self._read()
            if _address(name) not in self._generations:
                self._write({**self._generations, _address(name): self.generation(name)})

    def succeed(self, name: str, *, by: int) -> None:
        """Let the table be known by its generation number `by` from now on."""
        with self._lock():
            self._read()
            current = self.generation(name)
            next_one = f"{name_of(current)}.{by}"
            addresses = [key for key, value in self._generations.items() if value == current]
            address = addresses[0] if addresses else _address(name)
            self._write({**self._generations, address: next_one})

    def forget(self, generation: str) -> None:
        """Take a generation out that was removed for good."""
        with self._lock():
            self._read()
            left = {key: value for key, value in self._generations.items() if value != generation}
            if len(left) < len(self._generations):
                self._write(left)

    def _found(self, name: str) -> str | None:
        """A generation that is there without being written down, the newest one."""
        if not ADDRESS.fullmatch(name):
            return None
        written = sorted(self._written_generations(), key=number_of)
        alike = [each for each in written if _address(name_of(each)) == _address(name)]
        return alike[-1] if alike else None

    def _read(self) -> None:
        try:
            found = self._file.stat()
        except FileNotFoundError:
            self._stamp, self._generations, self._named = None, {}, {}
            return
        # The inode too: two writes within one tick of the clock may have the same size.
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._stamp:
            self._generations = self._written()
            self._named = {name_of(value): value for value in self._generations.values()}
            self._stamp = stamp

    def _written(self) -> Mapping[str, str]:
        try:
            return dict(json.loads(self._file.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return {}

    def _write(self, generations: Mapping[str, str]) -> None:
        write_atomically(self._file, json.dumps(generations, indent=1, sort_keys=True))


def is_of_recipe(name: str) -> bool:
    """Whether a table is made by settings, with a hash of them in its name.

    All other tables there is one of, whatever the settings.
    """
    return "__" in name


def first(name: str) -> str:
    """The first generation of a table."""
    return f"{name}.1"


def name_of(generation: str) -> str:
    """The table of which this is a generation: what its records and its locks are known by."""
    return _parts(generation)[0]


def number_of(generation: str) -> int:
    """The number of a generation of its table, from 1."""
    return _parts(generation)[1]


def folder_of(generation: str) -> str:
    """The folder of a generation, without its suffix."""
    name, number = _parts(generation)
    return name if number == 1 else generation


def generation_in(folder: str) -> str:
    """The generation that lies in a folder: the opposite of `folder_of`."""
    return folder if GENERATION.fullmatch(folder) else first(folder)


def _parts(generation: str) -> tuple[str, int]:
    name, _, number = generation.rpartition(".")
    return name, int(number)


def _address(name: str) -> str:
    """What a name says to the machine: without the words for people."""
    found = ADDRESS.fullmatch(name)
    return f"{found['kind']}__{found['hash']}" if found else name
