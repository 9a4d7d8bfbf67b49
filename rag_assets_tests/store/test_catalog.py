"""Which generation a table's name means, whoever registers, retires, forgets or loses the file."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.store import MissingTableError, Store
from rag_assets.store.catalog import folder_of, generation_in, name_of, number_of

ROWS = pa.table({"key": ["a", "b"]})
NAME = "chunks__mine__small-0123456789ab"
RENAMED = "chunks__ours__tiny-0123456789ab"
OTHER = "chunks__mine__small-ba9876543210"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def put(store: Store, name: str, *keys: str) -> None:
    store.append(name, pa.table({"key": list(keys or "ab")}), schema=ROWS.schema)


def keys(store: Store, name: str) -> list[str]:
    return store.read(name)["key"].to_pylist()


@pytest.mark.parametrize("other_process", [False, True])
def test_the_words_of_a_name_do_not_count_but_its_hash(store, other_process):
    put(store, NAME)
    reader = Store(store.root) if other_process else store

    assert keys(reader, RENAMED) == ["a", "b"]
    assert reader.known_as(RENAMED) == NAME
    assert not reader.exists(OTHER)
    assert reader.names() == [NAME]


def test_a_retired_table_is_begun_anew_and_stays_for_those_who_read_it(store):
    put(store, NAME)
    held, version = store.generation(NAME), store.version(NAME)

    store.retire(NAME)
    assert not store.exists(NAME)
    put(store, RENAMED, "c")

    assert keys(store, NAME) == ["c"]
    assert store.read(held, version=version)["key"].to_pylist() == ["a", "b"]
    assert store.names() == [NAME]
    assert store.generations() == [held, store.generation(NAME)]


def test_a_name_that_was_forgotten_is_free(store):
    put(store, NAME)
    store.retire(NAME)
    put(store, NAME, "c")
    for held in store.generations():
        store.forget(held)

    assert store.generations() == []
    with pytest.raises(MissingTableError):
        store.read(NAME)
    put(store, NAME, "d")
    assert keys(store, NAME) == ["d"]


@pytest.mark.parametrize("content", [None, b"", b"[1]", b"{", b"\xff"])
def test_a_lost_or_damaged_catalog_is_read_from_the_folders(store, content):
    put(store, NAME)
    store.retire(NAME)
    put(store, NAME, "c")
    put(store, "table_rows", "r")
    file = store.root / "tables.json"
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)

    again = Store(store.root)
    assert keys(again, RENAMED) == ["c"]
    assert keys(again, "table_rows") == ["r"]
    again.retire(RENAMED)
    put(again, RENAMED, "e")
    assert number_of(again.generation(NAME)) == 3


@pytest.mark.parametrize("name", ["images", "document_files"])
def test_a_table_without_settings_can_be_retired_too(store, name):
    put(store, name)
    store.retire(name)
    assert not Store(store.root).exists(name)
    put(store, name, "c")
    assert keys(Store(store.root), name) == ["c"]


@given(
    st.from_regex(r"[a-z_]{1,9}(__[A-Za-z0-9_-]{1,12}-[0-9a-f]{12})?", fullmatch=True),
    st.integers(1, 99),
)
def test_a_generation_its_name_its_number_and_its_folder_tell_each_other(name, number):
    generation = f"{name}.{number}"
    assert (name_of(generation), number_of(generation)) == (name, number)
    assert generation_in(folder_of(generation)) == generation
