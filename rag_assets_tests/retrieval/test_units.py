"""Units are the same whether they are read from disk or held in memory."""

import numpy as np
import pytest

from rag_assets.columns.sql import is_one_of
from rag_assets.config import Config
from rag_assets.retrieval import units as module
from rag_assets.retrieval.units import UNSHOWN_COLUMNS, UnitTable
from rag_assets.store import Store
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, row, write

UNITS = [
    *(
        chunk(f"text {place}", unit_id=f"c{place}", pages=[place, place + 1], fields=["by: me"])
        for place in range(6)
    ),
    *(row(f"row {place}", table="alloys", key=str(place), unit_id=f"r{place}") for place in "123"),
]
COLUMNS = ("text", "unit_id", "pages", "fields", "row_key")
ASKED = ("r3", "c5", "c0", "r1")


@pytest.fixture
def table(tmp_path):
    """Two fragments, in each of which rows were deleted."""
    store, config = Store(tmp_path), Config(state_dir=tmp_path)
    vectors = np.eye(len(UNITS), dtype=np.float32)
    write(store, config, UNITS[:7], vectors[:7])
    write(store, config, UNITS[7:], vectors[7:])
    name = config.tables_of(VARIANT).joint
    store.open(name).delete(is_one_of("unit_id", ["c1", "c2", "r2"]))
    return store.open(name)


@pytest.fixture
def only_from_memory(monkeypatch):
    """Reading rows from disk fails once it is called."""

    def forbid() -> None:
        def read(*_, **__):
            raise AssertionError("read from disk")

        monkeypatch.setattr(module, "rows_of", read)

    return forbid


def test_from_the_second_time_on_units_are_read_from_memory(table, only_from_memory):
    units = UnitTable(table)
    first = units.read(ASKED, columns=COLUMNS)

    only_from_memory()
    second = units.read(ASKED, columns=COLUMNS)

    assert second.schema.names == list(COLUMNS)
    assert second.to_pylist() == first.to_pylist()
    assert second["unit_id"].to_pylist() == list(ASKED)
    assert units.read([], columns=COLUMNS).num_rows == 0


def test_what_is_not_held_is_read_from_disk(table):
    units = UnitTable(table)
    for _ in range(2):
        found = units.read(
            ["c5", "c0"], columns=["unit_id", *{*units.dataset.schema.names} & {*UNSHOWN_COLUMNS}]
        )
    assert found["vector"].combine_chunks().flatten().to_numpy().reshape(2, -1).argmax(
        axis=1
    ).tolist() == [5, 0]


def test_units_that_would_take_too_much_memory_are_not_held(table, only_from_memory, monkeypatch):
    monkeypatch.setattr(module, "MEMORY_BYTES", 100)
    units = UnitTable(table)
    assert units.read(ASKED, columns=COLUMNS) == units.read(ASKED, columns=COLUMNS)
    only_from_memory()
    with pytest.raises(AssertionError, match="from disk"):
        units.read(ASKED, columns=COLUMNS)


def test_an_empty_table_can_be_read_again(table):
    table.delete("true")
    units = UnitTable(table)
    assert [units.read([], columns=COLUMNS).num_rows for _ in range(2)] == [0, 0]
