import pyarrow as pa
import pytest

from rag_assets.change import row_inputs
from rag_assets.config import SERIALIZERS as NAMES
from rag_assets.config import Config, Tables
from rag_assets.config.addresses import serialized_rows_table
from rag_assets.identity import text_hash
from rag_assets.store import Store
from rag_assets.tables import serialize
from rag_assets.tables.serialize import refresh_serialized_rows
from rag_assets.tables.step_tables import serialized_of
from rag_assets.tables.table_rows import refresh_rows
from rag_assets_tests.tables.exported_tables import STEEL, write_table
from rag_assets_tests.tables.test_serializers import APPENDIX

DROP = Config()
KEEP = Config(tables=Tables(empty_cells="keep"))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def refresh(store, config=DROP, *, serializer="full_semantic", **options):
    refresh_rows(store, sources={"db"}, log=lambda _: None)
    return refresh_serialized_rows(
        store, config, serializer=serializer, log=lambda _: None, **options
    )


def texts(store, config=DROP, *, serializer="full_semantic"):
    rows = store.read(serialized_rows_table(config, serializer), columns=["row_key", "text"])
    return rows.sort_by("row_key")["text"].to_pylist()


def counts(report):
    return report.added, report.changed, report.removed, report.unchanged, report.failed


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_the_appendix_becomes_its_texts(store, name):
    write_table(store, STEEL)

    report = refresh(store, KEEP, serializer=name)

    assert counts(report) == (2, 0, 0, 0, 0)
    assert texts(store, KEEP, serializer=name) == list(APPENDIX[name])


def test_the_target_is_the_table_that_variants_read():
    for name in NAMES:
        config = Config(variants={"v": {"serializer": name}})
        assert serialized_of(config, name).table == config.tables_of("v").serialized_rows


def test_empty_cells_are_dropped_unless_they_are_kept(store):
    write_table(store, [{**STEEL[1], "melting": None}, {**STEEL[1], "id": 3, "material": "  "}])

    refresh(store)
    assert texts(store) == [
        "Item in Metal properties where Material is Steel B.",
        "Item in Metal properties where Melting point is 1400.",
    ]

    assert counts(refresh(store, KEEP)) == (2, 0, 0, 0, 0)
    assert texts(store, KEEP)[0] == (
        "Item in Metal properties where Material is Steel B and Melting point is Null "
        "and Yield strength is Null."
    )


def test_hidden_columns_stay_out_of_the_text(store):
    write_table(store, STEEL, hidden=["id", "material"])

    refresh(store)

    assert texts(store)[1] == "Item in Metal properties where Melting point is 1400."


def test_a_text_knows_its_row_and_its_hash(store):
    write_table(store, STEEL)

    refresh(store)

    written = (
        store.read(serialized_rows_table(DROP, "full_semantic")).sort_by("row_key").to_pylist()
    )
    rows = store.read("table_rows").sort_by("row_key").to_pylist()
    for text, row in zip(written, rows, strict=True):
        for name in ("row_id", "source", "table", "title", "row_key"):
            assert text[name] == row[name]
        assert text["text_hash"] == text_hash(text["text"])


@pytest.mark.parametrize("config", [DROP, KEEP])
def test_a_row_with_nothing_to_write_waits_until_it_changes(store, config):
    empty = {"id": 3, "material": None, "melting": None, "yield_strength": ""}
    write_table(store, [*STEEL, empty])

    report = refresh(store, config)

    assert counts(report) == (2, 0, 0, 0, 1)
    assert report.failures[0].label == "db/metals row 3"
    assert report.failures[0].reason.startswith("no values to write")
    assert counts(refresh(store, config)) == (0, 0, 0, 2, 1)
    write_table(store, [*STEEL, {**empty, "melting": 7}])
    assert counts(refresh(store, config)) == (1, 0, 0, 2, 0)


def test_only_the_texts_of_changed_rows_are_written(store, monkeypatch):
    write_table(store, STEEL)
    refresh(store)
    write_table(store, [STEEL[0], {**STEEL[1], "melting": 1405}])
    written = []
    serialized = serialize.serialized
    monkeypatch.setattr(
        serialize,
        "serialized",
        lambda rows, **options: written.append(rows.num_rows) or serialized(rows, **options),
    )

    assert counts(refresh(store)) == (1, 0, 1, 1, 0)
    assert written == [1]
    assert not refresh(store).touched
    assert written == [1]


def test_a_new_heading_changes_the_texts_in_place(store):
    write_table(store, STEEL)
    refresh(store)

    write_table(store, STEEL, headings={"melting": "melting point [°C]"}, hidden=["id"])

    assert counts(refresh(store)) == (0, 2, 0, 0, 0)
    assert "melting point is 1400 °C" in texts(store)[1]


def test_ids_are_the_same_whatever_the_serializer(store):
    write_table(store, STEEL)
    refresh(store)
    refresh(store, serializer="json")

    ids = [
        set(store.read(serialized_rows_table(DROP, name))["row_id"].to_pylist())
        for name in ("full_semantic", "json")
    ]

    assert ids[0] == ids[1]


def test_many_changes_are_read_in_one_pass(store, monkeypatch):
    monkeypatch.setattr(row_inputs, "ROWS_AT_ONCE", 8)
    rows = [{"id": number, "material": f"Steel {number}"} for number in range(100)]
    write_table(store, pa.Table.from_pylist(rows))
    refresh(store)

    write_table(store, pa.Table.from_pylist([{**row, "material": "New"} for row in rows[:40]]))

    assert counts(refresh(store)) == (40, 0, 100, 0, 0)
    assert texts(store) == ["Item in Metal properties where Material is New."] * 40
