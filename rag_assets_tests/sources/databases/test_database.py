"""Whatever way rows come, they are the same; and what moved is found, whatever the cursor says."""

import datetime
import os
import random
import signal
import sqlite3
import threading
import time
from decimal import Decimal

import pytest
import sqlalchemy as sa

from rag_assets.config import TableSource
from rag_assets.sources.databases import database, postgres, postgres_reads
from rag_assets.sources.databases.adbc import streaming
from rag_assets.sources.databases.connections import engine_of
from rag_assets.sources.databases.limits import Limits, Watch
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.origins import Origin
from rag_assets.sources.outcomes import Export
from rag_assets.store import Store
from rag_assets_testing import effort
from rag_assets_testing.exported import rows
from rag_assets_tests.sources.conftest import Sandbox, Stopped

PARTS = "CREATE TABLE parts (id bigint PRIMARY KEY, name text, moved timestamptz DEFAULT now())"
TEN = "INSERT INTO parts SELECT i, 'part ' || i FROM generate_series(1, 10) AS i"
GROWING = "UPDATE parts SET moved = '2024-01-01'::date + id::int"

OF_THE_LIKE = pytest.mark.nightly(guards=["rag_assets/sources/databases"])


def source_of(sandbox: Sandbox, **settings) -> TableSource:
    return TableSource(url=sandbox.url, schema=sandbox.schema, **settings)


def refresh(store: Store, source: TableSource, **settings) -> dict[str, Export]:
    arguments = {"allow_shrink": True, "log": lambda _: None} | settings
    return {item.table: item for item in refresh_exports(store, source, **arguments)}


def counts(item: Export) -> tuple[int, int, int, int, int]:
    report = item.report
    return (report.added, report.changed, report.removed, report.unchanged, report.failed)


@pytest.fixture
def arrow() -> None:
    pytest.importorskip("adbc_driver_postgresql")


KINDS = {
    "small": ("smallint", "-7", -7),
    "big": ("bigint", "9223372036854775807", 9223372036854775807),
    "single": ("real", "0.1", 0.1),
    "double": ("float8", "1e300", 1e300),
    "exact": ("numeric(10, 2)", "1.50", Decimal("1.50")),
    "free": ("numeric", "12345678901234567890.000000000000000001", None),
    "wide": ("numeric(60, 2)", "1.10", "1.10"),
    "rounded": ("numeric(5, -2)", "12345", Decimal("12300")),
    "tiny": ("numeric(3, 5)", "0.00123", Decimal("0.00123")),
    "no_number": ("numeric", "NaN", None),
    "no_double": ("float8", "NaN", None),
    "endless": ("float8", "-Infinity", float("-inf")),
    "flag": ("boolean", "f", False),
    "day": ("date", "0044-03-15", datetime.date(44, 3, 15)),
    "at": ("timestamp", "2024-02-29 12:30:00.123456", None),
    "zoned": (
        "timestamptz",
        "2024-02-29 12:30+02",
        datetime.datetime(2024, 2, 29, 10, 30, tzinfo=datetime.UTC),
    ),
    "clock": ("time", "23:59:59.999999", datetime.time(23, 59, 59, 999999)),
    "clock_zoned": ("timetz", "12:30:00+02", None),
    "json_text": ("json", '{"b": 1.0, "a": [null, "å", 1e400]}', None),
    "json_binary": ("jsonb", '{"b": {"d": 1, "c": true}, "a": "x"}', None),
    "json_null": ("jsonb", "null", None),
    "uid": (
        "uuid",
        "A0000000-0000-0000-0000-00000000000B",
        "a0000000-0000-0000-0000-00000000000b",
    ),
    "numbers": ("int[]", "{1,NULL,3}", "[1, null, 3]"),
    "nested": ("text[][]", '{{a,"b c"},{NULL,"\\"q"}}', None),
    "decimals": ("numeric[]", "{1.50,NaN}", None),
    "days": ("date[]", "{2024-01-01}", None),
    "moments": ("timestamptz[]", '{"2024-01-01 12:00+02"}', None),
    "raw": ("bytea", "\\x00ff27", b"\x00\xff'"),
    "span": ("interval", "1 mon 2 days 03:04:05", "1 mon 2 days 03:04:05"),
    "span_back": ("interval", "-1 mon +3 days -04:05:06.7", "-1 mons +3 days -04:05:06.7"),
    "span_long": ("interval", "178000000 years", "178000000 years"),
    "spans": ("interval[]", '{"1 mon"}', '["1 mon"]'),
    "when_like": (
        "moment",
        "2024-02-29 12:30+02",
        datetime.datetime(2024, 2, 29, 10, 30, tzinfo=datetime.UTC),
    ),
    "whens": ("tstzrange", "[2024-01-01,)", "[2024-01-01 00:00:00+00:00,)"),
    "net": ("inet", "10.0.0.1", "10.0.0.1"),
    "block": ("cidr", "10.0.0.0/8", "10.0.0.0/8"),
    "span_of": ("int4range", "[1,3)", "[1,3)"),
    "bits": ("bit(4)", "1010", None),
    "money": ("money", "5.10", None),
    "word": ("grade", "high", "high"),
    "padded": ("char(5)", "ab", "ab   "),
    "letter": ('"char"', "x", "x"),
    "named": ("name", "n", "n"),
    "number_like": ("positive", "3", 3),
    "pair": ("pair", "(1,x)", None),
    "point": ("point", "(1,2)", None),
}


def test_values_of_every_type_are_the_same_either_way(store, sandbox, monkeypatch, arrow):
    declared = ", ".join(f"{name} {kind}" for name, (kind, _, _) in KINDS.items())
    sandbox.execute(
        "CREATE TYPE grade AS ENUM ('low', 'high')",
        "CREATE DOMAIN positive AS int CHECK (value > 0)",
        "CREATE DOMAIN moment AS timestamptz",
        "CREATE TYPE pair AS (a int, b text)",
        f"CREATE TABLE kinds (id int PRIMARY KEY, {declared})",
        "INSERT INTO kinds (id) VALUES (2)",
    )
    names = ", ".join(KINDS)
    with sandbox.engine.begin() as connection:
        marks = ", ".join(f"CAST(%s AS {kind})" for kind, _, _ in KINDS.values())
        connection.exec_driver_sql(
            f"INSERT INTO kinds (id, {names}) VALUES (1, {marks})",
            tuple(text for _, text, _ in KINDS.values()),
        )
    source = source_of(sandbox, tables=["kinds"])
    by_arrow = refresh(store, source)["kinds"]
    monkeypatch.setattr(database, "find_spec", lambda _: None)
    plainly = refresh(Store(store.root / "plain"), source)["kinds"]
    assert by_arrow.report.failed == plainly.report.failed == 0
    assert by_arrow.exported.commented.equals(plainly.exported.commented, check_metadata=True)
    assert rows(by_arrow) == rows(plainly)
    assert by_arrow.report.data_version == plainly.report.data_version
    [full, empty] = rows(by_arrow)
    for name, (_, _, expected) in KINDS.items():
        assert expected is None or full[name] == expected, name
        assert empty[name] is None, name


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamptz", "-infinity"),
        ("date", "20000-01-01"),
        ("time", "24:00:00"),
        ("numeric", "Infinity"),
        *(
            pytest.param(kind, value, marks=OF_THE_LIKE)
            for kind, value in (
                ("timestamp", "infinity"),
                ("date", "infinity"),
                ("timestamp", "4713-01-01 00:00:00 BC"),
                ("numeric", "123456789012345678901234567890"),
                ("endless", "infinity"),
                ("interval", "infinity"),
            )
        ),
    ],
)
def test_a_value_that_no_calendar_holds_makes_its_column_text(store, sandbox, way, kind, value):
    sandbox.execute(
        "CREATE DOMAIN endless AS date",
        f"CREATE TABLE odd (id int PRIMARY KEY, value {kind}, fine int)",
        f"INSERT INTO odd VALUES (1, '{value}', 7), (2, NULL, 8)",
    )
    item = refresh(store, source_of(sandbox))["odd"]
    assert item.report.failed == 0, item.report.failures
    assert rows(item) == [
        {"id": 1, "value": value, "fine": 7},
        {"id": 2, "value": None, "fine": 8},
    ]


ODD = (
    ("timetz", "24:00:00+00", "24:00:00+00"),
    ("tstzrange", "[2024-01-01,infinity)", "[2024-01-01 00:00:00+00:00,infinity)"),
    ("daterange", "[2024-01-01,infinity)", "[2024-01-01,infinity)"),
    ("datemultirange", "{[2024-01-01,infinity)}", '["[2024-01-01,infinity)"]'),
    ("date[]", "{2024-01-01,infinity}", '["2024-01-01", "infinity"]'),
    ("timestamp[]", "{{-infinity}}", '[["-infinity"]]'),
    ("timestamptz[]", "{20000-01-01}", '["20000-01-01 00:00:00+00"]'),
    ("interval[]", "{infinity}", '["infinity"]'),
    ("time[]", "{24:00}", '["24:00:00"]'),
)


def test_a_value_that_no_calendar_holds_is_spelled_in_ranges_and_lists(store, sandbox, way):
    sandbox.execute(
        *(
            statement
            for place, (kind, value, _) in enumerate(ODD)
            for statement in (
                f"CREATE TABLE odd{place} (id int PRIMARY KEY, value {kind})",
                f"INSERT INTO odd{place} VALUES (1, '{value}'), (2, NULL)",
            )
        )
    )
    done = refresh(store, source_of(sandbox))
    for place, (_, _, shown) in enumerate(ODD):
        item = done[f"odd{place}"]
        assert item.report.failed == 0, item.report.failures
        assert rows(item) == [{"id": 1, "value": shown}, {"id": 2, "value": None}]


def test_only_rows_that_moved_are_read(store, sandbox, arrow):
    sandbox.execute(PARTS, TEN)
    source = source_of(sandbox)
    assert refresh(store, source)["parts"].rows_read == 10
    sandbox.execute(
        "UPDATE parts SET name = 'x' WHERE id = 3",
        "INSERT INTO parts VALUES (11, 'new')",
        "DELETE FROM parts WHERE id = 5",
    )
    second = refresh(store, source)["parts"]
    assert counts(second) == (1, 1, 1, 8, 0)
    assert (second.rows_read, second.keys_read) == (2, 10)
    assert rows(second) == rows(refresh(Store(store.root / "fresh"), source)["parts"])


KEYS = {
    "of_text": ("text", ["""it's "quoted", {a}\\b%""", "å", "", " "]),
    "of_moments": ("timestamptz", ["2024-01-01 12:00:00.5+02", "1900-01-01 00:00+00"]),
    "of_days": ("date", ["2024-01-01", "0001-01-01"]),
    "of_numbers": ("numeric(20, 5)", ["1.5", "-0.00001"]),
    "of_bytes": ("bytea", ["\\x00ff", "\\x"]),
    "of_uuids": ("uuid", ["a0000000-0000-0000-0000-00000000000b"]),
    "of_booleans": ("boolean", ["t", "f"]),
}


def test_rows_that_moved_are_found_whatever_kind_their_key_is_of(store, sandbox, arrow):
    for table, (kind, values) in KEYS.items():
        sandbox.execute(f"CREATE TABLE {table} (k {kind}, n int, name text, PRIMARY KEY (k, n))")
        with sandbox.engine.begin() as connection:
            for value in values:
                connection.exec_driver_sql(
                    f"INSERT INTO {table} "
                    f"SELECT CAST(%s AS {kind}), i, 'a' FROM generate_series(1, 9) i",
                    (value,),
                )
    source = source_of(sandbox)
    refresh(store, source)
    sandbox.execute(*(f"UPDATE {table} SET name = 'b' WHERE n = 1" for table in KEYS))
    done = refresh(store, source)
    for table, (_, values) in KEYS.items():
        item = done[table]
        assert counts(item) == (0, len(values), 0, 8 * len(values), 0), table
        assert (item.rows_read, item.keys_read) == (len(values), 9 * len(values)), table


def is_as_built_anew(store: Store, source: TableSource, table: str) -> bool:
    """Refresh, and hold what is held against what is built from scratch."""
    item = refresh(store, source)[table]
    fresh = refresh(Store(store.root / "fresh"), source)[table]
    told = [(rows(each), each.report.data_version, each.report.failed) for each in (item, fresh)]
    return told[0] == told[1]


@pytest.mark.usefixtures("arrow")
def test_a_row_whose_key_lacks_a_part_is_read_when_it_moved(store, sandbox):
    sandbox.execute(
        "CREATE TABLE parts (id int, side text, name text)",
        "INSERT INTO parts SELECT i, nullif('right', 'right'), 'a' FROM generate_series(1, 9) i",
    )
    source = source_of(sandbox, tables=[{"name": "parts", "key": ["id", "side"]}])
    refresh(store, source)
    sandbox.execute("UPDATE parts SET name = 'b' WHERE id = 3")
    assert is_as_built_anew(store, source, "parts")


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("cursor", [pytest.param(None, marks=OF_THE_LIKE), "moved"])
def test_a_column_that_was_made_text_stays_text_when_other_rows_move(store, sandbox, cursor):
    sandbox.execute(PARTS, TEN, "ALTER TABLE parts ADD COLUMN until date DEFAULT 'infinity'")
    sandbox.execute("UPDATE parts SET until = '2024-01-01' WHERE id > 1")
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    refresh(store, source)
    sandbox.execute("UPDATE parts SET name = 'x', moved = now() WHERE id = 3")
    assert is_as_built_anew(store, source, "parts")


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize(
    ("key", "cursor"),
    [
        (["id"], "moved"),
        ([], None),
        pytest.param(["id"], None, marks=OF_THE_LIKE),
        pytest.param([], "moved", marks=OF_THE_LIKE),
    ],
)
def test_new_rows_that_share_a_key_are_treated_as_in_a_build_from_scratch(
    store, sandbox, cursor, key
):
    sandbox.execute(PARTS.replace("PRIMARY KEY", ""), TEN)
    source = source_of(sandbox, tables=[{"name": "parts", "key": key, "cursor": cursor}])
    refresh(store, source)
    sandbox.execute("INSERT INTO parts VALUES (11, 'one'), (11, 'two')")
    assert is_as_built_anew(store, source, "parts")


@pytest.mark.usefixtures("arrow")
def test_a_column_that_becomes_unique_becomes_the_key_as_in_a_build_from_scratch(store, sandbox):
    sandbox.execute(
        "CREATE TABLE parts (row_id int, id int, name text)",
        "INSERT INTO parts SELECT greatest(i, 2), i, 'a' FROM generate_series(1, 9) i",
    )
    source = source_of(sandbox)
    refresh(store, source)
    sandbox.execute("UPDATE parts SET row_id = 1 WHERE id = 1")
    assert is_as_built_anew(store, source, "parts")


@pytest.mark.parametrize("cursor", [None, "moved"])
def test_after_a_start_of_the_server_a_table_is_read_whole(
    store, sandbox, monkeypatch, arrow, cursor
):
    """It may be a backup put back, whose rows have numbers that are no newer than those held."""
    sandbox.execute(PARTS, TEN, GROWING)
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    refresh(store, source)
    monkeypatch.setattr(postgres_reads, "STARTED", "now()")
    sandbox.execute("UPDATE parts SET name = 'x' WHERE id = 3")
    started = refresh(store, source)["parts"]
    assert counts(started) == (0, 1, 0, 9, 0)
    assert started.rows_read == 10


def test_swapped_values_and_equal_twins_move_the_look(store, sandbox):
    sandbox.execute(
        "CREATE TABLE bare (name text, size bigint)",
        "INSERT INTO bare VALUES ('a', 1), ('b', 2), ('c', 3), ('c', 3)",
    )
    source = source_of(sandbox)
    refresh(store, source)
    sandbox.execute("UPDATE bare SET size = 3 - size WHERE size < 3")
    assert counts(refresh(store, source)["bare"]) == (2, 0, 2, 2, 0)
    sandbox.execute("UPDATE bare SET name = 'd' WHERE size = 3")
    assert counts(refresh(store, source)["bare"]) == (2, 0, 2, 2, 0)
    sandbox.execute("UPDATE bare SET size = 4294967296 WHERE size = 1")
    assert counts(refresh(store, source)["bare"]) == (1, 0, 1, 3, 0)


def test_a_type_without_a_binary_form_is_hashed_as_text(store, sandbox, arrow):
    sandbox.execute(
        "CREATE TABLE rights (id int PRIMARY KEY, who aclitem, name text)",
        "INSERT INTO rights SELECT i, 'postgres=r/postgres', 'a' FROM generate_series(1, 9) AS i",
    )
    source = source_of(sandbox)
    first = refresh(store, source)["rights"]
    assert first.report.failed == 0, first.report.failures
    sandbox.execute("UPDATE rights SET name = 'b' WHERE id = 1")
    second = refresh(store, source)["rights"]
    assert counts(second) == (0, 1, 0, 8, 0)
    assert second.rows_read == 1


CURSOR = [{"name": "parts", "cursor": "moved"}]


def test_a_key_without_a_binary_form_goes_with_a_cursor(store, sandbox, way):
    sandbox.execute(
        "CREATE EXTENSION IF NOT EXISTS isn SCHEMA public",
        "CREATE TABLE books (isbn public.isbn13 PRIMARY KEY, title text, moved int)",
        "INSERT INTO books VALUES ('978-0-393-04002-9', 'a', 1), ('978-0-306-40615-7', 'b', 2)",
    )
    source = source_of(sandbox, tables=[{"name": "books", "cursor": "moved"}])
    assert counts(refresh(store, source)["books"]) == (2, 0, 0, 0, 0)
    sandbox.execute("UPDATE books SET title = 'x', moved = 3 WHERE moved = 1")
    assert counts(refresh(store, source)["books"]) == (0, 1, 0, 1, 0)


def test_another_driver_of_postgresql_reads_the_same(store, sandbox, way):
    sandbox.execute(PARTS, TEN, "UPDATE parts SET moved = 'infinity' WHERE id = 3")
    ours = source_of(sandbox)
    theirs = TableSource(
        url=sandbox.url.replace("postgresql://", "postgresql+psycopg2://"), schema=sandbox.schema
    )
    one = refresh(store, ours)["parts"]
    other = refresh(Store(store.root / "other"), theirs)["parts"]
    assert other.report.failed == 0
    assert rows(one) == rows(other)


@pytest.mark.parametrize("cursor", [pytest.param(None, marks=OF_THE_LIKE), "moved"])
def test_an_update_that_commits_late_is_found(store, sandbox, arrow, cursor):
    """Its cursor was set long before the newest row that the refresh in between saw."""
    sandbox.execute(PARTS, TEN, "UPDATE parts SET moved = '2024-01-01'")
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    refresh(store, source)
    late = sandbox.engine.connect()
    late.exec_driver_sql("SAVEPOINT part_of_it")
    late.exec_driver_sql("UPDATE parts SET name = 'late', moved = '2024-06-01' WHERE id = 3")
    sandbox.execute("UPDATE parts SET name = 'early', moved = '2025-01-01' WHERE id = 4")
    assert counts(refresh(store, source)["parts"]) == (0, 1, 0, 9, 0)
    late.commit()
    late.close()
    item = refresh(store, source)["parts"]
    assert counts(item) == (0, 1, 0, 9, 0)
    assert item.rows_read < 10


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("cursor", [None, "moved"])
def test_no_change_of_transactions_that_overlap_is_missed(store, sandbox, cursor):
    """They begin, write, take back a part, commit and fail while refreshes read between them."""
    draw = random.Random(7)
    sandbox.execute(PARTS, TEN, GROWING)
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    refresh(store, source)
    for _ in range(60 if effort.is_night() else 3):
        writers = [sandbox.engine.connect() for _ in range(3)]
        for place, writer in enumerate(writers):
            mine = [draw.randrange(1, 4) * 3 + place - 2 for _ in range(2)]
            writer.exec_driver_sql(f"UPDATE parts SET name = name || 'a' WHERE id = {mine[0]}")
            with writer.begin_nested() as part:
                writer.exec_driver_sql(f"UPDATE parts SET name = name || 'b' WHERE id = {mine[1]}")
                if draw.random() < 0.3:
                    part.rollback()
            if draw.random() < 0.3:
                writer.exec_driver_sql(f"DELETE FROM parts WHERE id = {mine[0]}")
                writer.exec_driver_sql(f"INSERT INTO parts (id, name) VALUES ({mine[0]}, 'new')")
        draw.shuffle(writers)
        for writer in writers:
            if draw.random() < 0.5:
                refresh(store, source)
            writer.rollback() if draw.random() < 0.2 else writer.commit()
            writer.close()
    assert is_as_built_anew(store, source, "parts")


def test_an_update_that_forgets_its_cursor_is_found(store, sandbox, arrow):
    sandbox.execute(PARTS, TEN, "UPDATE parts SET moved = '2024-01-01' WHERE id < 10")
    source = source_of(sandbox, tables=CURSOR)
    refresh(store, source)
    sandbox.execute("UPDATE parts SET name = 'x' WHERE id = 3")
    item = refresh(store, source)["parts"]
    assert counts(item) == (0, 1, 0, 9, 0)
    assert item.rows_read < 10


@pytest.mark.parametrize("cursor", [pytest.param(None, marks=OF_THE_LIKE), "moved"])
@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE parts DROP COLUMN n", "ALTER TABLE parts ADD COLUMN n int DEFAULT 2"],
        ["ALTER TYPE word RENAME VALUE 'a' TO 'b'"],
        [
            "CREATE TABLE other (LIKE parts INCLUDING ALL)",
            "INSERT INTO other SELECT id, name || '!', moved, w, n FROM parts",
            "SWAP",
        ],
        ["TRUNCATE parts", "INSERT INTO parts SELECT i, 'again' FROM generate_series(1, 10) i"],
    ],
)
def test_what_changes_without_a_write_to_a_row_is_found(store, sandbox, way, cursor, statements):
    sandbox.execute("CREATE TYPE word AS ENUM ('a', 'z')", PARTS)
    sandbox.execute(
        "ALTER TABLE parts ADD COLUMN w word DEFAULT 'a'",
        "ALTER TABLE parts ADD COLUMN n int DEFAULT 1",
        TEN,
    )
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    if statements[-1] == "SWAP":
        sandbox.execute(*statements[:-1])
        statements = [
            "ALTER TABLE parts RENAME TO gone",
            "ALTER TABLE other RENAME TO parts",
        ]
    refresh(store, source)
    sandbox.execute(*statements)
    item = refresh(store, source)["parts"]
    fresh = refresh(Store(store.root / "fresh"), source)["parts"]
    assert item.report.data_version == fresh.report.data_version
    assert rows(item) == rows(fresh)


@pytest.mark.parametrize("cursor", [pytest.param(None, marks=OF_THE_LIKE), "moved"])
@pytest.mark.parametrize(
    "statement",
    ["ALTER TYPE word RENAME VALUE 'a' TO 'b'", "ALTER TYPE pair DROP ATTRIBUTE size"],
)
def test_what_changes_inside_a_list_or_a_pair_is_found(store, sandbox, arrow, cursor, statement):
    sandbox.execute(
        "CREATE TYPE word AS ENUM ('a', 'z')",
        "CREATE TYPE pair AS (words word[], size int)",
        "CREATE DOMAIN few AS word[]",
        PARTS,
        "ALTER TABLE parts ADD COLUMN pairs pair[], ADD COLUMN several few",
        TEN,
        "UPDATE parts SET pairs = ARRAY[ROW('{a}', 1)::pair], several = '{a,z}'",
        GROWING,
    )
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    refresh(store, source)
    sandbox.execute(statement)
    assert is_as_built_anew(store, source, "parts")


@pytest.mark.usefixtures("arrow")
def test_rows_of_a_foreign_partition_have_no_numbers_to_go_by(store, sandbox):
    url = sa.make_url(sandbox.url)
    host = url.host or url.query["host"]
    sandbox.execute(
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw SCHEMA public",
        "CREATE TABLE far (id int, name text)",
        "INSERT INTO far SELECT i, 'far ' || i FROM generate_series(11, 20) i",
        "CREATE TABLE parts (id int, name text) PARTITION BY RANGE (id)",
        "CREATE TABLE near PARTITION OF parts FOR VALUES FROM (1) TO (11)",
        "INSERT INTO parts SELECT i, 'near ' || i FROM generate_series(1, 10) i",
        f"CREATE SERVER s{sandbox.schema} FOREIGN DATA WRAPPER postgres_fdw "
        f"OPTIONS (host '{host}', port '{url.port or 5432}', dbname '{url.database}')",
        f"CREATE USER MAPPING FOR CURRENT_USER SERVER s{sandbox.schema} "
        f"OPTIONS (user '{url.username}')",
        "CREATE FOREIGN TABLE away PARTITION OF parts FOR VALUES FROM (11) TO (21) "
        f"SERVER s{sandbox.schema} OPTIONS (schema_name '{sandbox.schema}', table_name 'far')",
    )
    source = source_of(sandbox, tables=[{"name": "parts", "key": ["id"]}])
    refresh(store, source)
    sandbox.execute("UPDATE far SET name = 'moved' WHERE id = 12")
    assert counts(refresh(store, source)["parts"]) == (0, 1, 0, 19, 0)
    sandbox.execute(f"DROP SERVER s{sandbox.schema} CASCADE")


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("cursor", [pytest.param(None, marks=OF_THE_LIKE), "moved"])
def test_a_database_that_is_made_anew_from_its_template_is_read_whole(store, sandbox, cursor):
    """Its tables and rows have the numbers of before."""
    template, name = f"t{sandbox.schema}", f"d{sandbox.schema}"
    url = sa.make_url(sandbox.url)

    def run(database: str, *statements: str) -> None:
        engine = sa.create_engine(
            url.set(drivername="postgresql+psycopg", database=database),
            poolclass=sa.NullPool,
            isolation_level="AUTOCOMMIT",
        )
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    run(url.database or "", f"CREATE DATABASE {template}")
    run(template, PARTS, TEN, GROWING)
    run(url.database or "", f"CREATE DATABASE {name} TEMPLATE {template}")
    run(name, "UPDATE parts SET name = 'tried' WHERE id = 3")
    source = TableSource(
        url=url.set(database=name).render_as_string(hide_password=False),
        tables=[{"name": "parts", "cursor": cursor}],
    )
    refresh(store, source)
    run(url.database or "", f"DROP DATABASE {name}", f"CREATE DATABASE {name} TEMPLATE {template}")
    item = refresh(store, source)["parts"]
    run(url.database or "", f"DROP DATABASE {name}", f"DROP DATABASE {template}")
    assert counts(item) == (0, 1, 0, 9, 0)


@pytest.mark.usefixtures("way")
def test_a_change_that_lasts_while_a_table_is_read_is_taken_back(store, sandbox, monkeypatch):
    """The look before it and the look after it see the same rows."""
    sandbox.execute(PARTS, TEN)
    source = source_of(sandbox)
    read = database.DatabaseTables.reading

    def meanwhile(origin, *arguments, **named):
        sandbox.execute("UPDATE parts SET name = 'for a moment' WHERE id = 3")
        return read(origin, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(database.DatabaseTables, "reading", meanwhile)
        refresh(store, source)
    sandbox.execute("UPDATE parts SET name = 'part 3' WHERE id = 3")
    assert is_as_built_anew(store, source, "parts")


def test_a_new_partition_is_read_and_the_others_are_not(store, sandbox, arrow):
    sandbox.execute(
        "CREATE TABLE parts (id int PRIMARY KEY, name text, moved int) PARTITION BY RANGE (id)",
        "CREATE TABLE one PARTITION OF parts FOR VALUES FROM (1) TO (11)",
        "CREATE TABLE two (id int PRIMARY KEY, name text, moved int)",
        "INSERT INTO parts SELECT i, 'a', i FROM generate_series(1, 10) i",
        "INSERT INTO two SELECT i, 'b', 0 FROM generate_series(11, 15) i",
    )
    source = source_of(sandbox, tables=CURSOR)
    refresh(store, source)
    sandbox.execute("ALTER TABLE parts ATTACH PARTITION two FOR VALUES FROM (11) TO (21)")
    item = refresh(store, source)["parts"]
    assert counts(item) == (5, 0, 0, 10, 0)
    assert item.rows_read == 6


@pytest.fixture
def partitioned(sandbox) -> Sandbox:
    sandbox.execute(
        "CREATE TABLE parts (id int PRIMARY KEY, name text) PARTITION BY RANGE (id)",
        "CREATE TABLE low PARTITION OF parts FOR VALUES FROM (1) TO (11) PARTITION BY RANGE (id)",
        "CREATE TABLE lowest PARTITION OF low FOR VALUES FROM (1) TO (5)",
        "CREATE TABLE high PARTITION OF parts FOR VALUES FROM (11) TO (21)",
        "CREATE TABLE other (id int PRIMARY KEY, name text)",
        "CREATE TABLE child (extra text) INHERITS (other)",
        "INSERT INTO parts SELECT i, 'part ' || i FROM generate_series(1, 4) AS i",
    )
    return sandbox


@pytest.mark.parametrize(
    ("settings", "taken"),
    [
        ({}, {"parts", "other", "child"}),
        ({"tables": ["*", "lowest"]}, {"parts", "other", "child", "lowest"}),
        ({"exclude": ["parts"]}, {"low", "high", "other", "child"}),
        ({"tables": ["l*"]}, {"low"}),
    ],
)
def test_no_partition_is_taken_beside_its_table_unless_it_is_named(
    store, partitioned, settings, taken
):
    done = refresh(store, source_of(partitioned, **settings))
    assert set(done) == taken
    assert not [item.report.failures for item in done.values() if item.report.failed]


def test_materialized_views_and_foreign_tables_are_read_where_they_are_named(store, sandbox, way):
    sandbox.execute(
        PARTS,
        TEN,
        "CREATE MATERIALIZED VIEW summed AS SELECT id, name FROM parts WHERE id < 3",
        "COMMENT ON MATERIALIZED VIEW summed IS 'Some parts'",
        "CREATE EXTENSION IF NOT EXISTS file_fdw SCHEMA public",
        "CREATE SERVER IF NOT EXISTS files FOREIGN DATA WRAPPER file_fdw",
        "DO $$ BEGIN EXECUTE format('CREATE FOREIGN TABLE far (line text) SERVER files "
        "OPTIONS (filename %%L)', current_setting('data_directory') || '/PG_VERSION'); END $$",
    )
    source = source_of(sandbox, tables=["*", "summed", "far"])
    done = refresh(store, source)
    assert {table: counts(item) for table, item in done.items()} == {
        "parts": (10, 0, 0, 0, 0),
        "summed": (2, 0, 0, 0, 0),
        "far": (1, 0, 0, 0, 0),
    }
    assert done["summed"].exported.about.title == "Some parts"
    sandbox.execute("UPDATE parts SET name = 'x' WHERE id = 1", "REFRESH MATERIALIZED VIEW summed")
    assert counts(refresh(store, source)["summed"]) == (0, 1, 0, 1, 0)
    assert set(refresh(Store(store.root / "all"), source_of(sandbox))) == {"parts"}


def test_a_server_that_keeps_its_identity_to_itself_is_read_by_the_cursor(
    store, sandbox, monkeypatch, arrow
):
    monkeypatch.setattr(postgres, "CLUSTER", "SELECT no_such_function()")
    sandbox.execute(PARTS, TEN, "UPDATE parts SET moved = '2024-01-01'")
    source = source_of(sandbox, tables=CURSOR)
    refresh(store, source)
    sandbox.execute("UPDATE parts SET name = 'x', moved = '2025-01-01' WHERE id = 3")
    item = refresh(store, source)["parts"]
    assert counts(item) == (0, 1, 0, 9, 0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(
            ["CREATE OR REPLACE VIEW seen AS SELECT id, upper(name) AS name, moved FROM parts"],
            marks=OF_THE_LIKE,
        ),
        ["CREATE OR REPLACE VIEW below AS SELECT id, upper(name) AS name, moved FROM parts"],
        [
            "DROP VIEW seen",
            "CREATE TABLE seen AS SELECT id, upper(name) AS name, moved FROM parts",
        ],
    ],
)
def test_a_view_that_is_defined_anew_is_read_whole(store, sandbox, monkeypatch, statements):
    monkeypatch.setattr(postgres, "CLUSTER", "SELECT no_such_function()")
    sandbox.execute(
        PARTS,
        TEN,
        "UPDATE parts SET moved = '2024-01-01'::date + id::int",
        "CREATE VIEW below AS SELECT * FROM parts",
        "CREATE VIEW seen AS SELECT id, name, moved FROM below",
    )
    source = source_of(sandbox, tables=[{"name": "seen", "cursor": "moved", "key": ["id"]}])
    refresh(store, source)
    sandbox.execute("UPDATE parts SET name = 'x' WHERE id = 10")
    assert refresh(store, source)["seen"].rows_read == 1
    sandbox.execute(*statements)
    assert is_as_built_anew(store, source, "seen")


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("cursor", [pytest.param(None, marks=OF_THE_LIKE), "moved"])
def test_rows_that_were_read_by_another_recipe_are_read_again(store, sandbox, monkeypatch, cursor):
    sandbox.execute(PARTS, TEN, "UPDATE parts SET moved = '2024-01-01'::date + id::int")
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    refresh(store, source)
    monkeypatch.setattr(Origin, "recipe", lambda *_: "another")
    assert refresh(store, source)["parts"].rows_read == 10
    sandbox.execute("INSERT INTO parts VALUES (11, 'new')")
    assert refresh(store, source)["parts"].rows_read < 10


def test_numbers_of_another_cluster_say_nothing(store, sandbox, monkeypatch, arrow):
    sandbox.execute(PARTS, TEN, "UPDATE parts SET moved = '2024-01-01'")
    source = source_of(sandbox, tables=CURSOR)
    refresh(store, source)
    monkeypatch.setattr(postgres, "CLUSTER", "SELECT 'restored'")
    assert refresh(store, source)["parts"].rows_read == 10


def test_numbers_too_far_back_say_nothing(store, sandbox, monkeypatch, arrow):
    sandbox.execute(PARTS, TEN, "UPDATE parts SET moved = '2024-01-01'")
    source = source_of(sandbox, tables=CURSOR)
    refresh(store, source)
    sandbox.execute("UPDATE parts SET name = 'x' WHERE id = 3")
    monkeypatch.setattr(postgres_reads, "LONGEST_MEMORY", 0)
    item = refresh(store, source)["parts"]
    assert counts(item) == (0, 1, 0, 9, 0)
    assert item.rows_read == 10


@pytest.mark.parametrize("cursor", [pytest.param(None, marks=OF_THE_LIKE), "moved"])
def test_any_edits_one_after_the_other_end_as_a_fresh_build_does(store, sandbox, arrow, cursor):
    sandbox.execute(PARTS, TEN)
    source = source_of(sandbox, tables=[{"name": "parts", "cursor": cursor}])
    refresh(store, source)
    edits = (
        "UPDATE parts SET name = 'x', moved = now() WHERE id = 3",
        "DELETE FROM parts WHERE id IN (3, 4)",
        "INSERT INTO parts VALUES (4, 'back'), (11, 'new')",
        "UPDATE parts SET name = 'y', moved = now() WHERE id IN (4, 11)",
        "DELETE FROM parts WHERE id = 11",
        "UPDATE parts SET name = 'z', moved = now()",
    )
    for edit in edits:
        sandbox.execute(edit)
        item = refresh(store, source)["parts"]
        if effort.is_night() or edit in edits[1::2]:
            fresh = refresh(Store(store.root / "fresh"), source)["parts"]
            assert item.report.data_version == fresh.report.data_version, edit
            assert rows(item) == rows(fresh), edit
            assert item.report.rows == len(rows(fresh))


def test_a_database_of_no_encoding_is_read_as_utf_8(store, sandbox, way):
    """`SQL_ASCII`: the server hands out what is UTF-8, and says what is not."""
    name = f"db{sandbox.schema}"
    with sandbox.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
        )
    url = sa.make_url(sandbox.url).set(database=name)
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"client_encoding": "UTF8"},
        poolclass=sa.NullPool,
    )
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE parts (id int PRIMARY KEY, name text)")
        connection.exec_driver_sql("INSERT INTO parts VALUES (1, 'å')")
        connection.exec_driver_sql("CREATE TABLE broken (id int PRIMARY KEY, name text)")
        connection.exec_driver_sql("INSERT INTO broken VALUES (1, E'\\351')")
    done = refresh(store, TableSource(url=url.render_as_string(hide_password=False)))
    assert rows(done["parts"]) == [{"id": 1, "name": "å"}]
    assert 'invalid byte sequence for encoding "UTF8"' in done["broken"].report.failures[0].reason


def test_a_role_that_may_connect_once_is_enough(store, sandbox, way):
    sandbox.execute(
        PARTS,
        TEN,
        "DROP ROLE IF EXISTS once",
        "CREATE ROLE once LOGIN CONNECTION LIMIT 1",
        f"GRANT USAGE ON SCHEMA {sandbox.schema} TO once",
        "GRANT SELECT ON parts TO once",
    )
    url = sa.make_url(sandbox.url).set(username="once").render_as_string(hide_password=False)
    item = refresh(store, TableSource(url=url, schema=sandbox.schema))["parts"]
    sandbox.execute("DROP OWNED BY once", "DROP ROLE once")
    assert counts(item) == (10, 0, 0, 0, 0)


@pytest.mark.parametrize("cursor", [None, "moved"])
def test_a_right_to_read_each_column_is_enough(store, sandbox, arrow, cursor):
    """Such a role may not read the numbers of transactions."""
    sandbox.execute(
        PARTS,
        TEN,
        "DROP ROLE IF EXISTS narrow",
        "CREATE ROLE narrow LOGIN",
        f"GRANT USAGE ON SCHEMA {sandbox.schema} TO narrow",
        "GRANT SELECT (id, name, moved) ON parts TO narrow",
    )
    url = sa.make_url(sandbox.url).set(username="narrow").render_as_string(hide_password=False)
    tables = [{"name": "parts", "cursor": cursor}]
    source = TableSource(url=url, schema=sandbox.schema, tables=tables)
    first = refresh(store, source)["parts"]
    sandbox.execute("UPDATE parts SET name = 'x', moved = now() WHERE id = 3")
    second = refresh(store, source)["parts"]
    sandbox.execute("DROP OWNED BY narrow", "DROP ROLE narrow")
    assert not [*first.report.failures, *second.report.failures]
    assert counts(second) == (0, 1, 0, 9, 0)


def test_a_refresh_leaves_no_connection_behind(store, sandbox):
    sandbox.execute(PARTS, TEN)
    refresh(store, source_of(sandbox))
    here = sandbox.engine.url.render_as_string(hide_password=False)
    with sa.create_engine(here, poolclass=sa.NullPool).connect() as connection:
        found = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()"
        ).scalar()
    assert found == 0


@pytest.mark.usefixtures("arrow", "stoppable_run")
def test_a_run_can_be_stopped_while_the_database_computes(sandbox):
    def sleeping() -> bool:
        with sandbox.engine.connect() as connection:
            return bool(
                connection.exec_driver_sql(
                    "SELECT 1 FROM pg_stat_activity "
                    "WHERE position('pg_sleep(60)' IN query) > 0 AND state = 'active' "
                    "AND pid <> pg_backend_pid()"
                ).scalar()
            )

    def stop_then() -> None:
        while not sleeping():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    watching = threading.Thread(target=stop_then, daemon=True)
    watching.start()
    with pytest.raises(Stopped), streaming(sa.make_url(sandbox.url), table="parts") as stream:
        stream.first_row("SELECT pg_sleep(60)")
    assert not sleeping()


@pytest.mark.usefixtures("stoppable_run")
def test_a_run_can_be_stopped_while_sqlite_computes_which_is_waited_for(tmp_path):
    watch = Watch("plant", Limits(None, 60), lambda _: None, print)
    engine = engine_of(f"sqlite:///{tmp_path / 'plant.sqlite'}", source="plant", watch=watch)
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) "
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(Stopped), watch.over("parts"), engine.connect() as connection:
        connection.exec_driver_sql(f"{count} SELECT max(i) FROM n")


def test_no_message_shows_a_password(store, sandbox, arrow):
    sandbox.execute(PARTS, TEN)
    said: list[str] = []
    address = sandbox.url.replace("postgres:@", "postgres:s3cret@")
    assert "s3cret" in address
    source = TableSource(url=f"{address}&application_name=a", schema=sandbox.schema)
    refresh(store, source, log=said.append)
    gone = TableSource(url="postgresql://me:s3cret@127.0.0.1:1/db")
    [item] = refresh(store, gone, log=said.append).values()
    reason = item.report.failures[0].reason
    assert "me:***@127.0.0.1:1" in reason
    assert "check the URL, the password, the rights" in reason
    assert "s3cret" not in "".join([*said, reason])


def test_a_dialect_that_nobody_knows_is_said(store):
    (failed,) = refresh_exports(
        store, TableSource(url="nosuch://host/plant"), allow_shrink=False, log=lambda _: None
    )
    assert "nosuch" in failed.report.failures[0].reason


def test_a_column_without_a_name_is_no_fault_of_the_connection(store, tmp_path):
    file = tmp_path / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """CREATE TABLE odd (id INTEGER PRIMARY KEY, load REAL, "" TEXT);
            INSERT INTO odd VALUES (1, 'heavy', 'x');
            CREATE TABLE good (id INTEGER PRIMARY KEY);
            INSERT INTO good VALUES (1);"""
        )
    done = refresh(store, TableSource(url=f"sqlite:///{file}", name="shop"))
    assert rows(done["good"]) == [{"id": 1}]
    [failure] = done["odd"].report.failures
    assert failure.reason == (
        "shop/odd cannot be read, as one of its columns has no name: name the column, or the "
        "table in `exclude`"
    )
