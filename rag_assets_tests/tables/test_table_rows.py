import subprocess
import sys
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.identity import row_id
from rag_assets.store import Store, exports
from rag_assets.store.damage import DamagedTablesError
from rag_assets.tables import exported, table_rows
from rag_assets.tables.table_rows import refresh_rows
from rag_assets_testing.exported import table_in
from rag_assets_testing.exported import tables as exported_tables
from rag_assets_tests.tables.exported_tables import STEEL, write_table


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def refresh(store, **options):
    everything = {source for source, _ in exported_tables(store)}
    return refresh_rows(store, **{"sources": everything, "log": lambda _: None} | options)


def held(store):
    return store.read("table_rows").sort_by([("table", "ascending"), ("row_key", "ascending")])


def counts(report):
    return report.added, report.changed, report.removed, report.unchanged, report.failed


def test_rows_are_pairs_with_headings_in_plain_words(store):
    write_table(store, STEEL, headings={"melting": "melting point [°C]"})

    report = refresh(store)

    first, second = held(store).to_pylist()
    assert counts(report) == (2, 0, 0, 0, 0)
    assert first["title"] == "Metal properties"
    assert first["row_key"] == "1"
    assert first["pairs"] == [
        _pair("id", "id", "1", numeric=True, hidden=True),
        _pair("material", "material", "Steel A"),
        _pair("melting", "melting point [°C]", "1340", numeric=True),
        _pair("yield_strength", "yield strength", "240 MPa"),
    ]
    assert second["pairs"][3] == _pair("yield_strength", "yield strength", None)


def test_names_without_a_dictionary_become_words(store):
    names = {"melting_point": "melting_point", "ph_value": ""}
    row = {"melting_point": 1340, "ph_value": 7}
    write_table(
        store, [row], table="pure_metals", title="pure_metals", key=[], hidden=[], headings=names
    )

    refresh(store)

    (held_row,) = held(store).to_pylist()
    assert held_row["title"] == "pure metals"
    assert [pair["heading"] for pair in held_row["pairs"]] == ["melting point", "ph value"]
    assert [pair["column"] for pair in held_row["pairs"]] == ["melting_point", "ph_value"]


def test_the_id_is_made_of_the_canonical_pairs(store):
    write_table(store, STEEL)

    refresh(store)

    pairs = [("id", "2"), ("material", "Steel B"), ("melting", "1400"), ("yield_strength", None)]
    assert held(store)["row_id"][1].as_py() == row_id("db", "metals", pairs, 0)


def test_the_rows_of_a_source_that_left_the_config_leave_the_table(store):
    write_table(store, STEEL)
    write_table(store, STEEL, source="retired", table="old_metals")
    refresh(store)

    report = refresh(store, sources={"db"})

    assert (report.removed, report.unchanged) == (2, 2)
    assert set(held(store)["source"].to_pylist()) == {"db"}


def test_a_second_refresh_does_nothing_and_imports_nothing_heavy(store):
    write_table(store, STEEL)
    first = refresh(store)

    program = (
        "import sys; from pathlib import Path; from rag_assets.store import Store;"
        "from rag_assets.tables.table_rows import refresh_rows;"
        "report = refresh_rows(Store(Path(sys.argv[1])), sources={'db'}, log=print);"
        "heavy = {'lancedb', 'lance', 'duckdb', 'pandas', 'torch', 'dlt'} & sys.modules.keys();"
        "print(report.data_version, report.touched, report.unchanged, sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(store.root)], capture_output=True, text=True, check=True
    )

    assert done.stdout.split("\n")[0] == f"{first.data_version} False 2 []"


def test_only_rows_that_changed_are_written(store):
    write_table(store, STEEL)
    refresh(store)
    before = held(store)["row_id"].to_pylist()
    hotter = [STEEL[0], {**STEEL[1], "melting": 1405}, {**STEEL[0], "id": 3}]

    write_table(store, hotter)

    assert counts(refresh(store)) == (2, 0, 1, 1, 0)
    after = held(store)
    assert after["row_key"].to_pylist() == ["1", "2", "3"]
    assert after["row_id"][0].as_py() == before[0]
    assert after["row_id"][1].as_py() != before[1]


@pytest.mark.parametrize(
    "change",
    [{"title": "Metals"}, {"headings": {"melting": "melting point [K]"}}, {"hidden": ["material"]}],
)
def test_new_words_update_rows_in_place(store, change):
    write_table(store, STEEL)
    first = refresh(store)
    before = held(store)

    write_table(store, STEEL, **change)
    report = refresh(store)

    after = held(store)
    assert counts(report) == (0, 2, 0, 0, 0)
    assert report.data_version != first.data_version
    assert after["row_id"] == before["row_id"]
    assert after["row_fingerprint"] != before["row_fingerprint"]


def test_a_new_key_renames_rows_in_place(store):
    write_table(store, STEEL)
    refresh(store)
    before = held(store)["row_id"].to_pylist()

    write_table(store, STEEL, key=["material", "melting"], hidden=["id"])

    assert counts(refresh(store)) == (0, 2, 0, 0, 0)
    assert held(store)["row_key"].to_pylist() == ["Steel A|1340", "Steel B|1400"]
    assert held(store)["row_id"].to_pylist() == before


def test_keys_of_several_columns_are_never_alike(store):
    rows = [("x|y", "z"), ("x", "y|z"), ("a", None), ("a", ""), (None, None), ("plain", "key")]
    write_table(
        store,
        [{"a": a, "b": b, "value": str(place)} for place, (a, b) in enumerate(rows)],
        key=["a", "b"],
        hidden=[],
    )
    refresh(store)

    keys = {row["pairs"][2]["value"]: row["row_key"] for row in held(store).to_pylist()}
    assert len(set(keys.values())) == len(rows)
    assert keys.pop("4") in held(store)["row_id"].to_pylist()
    assert keys == {"0": r"x\|y|z", "1": r"x|y\|z", "2": "a|", "3": r"a|\e", "5": "plain|key"}


def test_identical_rows_are_told_apart_and_counted(store):
    twin = {"material": "Steel A", "melting": 1340}
    write_table(store, [twin] * 3, key=[], hidden=[])
    refresh(store)
    ids = set(held(store)["row_id"].to_pylist())

    write_table(store, [twin] * 2, key=[], hidden=[])
    report = refresh(store)

    assert len(ids) == 3
    assert counts(report) == (0, 0, 1, 2, 0)
    assert set(held(store)["row_id"].to_pylist()) < ids


def test_without_a_key_the_row_id_is_the_key(store):
    write_table(store, STEEL, key=[], hidden=[])

    refresh(store)

    assert held(store)["row_key"] == held(store)["row_id"]


def test_the_type_of_a_column_does_not_change_the_ids(store):
    write_table(store, STEEL)
    refresh(store)
    ids = held(store)["row_id"]
    as_float = pa.Table.from_pylist(STEEL)
    as_float = as_float.set_column(2, "melting", as_float["melting"].cast(pa.float64()))

    write_table(store, as_float)

    assert counts(refresh(store)) == (0, 0, 0, 2, 0)
    assert held(store)["row_id"] == ids


def test_rows_of_tables_that_did_not_move_are_not_read_again(store, monkeypatch):
    write_table(store, STEEL, table="a")
    write_table(store, STEEL, table="b")
    refresh(store)
    write_table(store, [*STEEL, {**STEEL[0], "id": 3}], table="b")
    read = []
    identified = table_rows.identified
    monkeypatch.setattr(
        table_rows, "identified", lambda table: read.append(table.name) or identified(table)
    )

    report = refresh(store)

    assert counts(report) == (1, 0, 0, 4, 0)
    assert set(read) == {"db/b"}


def test_rows_that_are_not_as_they_were_left_are_read_again(store):
    write_table(store, STEEL[:1], table="a")
    write_table(store, STEEL, table="b")
    refresh(store)
    early = store.version("table_rows")
    write_table(store, STEEL, table="a")
    refresh(store)
    store.open("table_rows").restore(early)
    write_table(store, STEEL[:1], table="b")

    refresh(store)

    assert held(store)["table"].to_pylist() == ["a", "a", "b"]


def test_a_refresh_that_had_to_wait_looks_at_the_exports_when_its_turn_comes(store):
    write_table(store, STEEL, table="a")
    refresh(store)
    has_to_wait = threading.Event()

    with ThreadPoolExecutor() as other:
        with store.lock("table_rows", log=print):
            report = other.submit(refresh, store, sources={"db"}, log=lambda _: has_to_wait.set())
            assert has_to_wait.wait(timeout=10)
            write_table(store, STEEL, table="b")
        assert counts(report.result()) == (2, 0, 0, 2, 0)


def test_a_table_that_is_gone_takes_its_rows_along(store):
    write_table(store, STEEL, table="a")
    write_table(store, STEEL, table="b")
    refresh(store)

    exports.remove(store, exports.table_name("db", "a"))

    assert counts(refresh(store)) == (0, 0, 2, 2, 0)
    assert set(held(store)["table"].to_pylist()) == {"b"}


def test_refreshing_in_steps_gives_what_a_build_from_scratch_gives(store, tmp_path):
    for table in ("a", "b"):
        write_table(store, STEEL, table=table)
    refresh(store)
    write_table(store, STEEL[1:], table="a", title="Hot metals")
    write_table(store, [{**STEEL[0], "id": 9}, *STEEL], table="b")
    stepped = refresh(store)

    fresh = Store(tmp_path / "fresh")
    write_table(fresh, STEEL[1:], table="a", title="Hot metals")
    write_table(fresh, [{**STEEL[0], "id": 9}, *STEEL], table="b")

    assert refresh(fresh).data_version == stepped.data_version
    assert held(fresh).equals(held(store))


def test_a_row_that_cannot_be_represented_is_named_and_the_rest_goes_on(store):
    when = pa.array([0, 2**62, 0], pa.int64()).cast(pa.timestamp("us"))
    data = pa.table({"id": [1, 2, 3], "tested": when})
    write_table(store, data)

    report = refresh(store)

    assert counts(report) == (2, 0, 0, 0, 1)
    assert report.failures[0].label == "db/metals row 2"
    assert "column tested" in report.failures[0].reason
    assert held(store)["row_key"].to_pylist() == ["1", "3"]
    assert counts(refresh(store)) == (0, 0, 0, 2, 1)

    write_table(store, data.set_column(1, "tested", when.take([0, 0, 2])))
    assert counts(refresh(store)) == (1, 0, 0, 2, 0)


def test_a_damaged_table_is_named_and_nothing_is_deleted(store):
    write_table(store, STEEL)
    refresh(store)
    write_table(store, [*STEEL, {**STEEL[0], "id": 3}])
    name = table_in(store, "db", "metals").name
    for file in (store.root / "lance" / f"{name}.lance" / "data").iterdir():
        file.write_bytes(b"")

    with pytest.raises(DamagedTablesError, match=name):
        refresh(Store(store.root))

    assert store.count("table_rows") == 2


def test_the_rows_of_a_table_whose_export_did_not_end_stay(store):
    write_table(store, STEEL, table="a")
    write_table(store, STEEL, table="b")
    refresh(store)
    name = table_in(store, "db", "a").name
    store.reopen(name)
    store.delete(name, column="row_key", keys=['["1"]'])
    write_table(store, STEEL[1:], table="b")

    assert counts(refresh(store)) == (0, 0, 1, 3, 0)
    store.reopen("table_rows")
    assert counts(refresh(store)) == (0, 0, 0, 3, 0)
    write_table(store, STEEL[1:], table="a")
    assert counts(refresh(store)) == (0, 0, 1, 2, 0)


def test_the_rows_of_a_table_that_is_begun_anew_stay_until_it_is_complete(store):
    write_table(store, STEEL)
    refresh(store)
    store.retire(table_in(store, "db", "metals").name)
    assert counts(refresh(store, sources={"db"})) == (0, 0, 0, 2, 0)
    write_table(store, STEEL[1:])
    assert counts(refresh(store)) == (0, 0, 1, 1, 0)


def test_of_a_large_table_only_the_rows_that_moved_are_identified(store, tmp_path, monkeypatch):
    table = [{"id": number, "material": f"Steel {number}"} for number in range(100)]
    write_table(store, table, headings={})
    refresh(store)
    identified = 0
    row_ids = table_rows.row_ids

    def counted(source, name, contents, *, seen):
        nonlocal identified
        identified += len(contents)
        return row_ids(source, name, contents, seen=seen)

    monkeypatch.setattr(table_rows, "row_ids", counted)
    here = {row["id"] for row in table} - {3} | {107}
    for moved, keys, expected in (
        ([{"id": 2, "material": "x"}, {"id": 107, "material": "new"}], here, (2, 2)),
        ([{"id": 2, "material": "Steel 2"}], here - {107}, (1, 2)),
    ):
        write_table(store, moved, headings={}, keys=sorted(keys))
        report = refresh(store)
        assert (report.added, report.removed) == expected
    assert identified <= 2 * (2 + 1 + 2 + 2)
    monkeypatch.undo()
    fresh = Store(tmp_path / "fresh")
    write_table(fresh, [row for row in table if row["id"] != 3], headings={})
    refresh(fresh)
    assert held(store) == held(fresh)
    assert store.completion("table_rows").data_version == report.data_version


def test_an_export_that_runs_at_the_same_time_is_noticed(store):
    write_table(store, STEEL)
    refresh(store)
    write_table(store, [*STEEL, {**STEEL[0], "id": 3}])
    store.delete(table_in(store, "db", "metals").name, column="row_key", keys=['["1"]'])

    with pytest.raises(exported.ExportRunsError, match="refresh again"):
        refresh(store)

    assert store.count("table_rows") == 2


def test_a_table_is_read_as_it_stood_when_the_refresh_began(store, monkeypatch):
    write_table(store, STEEL)
    identified = table_rows.identified

    def overtaken(table):
        write_table(store, STEEL[:1])
        yield from identified(table)

    monkeypatch.setattr(table_rows, "identified", overtaken)
    assert counts(refresh(store)) == (2, 0, 0, 0, 0)
    monkeypatch.undo()

    assert counts(refresh(store)) == (0, 0, 1, 1, 0)


def test_a_table_without_rows_and_no_table_at_all(store):
    assert counts(refresh(store)) == (0, 0, 0, 0, 0)
    write_table(store, pa.Table.from_pylist(STEEL).slice(0, 0))
    assert counts(refresh(store)) == (0, 0, 0, 0, 0)
    assert store.count("table_rows") == 0


def test_many_small_tables_are_one_commit(store, monkeypatch):
    for number in range(5):
        write_table(store, STEEL, table=f"t{number}")
    refresh(store)
    assert store.version("table_rows") == 2


COLUMN = st.text(min_size=1)
CELL = st.none() | st.text()


@given(
    columns=st.lists(COLUMN, min_size=1, max_size=4, unique=True),
    cells=st.lists(st.tuples(CELL, CELL, CELL, CELL), min_size=1, max_size=6),
)
def test_ids_made_for_whole_columns_are_those_made_row_by_row(tmp_path_factory, columns, cells):
    table = [dict(zip(columns, row, strict=False)) for row in cells]
    store = Store(tmp_path_factory.mktemp("store"))
    schema = pa.schema([(name, pa.string()) for name in columns])
    data = pa.Table.from_pylist(table, schema=schema)
    write_table(store, data, key=[], hidden=[])

    (source_table,) = exported.source_tables(store, sources={"db"})
    ids = [row for batch in table_rows.identified(source_table) for row in batch.ids]

    normal = [
        tuple(
            (name, None if value is None else unicodedata.normalize("NFC", value))
            for name, value in row.items()
        )
        for row in table
    ]
    expected = [
        row_id("db", "metals", row, normal[:index].count(row)) for index, row in enumerate(normal)
    ]
    assert sorted(ids) == sorted(expected)


def _pair(column, heading, value, *, numeric=False, hidden=False):
    return {
        "column": column,
        "heading": heading,
        "value": value,
        "numeric": numeric,
        "hidden": hidden,
    }
