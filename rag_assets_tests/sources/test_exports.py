"""Tables of a real PostgreSQL, of SQLite and of files: what changed is found, and nothing else."""

import datetime
import shutil
import sqlite3
import time
from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rag_assets.change import sync
from rag_assets.config import ConfigError, TableSource
from rag_assets.config.headings import read_headings
from rag_assets.sources import exporting, exports, landing
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.outcomes import Export
from rag_assets.sources.readability import readability
from rag_assets.store import Store
from rag_assets.tables.table_rows import refresh_rows
from rag_assets_testing import effort, exported
from rag_assets_testing.exported import rows, said, tables
from rag_assets_tests.sources.conftest import Sandbox, settle

OF_THE_LIKE = pytest.mark.nightly(guards=["rag_assets/sources"])


def source_of(sandbox: Sandbox, **settings) -> TableSource:
    return TableSource(url=sandbox.url, schema=sandbox.schema, **settings)


def refresh(store: Store, source: TableSource, **settings) -> dict[str, Export]:
    arguments = {"allow_shrink": False, "log": lambda _: None} | settings
    return {item.table: item for item in refresh_exports(store, source, **arguments)}


def counts(item: Export) -> tuple[int, int, int, int, int]:
    report = item.report
    return (report.added, report.changed, report.removed, report.unchanged, report.failed)


@pytest.fixture
def reads(monkeypatch) -> list[list[str]]:
    """Names of the resources of each run of dlt."""
    seen: list[list[str]] = []
    land = landing.land

    def counted(resources, *, folder):
        seen.append([resource.name for resource in resources])
        return land(resources, folder=folder)

    monkeypatch.setattr(exports, "land", counted)
    return seen


@pytest.fixture
def sqlite(tmp_path: Path):
    """Path of an SQLite database, and a way to change it a while ago."""
    path = tmp_path / "parts.sqlite"

    def execute(*statements: str) -> Path:
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        settle(path, seconds=60 if not execute.calls else 50 - execute.calls)
        execute.calls += 1
        return path

    execute.calls = 0
    execute(
        "CREATE TABLE parts (id INTEGER PRIMARY KEY, name TEXT, mass REAL)",
        "INSERT INTO parts VALUES (1, 'bolt', 0.5), (2, 'nut', NULL), (3, '', 2)",
    )
    return execute


PARTS = (
    "CREATE TABLE parts (id bigint PRIMARY KEY, name text, mass double precision, "
    "moved timestamptz NOT NULL DEFAULT now())"
)


def test_inserts_updates_and_deletes_are_found(store, sandbox, reads):
    sandbox.execute(
        PARTS, "INSERT INTO parts VALUES (1, 'bolt', 0.5), (2, 'nut', 'NaN'), (3, '', NULL)"
    )
    source = source_of(sandbox, tables=["parts"])
    first = refresh(store, source)["parts"]
    assert counts(first) == (3, 0, 0, 0, 0)
    assert [(row["name"], row["mass"]) for row in rows(first)] == [
        ("bolt", 0.5),
        ("nut", None),
        ("", None),
    ]
    sandbox.execute(
        "INSERT INTO parts VALUES (0, 'ring')",
        "UPDATE parts SET mass = 0.6 WHERE id = 1",
        "DELETE FROM parts WHERE id = 2",
    )
    second = refresh(store, source)["parts"]
    assert counts(second) == (1, 1, 1, 1, 0)
    third = refresh(store, source)["parts"]
    assert counts(third) == (0, 0, 0, 3, 0)
    assert third.report.data_version == second.report.data_version
    assert len(reads) == 2


def test_the_seconds_of_tables_that_are_read_together_add_up_to_those_of_the_pass(store, sqlite):
    path = sqlite(*(f"CREATE TABLE t{place} (id INTEGER PRIMARY KEY)" for place in range(4)))
    source = TableSource(url=f"sqlite:///{path}", tables=["*"])
    for _ in range(2):
        started = time.monotonic()
        done = refresh(store, source)
        passed = time.monotonic() - started
        assert len(done) == 5
        assert all(item.report.seconds > 0 for item in done.values())
        assert sum(item.report.seconds for item in done.values()) <= passed


def test_a_cursor_reads_only_new_rows_and_all_keys(store, sandbox, reads):
    sandbox.execute(
        PARTS,
        "INSERT INTO parts SELECT i, 'part ' || i, i, '2024-01-01'::timestamptz + i * "
        "interval '1 hour' FROM generate_series(1, 100) AS i",
    )
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": "moved"}])
    refresh(store, source)
    sandbox.execute(
        "UPDATE parts SET name = 'new', moved = '2025-01-01' WHERE id = 7",
        "INSERT INTO parts VALUES (101, 'late', 1, '2025-01-02')",
        "DELETE FROM parts WHERE id IN (1, 100)",
    )
    second = refresh(store, source)["parts"]
    assert counts(second) == (1, 1, 2, 97, 0)
    assert (second.rows_read, second.keys_read) == (2, 99)
    assert len(reads) == 2


@pytest.mark.parametrize(
    ("kind", "value"), [("int", "7"), ("numeric", "7.5"), ("timestamp", "'2024-01-01'")]
)
def test_a_row_at_the_boundary_of_the_cursor_is_not_lost(store, sandbox, kind, value):
    sandbox.execute(
        f"CREATE TABLE parts (id int PRIMARY KEY, name text, moved {kind})",
        f"INSERT INTO parts VALUES (1, 'a', {value})",
    )
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": "moved"}])
    refresh(store, source)
    sandbox.execute(
        f"INSERT INTO parts VALUES (2, 'b', {value})", "UPDATE parts SET name = 'x' WHERE id = 1"
    )
    second = refresh(store, source)["parts"]
    assert counts(second) == (1, 1, 0, 0, 0)


def test_a_row_that_arrives_behind_the_cursor_is_found_by_its_key(store, sandbox, reads):
    sandbox.execute(PARTS, "INSERT INTO parts VALUES (1, 'a', 1, '2024-01-01')")
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": "moved"}])
    refresh(store, source)
    sandbox.execute("INSERT INTO parts VALUES (2, 'late', 1, '2023-01-01')")
    late = refresh(store, source)["parts"]
    assert counts(late) == (1, 0, 0, 1, 0)
    assert late.rows_read == 2, "the newest, which may have a twin, and the late one"
    assert len(reads) == 2


def test_rows_without_a_cursor_value_are_read_each_time(store, sandbox):
    sandbox.execute(
        "CREATE TABLE parts (id int PRIMARY KEY, name text, revision int)",
        "INSERT INTO parts VALUES (1, 'a', 1), (2, 'b', NULL)",
    )
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": "revision"}])
    refresh(store, source)
    sandbox.execute("UPDATE parts SET name = 'x' WHERE id = 2")
    assert counts(refresh(store, source)["parts"]) == (0, 1, 0, 1, 0)


def test_a_killed_run_loses_no_rows(store, sandbox, monkeypatch):
    sandbox.execute(PARTS, "INSERT INTO parts VALUES (1, 'a', 1, '2024-01-01')")
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": "moved"}])
    refresh(store, source)
    sandbox.execute("INSERT INTO parts VALUES (2, 'b', 1, '2024-02-01')")

    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "export_table", killed)
    with pytest.raises(KeyboardInterrupt):
        refresh(store, source)
    monkeypatch.undo()
    (store.root / "landing" / "exports__tables" / "left" / "over").mkdir(parents=True)
    assert counts(refresh(store, source)["parts"]) == (1, 0, 0, 1, 0)
    assert not list((store.root / "landing").iterdir())


def test_types_comments_and_keys_come_from_the_database(store, sandbox):
    sandbox.execute(
        "CREATE TYPE grade AS ENUM ('low', 'high')",
        "CREATE TABLE kinds (a int, b text, exact numeric(10, 2), free numeric, flag boolean, "
        "day date, at timestamp, zoned timestamptz, clock time, data jsonb, list int[], "
        "uid uuid, span interval, net inet, range int4range, grade grade, raw bytea, "
        "single real, PRIMARY KEY (b, a))",
        "INSERT INTO kinds VALUES (1, 'x', 1.50, 0.000000000001, true, '2024-02-29', "
        "'2024-02-29 12:30', '2024-02-29 12:30+02', '12:30', '{\"b\": [1, null], \"a\": \"å\"}', "
        "'{1,2}', '00000000-0000-0000-0000-000000000001', '1 day', '10.0.0.1', '[1,3)', 'high', "
        "'\\x00ff', 0.1)",
        "INSERT INTO kinds VALUES (2, 'x')",
        "COMMENT ON TABLE kinds IS 'Kinds of values'",
        "COMMENT ON COLUMN kinds.exact IS 'Exact price'",
    )
    [full, empty] = rows(refresh(store, source_of(sandbox))["kinds"])
    assert full == {
        "a": 1,
        "b": "x",
        "exact": Decimal("1.50"),
        "free": Decimal("0.000000000001"),
        "flag": True,
        "day": datetime.date(2024, 2, 29),
        "at": datetime.datetime(2024, 2, 29, 12, 30),
        "zoned": datetime.datetime(2024, 2, 29, 10, 30, tzinfo=datetime.UTC),
        "clock": datetime.time(12, 30),
        "data": '{"a": "å", "b": [1, null]}',
        "list": "[1, 2]",
        "uid": "00000000-0000-0000-0000-000000000001",
        "span": "1 day",
        "net": "10.0.0.1",
        "range": "[1,3)",
        "grade": "high",
        "raw": b"\x00\xff",
        "single": 0.1,
    }
    assert {value for name, value in empty.items() if name not in "ab"} == {None}
    about = said(exported.table_in(store, "tables", "kinds"))
    assert (about["title"], about["key"], about["hidden"]) == (
        "Kinds of values",
        ["b", "a"],
        ["a"],  # texts may be what people call a row by
    )
    assert about["headings"]["exact"] == "Exact price"
    assert about["headings"]["free"] == "free"


def test_the_config_has_the_last_word_on_headings(store, sandbox, tmp_path):
    sandbox.execute(PARTS, "INSERT INTO parts VALUES (1, 'bolt', 0.5)")
    sandbox.execute("COMMENT ON COLUMN parts.name IS 'Called'", "COMMENT ON TABLE parts IS 'T'")
    path = tmp_path / "headings.csv"
    path.write_text(
        "table,column,heading,unit\nparts,mass,Mass,kg\n,moved,Time of change,\n"
        "parts,id,Part number,\n"
    )
    table = {"name": "parts", "title": "Spare parts", "headings": {"id": "Number"}, "hidden": []}
    source = source_of(sandbox, tables=[table], headings_file=path)
    first = refresh(store, source)["parts"]
    about = said(first.exported)
    assert about["title"] == "Spare parts"
    assert about["hidden"] == []
    assert about["headings"] == {
        "id": "Number",
        "name": "Called",
        "mass": "Mass [kg]",
        "moved": "Time of change",
    }
    path.write_text("table,column,heading,unit\nparts,mass,Weight,kg\n")
    second = refresh(store, source)["parts"]
    assert counts(second) == (0, 0, 0, 1, 0)
    assert second.report.data_version != first.report.data_version
    assert said(second.exported)["headings"]["mass"] == "Weight [kg]"


def test_a_comment_in_the_database_is_taken_over_later(store, sandbox):
    sandbox.execute(PARTS, "INSERT INTO parts VALUES (1, 'bolt', 0.5)")
    refresh(store, source_of(sandbox))
    sandbox.execute("COMMENT ON COLUMN parts.mass IS 'Mass (kg)'")
    item = refresh(store, source_of(sandbox))["parts"]
    assert said(item.exported)["headings"]["mass"] == "Mass (kg)"


def test_names_with_signs_of_sql_in_them_are_only_names(store, sandbox):
    strange = """100% "new": parts; -- ('x')"""
    quoted = '"' + strange.replace('"', '""') + '"'
    with sandbox.engine.begin() as connection:
        cursor = connection.connection.cursor()
        cursor.execute(f"CREATE TABLE {quoted} ({quoted} int PRIMARY KEY, T int, t2 int)")
        cursor.execute(f"INSERT INTO {quoted} VALUES (1, 2, 3)")
    for table in ({"name": strange}, {"name": strange, "cursor": strange}):
        item = refresh(store, source_of(sandbox, tables=[table]))[strange]
        assert item.report.failed == 0, item.report.failures
        assert rows(item) == [{strange: 1, "t": 2, "t2": 3}]
    assert tables(store) == [("tables", strange)]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("ALTER TABLE parts ADD COLUMN colour text DEFAULT 'red'", "column colour was added"),
        ("ALTER TABLE parts DROP COLUMN mass", "column mass was removed"),
        ("ALTER TABLE parts RENAME COLUMN mass TO weight", "column mass was renamed to weight"),
        (
            "ALTER TABLE parts ALTER COLUMN mass TYPE text",
            "column mass changed its type from double to string",
        ),
    ],
)
@pytest.mark.parametrize(
    "cursor",
    [pytest.param(None, marks=OF_THE_LIKE), "moved"],
)
def test_a_changed_schema_is_taken_over(store, sandbox, statement, said, cursor):
    sandbox.execute(PARTS, "INSERT INTO parts VALUES (1, 'bolt', 0.5), (2, 'nut', 1)")
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    refresh(store, source)
    sandbox.execute(statement)
    item = refresh(store, source)["parts"]
    assert item.report.failed == 0, item.report.failures
    assert list(item.schema_changes) == [said]
    fresh = refresh(Store(store.root / "fresh"), source)["parts"]
    assert rows(item) == rows(fresh)
    assert item.report.data_version == fresh.report.data_version


def test_a_missing_table_is_named_with_what_there_is(store, sandbox):
    sandbox.execute(
        PARTS, "INSERT INTO parts VALUES (1, 'bolt', 0.5)", "CREATE TABLE other (a int)"
    )
    both = source_of(sandbox, tables=["parts", "other"])
    before = rows(refresh(store, both)["parts"])
    sandbox.execute("DROP TABLE parts", "INSERT INTO other VALUES (1)")
    done = refresh(store, both)
    reason = done["parts"].report.failures[0].reason
    assert "no table parts" in reason
    assert "the tables there: other" in reason
    assert rows(done["parts"]) == before
    assert counts(done["other"]) == (1, 0, 0, 0, 0)
    assert [item.label for item in sync.quarantined(store)] == ["tables/parts"]
    sandbox.execute(PARTS, "INSERT INTO parts VALUES (1, 'bolt', 0.5)")
    refresh(store, both)
    assert sync.quarantined(store) == []


def test_tables_in_another_schema_are_pointed_at(store, sandbox):
    sandbox.execute(PARTS)
    [item] = refresh(store, TableSource(url=sandbox.url)).values()
    assert f"there are tables in schema {sandbox.schema}" in item.report.failures[0].reason


def test_an_unreachable_database_keeps_all_and_shows_no_password(store, sandbox, sqlite):
    sandbox.execute(PARTS, "INSERT INTO parts VALUES (1, 'bolt', 0.5)")
    refresh(store, source_of(sandbox))
    gone = TableSource(url="postgresql://me:secret@127.0.0.1:1/nowhere")
    [item] = refresh(store, gone).values()
    assert counts(item) == (0, 0, 0, 1, 1)
    [failure] = item.report.failures
    assert failure.kind == "environment"
    assert "127.0.0.1" in failure.reason
    assert "secret" not in failure.reason
    assert rows(item)
    assert counts(refresh(store, source_of(sandbox))["parts"]) == (0, 0, 0, 1, 0)


@pytest.mark.parametrize("password", ["se@cret", "se@cret:1"])
def test_a_url_that_is_broken_by_its_password_is_named_without_it(store, password):
    source = TableSource(url=f"postgresql://me:{password}@127.0.0.1:1/nowhere", tables=["parts"])
    [item] = refresh(store, source).values()
    [failure] = item.report.failures
    assert "%40" in failure.reason
    assert "cret" not in failure.reason


def test_a_database_file_that_is_gone_is_not_created(store, tmp_path):
    url = f"sqlite:///{tmp_path / 'nowhere.sqlite'}"
    [item] = refresh(store, TableSource(url=url)).values()
    assert "nowhere.sqlite" in item.report.failures[0].reason
    assert not (tmp_path / "nowhere.sqlite").exists()


def test_a_table_that_fails_by_itself_leaves_the_others_alone(store, sandbox):
    sandbox.execute(
        PARTS,
        "INSERT INTO parts VALUES (1, 'bolt', 0.5)",
        "CREATE VIEW odd AS SELECT id, 1 / (id - 1) AS part FROM parts",
    )
    done = refresh(store, source_of(sandbox, tables=["odd", "parts"]))
    assert counts(done["parts"]) == (1, 0, 0, 0, 0)
    assert counts(done["odd"])[-1] == 1
    assert "cannot be read (division by zero)" in done["odd"].report.failures[0].reason


def test_a_key_or_cursor_that_does_not_exist_is_named(store, sandbox):
    sandbox.execute(PARTS)
    for wrong in ({"key": ["number"]}, {"cursor": "number"}):
        [item] = refresh(store, source_of(sandbox, tables=[{"name": "parts", **wrong}])).values()
        assert "no column number" in item.report.failures[0].reason
        assert "id, name, mass, moved" in item.report.failures[0].reason


def test_rows_that_share_a_configured_key_are_quarantined(store, sandbox):
    sandbox.execute(
        "CREATE TABLE bare (code text, name text)",
        "INSERT INTO bare VALUES ('a', 'one'), ('a', 'two'), ('b', 'three')",
    )
    source = source_of(sandbox, tables=[{"name": "bare", "key": ["code"]}])
    first = refresh(store, source)["bare"]
    second = refresh(store, source)["bare"]
    assert counts(first) == (2, 0, 0, 0, 1)
    assert counts(second) == (0, 0, 0, 2, 1)
    assert '["a"]' in second.report.failures[0].reason
    sandbox.execute("DELETE FROM bare WHERE name = 'two'")
    assert counts(refresh(store, source)["bare"])[-1] == 0


def test_losing_most_rows_asks_for_confirmation(store, sandbox):
    sandbox.execute(PARTS, "INSERT INTO parts SELECT i, 'part' FROM generate_series(1, 10) AS i")
    source = source_of(sandbox)
    refresh(store, source)
    sandbox.execute("TRUNCATE parts")
    held = refresh(store, source)["parts"]
    assert counts(held) == (0, 0, 0, 10, 1)
    assert "--allow-shrink" in held.report.failures[0].reason
    assert counts(refresh(store, source, allow_shrink=True)["parts"]) == (0, 0, 10, 0, 0)


def test_a_pattern_takes_new_tables_and_gives_up_those_that_are_gone(store, sandbox):
    sandbox.execute(*(f"CREATE TABLE t{number} (id int)" for number in range(4)))
    sandbox.execute("CREATE TABLE skipped (id int)", "CREATE VIEW v AS SELECT * FROM t0")
    source = source_of(sandbox, tables=["t0", "*", "v"], exclude=["skip*"])
    done = refresh(store, source)
    assert {item.table: item.spec for item in done.values()} == {
        "t0": "t0",
        "t1": "*",
        "t2": "*",
        "t3": "*",
        "v": "v",
    }
    sandbox.execute("DROP TABLE t1", "CREATE TABLE t9 (id int)")
    refresh(store, source)
    assert [table for _, table in tables(store)] == ["t0", "t2", "t3", "t9", "v"]
    sandbox.execute("DROP TABLE t2, t3")
    done = refresh(store, source)
    assert counts(done["t2"])[-1] == 1
    assert exported.table_in(store, "tables", "t2")
    refresh(store, source, allow_shrink=True)
    assert [table for _, table in tables(store)] == ["t0", "t9", "v"]


def test_a_table_with_rows_that_a_pattern_finds_no_more_is_held_until_that_is_confirmed(
    store, sandbox
):
    """A server may not list what one has no right to read."""
    sandbox.execute(
        *(f"CREATE TABLE t{number} AS SELECT 1 AS id, 'x' AS name" for number in range(4))
    )
    source = source_of(sandbox)
    refresh(store, source)
    sandbox.execute("DROP TABLE t1")
    for _ in range(2):
        held = refresh(store, source)["t1"]
        assert counts(held) == (0, 0, 0, 1, 1)
        assert "its 1 rows stay" in held.report.failures[0].reason
        assert exported.table_in(store, "tables", "t1")
        [outage] = readability(store, source.name).outages()
        assert outage.parts == ["t1"]

    sandbox.execute("CREATE TABLE t1 AS SELECT 1 AS id, 'x' AS name")
    assert counts(refresh(store, source)["t1"]) == (0, 0, 0, 1, 0)
    assert readability(store, source.name).outages() == []

    sandbox.execute("DROP TABLE t1")
    assert counts(refresh(store, source, allow_shrink=True)["t1"]) == (0, 0, 1, 0, 0)
    assert readability(store, source.name).outages() == []


def test_rows_of_a_file_that_was_deleted_or_renamed_go_as_a_document_does(store, tmp_path):
    source = TableSource(url=str(tmp_path))
    for name, count in {"a": 9, "b": 2, "c": 2}.items():
        lines = "".join(f"{number},{name}\n" for number in range(count))
        (tmp_path / f"{name}.csv").write_text(f"id,name\n{lines}")
    refresh(store, source)

    (tmp_path / "b.csv").unlink()
    assert counts(refresh(store, source)["b"]) == (0, 0, 2, 0, 0)

    a = tmp_path / "a.csv"
    away = a.rename(tmp_path / "a.old")
    held = refresh(store, source)["a"]
    assert "its 9 rows stay" in held.report.failures[0].reason, "most of the rows would go"
    away.rename(tmp_path / "a of today.csv")
    done = refresh(store, source)
    assert counts(done["a"]) == (0, 0, 9, 0, 0)
    assert counts(done["a of today"]) == (9, 0, 0, 0, 0)


def test_a_workbook_with_a_second_sheet_has_no_row_twice(store, tmp_path):
    """Its one table has another name from then on."""
    book = openpyxl.Workbook()
    book.active.append(["id", "name"])
    book.active.append([1, "x"])
    book.save(tmp_path / "book.xlsx")
    refresh(store, TableSource(url=str(tmp_path)))

    book.create_sheet("More").append(["id", "name"])
    book["More"].append([2, "y"])
    book.save(tmp_path / "book.xlsx")
    refresh(store, TableSource(url=str(tmp_path)))

    assert [table for _, table in tables(store)] == ["book.More", "book.Sheet"]


def test_a_table_that_left_the_config_leaves_the_exports(store, sandbox):
    sandbox.execute("CREATE TABLE a (id int)", "CREATE TABLE b (id int)")
    refresh(store, source_of(sandbox))
    refresh(store, source_of(sandbox, tables=["b"]))
    assert [table for _, table in tables(store)] == ["b"]


def test_a_refresh_writes_nothing_but_its_own_log(store, sandbox, sqlite, capfd):
    sandbox.execute(PARTS, "INSERT INTO parts VALUES (1, 'bolt', 0.5)")
    refresh(store, source_of(sandbox, tables=[{"name": "parts", "cursor": "moved"}]))
    sandbox.execute("INSERT INTO parts VALUES (2, 'nut', 1)")
    refresh(store, source_of(sandbox, tables=[{"name": "parts", "cursor": "moved"}]))
    refresh(store, TableSource(name="file", url=str(sqlite())))
    assert "".join(capfd.readouterr()) == ""


def test_sqlite_is_read_only_when_its_file_moved(store, sqlite, reads):
    source = TableSource(url=str(sqlite("INSERT INTO parts VALUES (4, 'pin', 0.1)")))
    first = refresh(store, source)["parts"]
    assert counts(first) == (4, 0, 0, 0, 0)
    assert counts(refresh(store, source)["parts"]) == (0, 0, 0, 4, 0)
    sqlite("UPDATE parts SET mass = 3 WHERE id = 3", "DELETE FROM parts WHERE id = 1")
    assert counts(refresh(store, source)["parts"]) == (0, 1, 1, 2, 0)
    sqlite("CREATE TABLE unrelated (id INTEGER)")
    assert counts(refresh(store, source)["parts"]) == (0, 0, 0, 3, 0)
    assert len(reads) == 3


def damage(store: Store, source: TableSource, *, length: float) -> str:
    """Cut a file of the table `parts` short; what the table is called."""
    held = exported.table_in(store, source.name, "parts")
    [file] = (store.root / "lance" / f"{held.name}.lance" / "data").iterdir()
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * length)])
    return held.name


@pytest.mark.parametrize(
    ("length", "is_edited"),
    [
        (0.5, False),
        (0, True),
        *(
            pytest.param(length, is_edited, marks=OF_THE_LIKE)
            for length, is_edited in ((0.5, True), (0, False), (0.01, False), (0.01, True))
        ),
    ],
)
def test_a_damaged_snapshot_is_read_again_from_its_source(store, sqlite, length, is_edited):
    source = TableSource(url=f"sqlite:///{sqlite()}")
    before = rows(refresh(store, source)["parts"])
    if is_edited:
        sqlite("INSERT INTO parts VALUES (4, 'washer', 1)")
        before.append({"id": 4, "name": "washer", "mass": 1.0})
    damaged = damage(store, source, length=length)
    lines: list[str] = []

    done = refresh(store, source, log=lines.append)["parts"]

    assert rows(done) == before
    assert any(f"{damaged} is damaged: the table is read again" in line for line in lines)
    assert counts(refresh(store, source)["parts"])[3:] == (len(before), 0)


def test_a_damaged_snapshot_of_a_table_that_cannot_be_read_loses_no_row(store, sqlite):
    path = sqlite()
    source = TableSource(url=f"sqlite:///{path}")
    refresh(store, source)
    refresh_rows(store, sources=[source.name], log=print)
    damage(store, source, length=0.5)
    path.write_bytes(b"no database")
    settle(path)

    assert refresh(store, source)["parts"].report.failed
    assert refresh_rows(store, sources=[source.name], log=print).unchanged == 3


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_table_whose_manifest_is_lost_stops_no_other(store, sqlite, is_finished):
    path = sqlite("CREATE TABLE others (id INTEGER PRIMARY KEY)")
    source = TableSource(url=f"sqlite:///{path}")
    refresh(store, source)
    name = exporting.exports.table_name(source.name, "parts")
    if not is_finished:
        store.reopen(name)  # as a killed pass leaves it
    for manifest in (store.root / "lance" / f"{name}.lance" / "_versions").glob("*.manifest"):
        manifest.write_bytes(bytes(manifest.stat().st_size))  # by a power cut
    sqlite("INSERT INTO parts VALUES (4, 'pin', 1)")

    done = refresh(Store(store.root), source)

    assert {table: item.report.failed for table, item in done.items()} == {"others": 0, "parts": 0}
    assert [row["id"] for row in rows(done["parts"])] == [1, 2, 3, 4]


def test_sqlite_values_of_another_type_than_declared_make_a_column_of_text(store, sqlite):
    path = sqlite(
        "CREATE TABLE loose (id INTEGER, day DATE, at TIMESTAMP, flag BOOLEAN, size REAL, "
        "price DECIMAL(10, 2), free, bad_day DATE, bad_size REAL)",
        "INSERT INTO loose VALUES (1, '2024-02-29', '2024-02-29 12:30:00', 1, '', 1.25, 'x', "
        "'soon', 1.5)",
        "INSERT INTO loose VALUES (2, NULL, NULL, 0, 2.5, 2, 7, '2024-01-01', 'about 2')",
    )
    item = refresh(store, TableSource(url=f"sqlite:///{path}"))["loose"]
    assert [tuple(row.values()) for row in rows(item)] == [
        (
            1,
            datetime.date(2024, 2, 29),
            datetime.datetime(2024, 2, 29, 12, 30),
            True,
            None,
            1.25,
            "x",
            "soon",
            "1.5",
        ),
        (2, None, None, False, 2.5, 2.0, "7", "2024-01-01", "about 2"),
    ]
    assert item.report.failed == 0


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("DATE", 1700000000),
        ("DATETIME", 2460000.5),
        ("TIME", 1700000000),
        pytest.param("DATE", 2460000.5, marks=OF_THE_LIKE),
        pytest.param("DATETIME", 1700000000, marks=OF_THE_LIKE),
        pytest.param("TIME", 2460000.5, marks=OF_THE_LIKE),
    ],
)
def test_sqlite_dates_that_are_numbers_stay_numbers(store, sqlite, kind, value):
    """SQLite has no dates: a number may count seconds, milliseconds or days of any calendar."""
    path = sqlite(
        f"CREATE TABLE log (id INTEGER PRIMARY KEY, at {kind})",
        f"INSERT INTO log VALUES (1, {value}), (2, NULL)",
    )
    item = refresh(store, TableSource(url=str(path), tables=["log"]))["log"]
    assert rows(item) == [{"id": 1, "at": str(value)}, {"id": 2, "at": None}]


def test_sqlite_numbers_that_no_double_holds_stay_what_they_are(store, sqlite):
    path = sqlite(
        "CREATE TABLE wide (id DECIMAL(20, 0) PRIMARY KEY, price DECIMAL(10, 2))",
        "INSERT INTO wide VALUES (9007199254740992, 1.25), (9007199254740993, 2), "
        "(-9223372036854775808, 3)",
    )
    item = refresh(store, TableSource(url=str(path), tables=["wide"]))["wide"]
    assert item.report.failed == 0, item.report.failures
    assert {row["id"]: row["price"] for row in rows(item)} == {
        "9007199254740992": 1.25,
        "9007199254740993": 2.0,
        "-9223372036854775808": 3.0,
    }


def test_the_tables_behind_a_virtual_table_are_no_tables_of_their_own(store, sqlite):
    path = sqlite(
        "CREATE VIRTUAL TABLE notes USING fts5(title, body)",
        "INSERT INTO notes VALUES ('bolt', 'of steel')",
        "CREATE VIRTUAL TABLE places USING rtree(id, west, east)",
    )
    assert set(refresh(store, TableSource(url=str(path)))) == {"notes", "parts", "places"}
    named = refresh(store, TableSource(url=str(path), tables=["notes_content"]))
    assert [row["c1"] for row in rows(named["notes_content"])] == ["of steel"]


@pytest.mark.parametrize(
    "url", ["package:mendeleev/elements.db", "sqlite:///package:mendeleev/elements.db"]
)
def test_a_database_inside_a_package_is_read(store, url):
    pytest.importorskip("mendeleev")
    item = refresh(store, TableSource(url=url, tables=["elements"]))["elements"]
    assert counts(item) == (118, 0, 0, 0, 0)
    assert said(item.exported)["key"] == ["atomic_number"]


def test_an_unknown_driver_or_package_is_named(store):
    for url, part in (
        ("mysql+nosuchdriver://localhost/db", "nosuchdriver"),
        ("package:no_such_package/data", "no_such_package"),
        ("/no/such/folder", "/no/such/folder"),
    ):
        [item] = refresh(store, TableSource(url=url)).values()
        assert part in item.report.failures[0].reason


def test_a_bad_headings_file_is_an_error_of_the_config(store, sqlite, tmp_path):
    (tmp_path / "headings.csv").write_text("table,name\n")
    source = TableSource(url=str(sqlite()), headings_file=tmp_path / "headings.csv")
    with pytest.raises(ConfigError, match="no column column, heading, unit"):
        refresh(store, source)


@pytest.mark.parametrize("heading", ["Yield; upper", "Yield\nupper", "Yield\u2028upper"])
def test_a_heading_may_hold_a_semicolon_and_breaks_of_lines(tmp_path, heading):
    path = tmp_path / "headings.csv"
    path.write_text(f'table,column,heading,unit\nparts,ry,"{heading}",MPa\n')
    source = TableSource(url="sqlite:///x", headings_file=path)
    assert read_headings(source) == {"parts": {"ry": f"{heading} [MPa]"}}


EDITS = st.lists(
    st.tuples(st.sampled_from(["upsert", "delete"]), st.integers(1, 6), st.sampled_from("abc")),
    min_size=1,
    max_size=5,
)


@effort.examples(
    3,
    at_night=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rounds=st.lists(EDITS, min_size=2, max_size=3))
def test_any_edits_end_in_the_same_snapshots_as_a_fresh_export(tmp_path, sandbox, rounds):
    """With a cursor, with a key only, and with neither."""
    tables = ("with_cursor", "with_key", "bare")
    sandbox.execute(
        *(f"DROP TABLE IF EXISTS {table}" for table in tables),
        "CREATE TABLE with_cursor (id int PRIMARY KEY, name text, clock int)",
        "CREATE TABLE with_key (id int PRIMARY KEY, name text, clock int)",
        "CREATE TABLE bare (number int, name text, clock int)",
    )
    source = source_of(
        sandbox, tables=[{"name": "with_cursor", "cursor": "clock"}, "with_key", "bare"]
    )
    shutil.rmtree(tmp_path / "walked", ignore_errors=True)
    walked = Store(tmp_path / "walked")
    for clock, edits in enumerate(rounds):
        for edit, number, name in edits:
            for table in tables:
                key = "number" if table == "bare" else "id"
                sandbox.execute(f"DELETE FROM {table} WHERE {key} = {number}")
                if edit == "upsert":
                    sandbox.execute(f"INSERT INTO {table} VALUES ({number}, '{name}', {clock})")
        done = refresh(walked, source, allow_shrink=True)
    shutil.rmtree(tmp_path / "fresh", ignore_errors=True)
    fresh = refresh(Store(tmp_path / "fresh"), source)
    for table in tables:
        assert rows(done[table]) == rows(fresh[table])
        assert done[table].report.data_version == fresh[table].report.data_version
