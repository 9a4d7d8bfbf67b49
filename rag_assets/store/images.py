"""Pictures of figures and formulas: each is stored once, under the hash of its bytes.

A picture is there before the element that names it is committed, so that a killed run leaves at
most pictures that nobody names; a clean-up removes these.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.schemas import ELEMENTS_PREFIX, IMAGES, IMAGES_TABLE
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of, name_of
from rag_assets.store.damage import DAMAGE, DamagedTablesError

KEY = "image"
"""Column of `IMAGES`, and of every table that names pictures."""


class MissingImageError(KeyError):
    """There is no such picture."""


def are_lost(store: Store, name: str) -> bool:
    """Whether elements in the table `name` show pictures, and the table of pictures is gone."""
    if store.exists(IMAGES_TABLE) or KEY not in store.schema(name).names:
        return False
    return store.count(name, where=f"{KEY} IS NOT NULL") > 0


def begin(store: Store, *, log: Callable[[str], None]) -> None:
    """Make the table of pictures, if there is none, before elements name pictures in it.

    Elements that already name some have lost them: their tables are begun anew, since pictures are
    stored while documents are parsed.
    """
    if store.exists(IMAGES_TABLE):
        return
    with _lock_parsed(store, log=log):
        if store.exists(IMAGES_TABLE):
            return
        for name in _parsed(store):
            if are_lost(store, name):
                log(f"the pictures that {name} refers to are missing: {name} is built again")
                store.retire(name)
        store.append(IMAGES_TABLE, IMAGES.empty_table(), schema=IMAGES)


def keep(store: Store, pictures: pa.Table, *, log: Callable[[str], None]) -> int:
    """Store those of `pictures` (schema `IMAGES`) that are not there yet; returns how many."""
    if not pictures.num_rows:
        return 0
    with store.lock(IMAGES_TABLE, log=log):
        new = pictures.filter(pc.invert(pc.is_in(pictures[KEY], stored(store, pictures))))
        firsts = new.append_column("place", pa.array(range(new.num_rows))).group_by(KEY)
        new = new.take(firsts.aggregate([("place", "min")])["place_min"])
        store.append(IMAGES_TABLE, new, schema=IMAGES)
        return new.num_rows


def picture(store: Store, image: str) -> tuple[str, bytes]:
    """Media type and bytes of one picture.

    Raises:
        MissingImageError: It was never stored, or a clean-up removed it.
    """
    if store.exists(IMAGES_TABLE):
        columns = ["media_type", "data"]
        rows = store.read_keys(IMAGES_TABLE, column=KEY, keys=[image], columns=columns)
        if rows.num_rows:
            return rows["media_type"][0].as_py(), rows["data"][0].as_py()
    raise MissingImageError(image)


def large_ones(store: Store, keys: Sequence[str], *, min_pixels: int) -> list[str]:
    """The `keys`, in order, whose pictures have at least `min_pixels`."""
    if not store.exists(IMAGES_TABLE):
        return []
    columns = [KEY, "width", "height"]
    rows = store.read_keys(IMAGES_TABLE, column=KEY, keys=keys, columns=columns)
    large = rows.filter(pc.greater_equal(pc.multiply(rows["width"], rows["height"]), min_pixels))
    chosen = set(large[KEY].to_pylist())
    return [key for key in keys if key in chosen]


def forget_unnamed(store: Store, *, log: Callable[[str], None]) -> int:
    """Remove the pictures that no version of any table names; returns how many.

    Whoever parses documents is waited for: what it has stored is named by its next commit.

    Raises:
        DamagedTablesError: A table cannot be read, and so may name any picture, or the pictures
            themselves cannot: none was removed.
    """
    if not store.exists(IMAGES_TABLE):
        return 0
    with _lock_parsed(store, log=log):
        stored = _stored(store)
        if not stored:
            return 0
        # Of all versions, retired generations included: somebody may still read them.
        named = {image for name in store.generations() for image in _named(store, name)}
        unnamed = sorted(stored - named)
        store.delete(IMAGES_TABLE, column=KEY, keys=unnamed)
        return len(unnamed)


@contextmanager
def _lock_parsed(store: Store, *, log: Callable[[str], None]) -> Generator[None]:
    """Be the one writer of pictures and of all elements, of tables too that begin meanwhile."""
    while True:
        parsed = _parsed(store)
        with store.lock(*parsed, IMAGES_TABLE, log=log):
            # A table of elements may have begun while the locks were waited for.
            if _parsed(store) == parsed:
                yield
                return


def _parsed(store: Store) -> list[str]:
    return [name for name in store.names() if name.startswith(ELEMENTS_PREFIX)]


def stored(store: Store, named: pa.Table) -> pa.Array:
    """The stored pictures among those that the rows of a table name."""
    if not store.exists(IMAGES_TABLE):
        return pa.array([], pa.string())
    wanted = pc.unique(named[KEY]).to_pylist()
    rows = store.read_keys(IMAGES_TABLE, column=KEY, keys=wanted, columns=[KEY])
    return rows[KEY].combine_chunks()


def _stored(store: Store) -> set[str]:
    try:
        return set(store.read(IMAGES_TABLE, columns=[KEY])[KEY].to_pylist())
    except DAMAGE as error:
        raise DamagedTablesError({IMAGES_TABLE: error}) from error


def _named(store: Store, name: str) -> set[str]:
    try:
        return _named_by_versions(store, name)
    except DAMAGE as error:
        raise DamagedTablesError({folder_of(name): error}) from error


def _named_by_versions(store: Store, name: str) -> set[str]:
    if name_of(name) == IMAGES_TABLE or KEY not in store.schema(name).names:
        return set()
    named: set[str] = set()
    for version in store.versions(name):
        if KEY in store.schema(name, version=version).names:
            rows = store.read(name, columns=[KEY], where=f"{KEY} IS NOT NULL", version=version)
            named.update(rows[KEY].to_pylist())
    return named
