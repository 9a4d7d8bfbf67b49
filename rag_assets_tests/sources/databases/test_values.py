"""What a snapshot holds is what the database itself says: every type, at its ends."""

import datetime
import json
import math
import sqlite3
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.config import TableSource
from rag_assets.sources.cells import json_value
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store
from rag_assets_testing import effort, mariadb
from rag_assets_testing.exported import table_of
from rag_assets_testing.mariadb import MariaDB
from rag_assets_tests.sources.conftest import Sandbox, settle


def held_of(source: TableSource, store: Store) -> dict[str, list]:
    """The columns of the only table, their values in the order of the keys."""
    [item] = refresh_exports(store, source, allow_shrink=True, log=lambda _: None)
    assert not item.report.failures
    return table_of(item.exported).sort_by("id").to_pydict()


def is_said(held: object, text: str | None) -> bool:
    """Whether a value is the one that the database spells as `text`."""
    if held is None or text is None:
        return held is text
    if isinstance(held, bool):
        return text in (("true", "1", "t") if held else ("false", "0", "f"))
    if isinstance(held, bytes):
        return text.removeprefix("\\x").lower() == held.hex()
    if isinstance(held, datetime.datetime) and held.tzinfo:
        return held == datetime.datetime.fromisoformat(text.removesuffix("+00") + "+00:00")
    if isinstance(held, (datetime.datetime, datetime.date, datetime.time)):
        return held == type(held).fromisoformat(text)
    if isinstance(held, (int, float, Decimal)):
        return type(held)(text) == held
    return held == text


@pytest.fixture(scope="module")
def plant() -> Iterator[MariaDB]:
    with mariadb.running() as server:
        yield server


MARIADB = [
    ("TIME", ["'30:10:00'", "'06:10:00'", "'-00:00:01'", "NULL"]),
    ("TIME(6)", ["'838:59:59.999999'", "'-838:59:59.999999'"]),
    ("TIME(3)", ["'23:59:59.999'", "'00:00:00'"]),
    ("DATE", ["'0000-00-00'", "'2024-02-00'", "'9999-12-31'"]),
    ("DATE", ["'1000-01-01'", "'9999-12-31'"]),
    ("DATETIME", ["'0000-00-00 00:00:00'", "'2024-02-29 12:30:00'"]),
    ("DATETIME(6)", ["'9999-12-31 23:59:59.999999'", "'0001-01-01 00:00:00'"]),
    ("YEAR", ["0", "1901", "2155"]),
    ("TINYINT", ["-128", "127"]),
    ("TINYINT(1)", ["0", "1", "5"]),
    ("BOOLEAN", ["true", "false"]),
    ("SMALLINT UNSIGNED", ["65535"]),
    ("MEDIUMINT", ["-8388608"]),
    ("INT(6) ZEROFILL", ["42"]),
    ("BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", ["18446744073709551615", "0"]),
    ("DECIMAL(65,30)", [f"{'9' * 35}.{'9' * 30}", f"-0.{'0' * 29}1"]),
    ("DECIMAL(38,10)", [f"-{'9' * 28}.{'9' * 10}", "1.5"]),
    ("DECIMAL(5,0)", ["99999"]),
    ("FLOAT", ["0.1", "-3.40282e38", "1234567"]),
    ("FLOAT(7,2)", ["12345.678"]),
    ("DOUBLE", ["1.7976931348623157e308", "2.2250738585072014e-308", "0.1 + 0.2", "1e-300"]),
    ("DOUBLE(10,3)", ["1.2345"]),
    ("ENUM('a','b c')", ["'b c'", "''"]),
    ("SET('x','y','z')", ["'z,x'", "''"]),
    ("JSON", ["""'{"b": 1.00000000000000000001, "b": [null, true]}'""", "'null'"]),
    ("CHAR(5)", ["'ab '"]),
    ("VARCHAR(20)", ["' ab '", "''", "'%s 100% %(a)s'"]),
    ("TEXT CHARACTER SET latin1", ["'é€'"]),
    ("LONGTEXT", ["'\U0001f600 \u202e\u05e2'"]),
    ("INET6", ["'::ffff:1.2.3.4'", "'2001:db8::1'"]),
    ("INET4", ["'1.2.3.4'"]),
    ("UUID", ["'A0000000-0000-0000-0000-00000000000B'"]),
]
IN_THEIR_OWN_WORDS = [
    ("BIT(8)", ["b'101'"], "(v+0)"),
    ("BIT(1)", ["b'0'", "b'1'"], "(v+0)"),
    ("BIT(64)", [f"b'{'1' * 64}'"], "(v+0)"),
    ("BINARY(4)", ["'a'"], "HEX(v)"),
    ("VARBINARY(4)", ["x'00ff'", "''"], "HEX(v)"),
    ("LONGBLOB", ["x'00ff27'"], "HEX(v)"),
    ("POINT", ["ST_GeomFromText('POINT(0.30000000000000004 -2)')"], "ST_AsText(v)"),
    (
        "GEOMETRY",
        ["ST_GeomFromText('LINESTRING(0 0,1 1.5)', 4326)"],
        "CONCAT('SRID=', ST_SRID(v), ';', ST_AsText(v))",
    ),
    ("POLYGON", ["ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))')"], "ST_AsText(v)"),
    ("TIMESTAMP(6) NULL", ["'2024-06-01 12:00:00.123456'", "'1970-01-01 00:00:01'"], "(v)"),
]


@pytest.mark.filterwarnings("ignore:Did not recognize type")
def test_every_type_of_mariadb_is_what_the_server_says(store, plant):
    kinds = [(kind, values, "CAST(v AS CHAR)") for kind, values in MARIADB] + IN_THEIR_OWN_WORDS
    names = {f"c{place:02}": kind for place, kind in enumerate(kinds)}
    declared = ", ".join(f"{name} {kind}" for name, (kind, _, _) in names.items())
    asked = ", ".join(words.replace("(v", f"({name}") for name, (_, _, words) in names.items())
    with plant.engine.begin() as connection:
        connection.exec_driver_sql("SET sql_mode = '', time_zone = '+00:00'")
        connection.exec_driver_sql(
            f"CREATE OR REPLACE TABLE kinds (id INT PRIMARY KEY, {declared})"
        )
        for row in range(4):
            cells = [(*values, "NULL", "NULL", "NULL")[row] for _, values, _ in kinds]
            one = f"INSERT INTO kinds VALUES ({row}, {', '.join(cells)})"
            connection.exec_driver_sql(one.replace("%", "%%"))
        said = connection.exec_driver_sql(f"SELECT {asked} FROM kinds ORDER BY id").all()
    held = held_of(TableSource(url=plant.url, tables=["kinds"]), store)
    for place, (name, (kind, _, _)) in enumerate(names.items()):
        for value, row in zip(held[name], said, strict=True):
            text = None if row[place] is None else str(row[place])
            assert is_said(value, text), (kind, value, text)


def test_a_time_of_30_hours_makes_its_column_text_and_loses_no_row(store, plant):
    plant.execute(
        "CREATE OR REPLACE TABLE shifts (id INT PRIMARY KEY, v TIME)",
        "INSERT INTO shifts VALUES (1, '30:10:00'), (2, '06:10:00'), (3, NULL)",
    )
    source = TableSource(url=plant.url, tables=["shifts"])
    assert held_of(source, store)["v"] == ["30:10:00", "06:10:00", None]


def test_a_moment_of_mariadb_is_the_same_wherever_the_server_stands(store, plant):
    plant.execute(
        "SET GLOBAL time_zone = '+05:30'",
        "CREATE OR REPLACE TABLE moments (id INT PRIMARY KEY, v TIMESTAMP)",
    )
    plant.execute("INSERT INTO moments VALUES (1, '2024-06-01 12:00:00')")
    source = TableSource(url=plant.url, tables=[{"name": "moments", "cursor": "v"}])
    moment = datetime.datetime(2024, 6, 1, 6, 30, tzinfo=datetime.UTC)
    assert held_of(source, store)["v"] == [moment]
    plant.execute(
        "SET GLOBAL time_zone = 'SYSTEM'",
        "INSERT INTO moments VALUES (2, '2024-06-02 12:00:00')",
    )
    held = held_of(source, store)
    assert held["v"][0] == moment
    assert held == held_of(source, Store(store.root / "fresh"))


POSTGRES = [
    ("smallint", "-32768", None),
    ("bigint", "-9223372036854775808", None),
    ("numeric", f"-{'9' * 20}.{'9' * 18}", None),
    ("numeric", f"0.{'0' * 40}1", None),
    ("numeric", "-Infinity", None),
    ("numeric(60,2)", "1.10", None),
    ("real", "1.17549435e-38", None),
    ("real", "16777217", None),
    ("float8", "1.7976931348623157e308", None),
    ("float8", "5e-324", None),
    ("float8", "-Infinity", None),
    ("money", "-92233720368547758.08", None),
    ("boolean", "t", None),
    ("date", "0044-03-15 BC", None),
    ("date", "infinity", None),
    ("date", "5874897-12-31", None),
    ("time", "24:00:00", None),
    ("time", "23:59:59.999999", None),
    ("timetz", "24:00:00-15:59:59", None),
    ("timestamp", "4713-01-01 00:00:00 BC", None),
    ("timestamp", "9999-12-31 23:59:59.999999", None),
    ("timestamptz", "2024-06-01 12:00:00.123456+05:30", None),
    ("timestamptz", "-infinity", None),
    ("interval", "-178000000 years", None),
    ("interval", "1 mon -2 days +03:04:05.000006", None),
    ("bytea", "\\x00ff27", None),
    ("uuid", "a0000000-0000-0000-0000-00000000000b", None),
    ("bit(4)", "1010", None),
    ("bit varying", "", None),
    ("inet", "::ffff:1.2.3.4", "::ffff:1.2.3.4"),
    ("inet", "10.0.0.1/24", None),
    ("cidr", "2001:db8::/32", None),
    ("macaddr", "08:00:2b:01:02:03", None),
    ("macaddr8", "08:00:2b:01:02:03:04:05", None),
    ("pg_lsn", "16/B374D848", None),
    ("oid", "4294967295", None),
    ("point", "(0.30000000000000004,-2)", None),
    ("line", "{1,2,3}", None),
    ("box", "(3,4),(1,2)", None),
    ("path", "[(1,2),(3,4)]", None),
    ("polygon", "((1,2),(3,4),(5,6))", None),
    ("circle", "<(1,2),3>", None),
    ("tsvector", "'a':1A 'it''s':2", None),
    ("tsquery", "'a' & !'b'", None),
    ("jsonpath", "$.a[*]", None),
    ("int4range", "empty", None),
    ("numrange", "[1.50,)", None),
    ("daterange", "[2024-01-01,infinity)", None),
    ("textrange", '["a,b","c]"]', None),
    ("textmultirange", '{["a,b",c]}', None),
    ("int4multirange", "{[1,3),[5,7)}", '["[1,3)", "[5,7)"]'),
    ("grade", "very high", None),
    ("pair", '(1,"a ""b"", c")', None),
    ("positive", "7", None),
    ("json", '{"a":1,"a":2}', None),
    ("json", '{"b": 1.10, "a": 1}', '{"a": 1, "b": 1.1}'),
    ("json", "[1e400]", None),
    ("json", "true", None),
    ("json", '"x"', None),
    ("json", "0.1000000000000000000001", None),
    ("jsonb", "null", None),
    ("jsonb", '{"a": 12345678901234567890.123456789}', None),
    ("json[]", '{"{\\"a\\":1}","true",NULL}', '[{"a": 1}, "true", null]'),
    ("int[]", "{1,NULL,3}", "[1, null, 3]"),
    ("int[]", "[0:1]={1,2}", '["[0:1]={1,2}"]'),
    ("text[]", '{NULL,"NULL","","a,\\"b\\"}"}', '[null, "NULL", "", "a,\\"b\\"}"]'),
    ("text[][]", "{{a,b},{c,d}}", '[["a", "b"], ["c", "d"]]'),
    ("numeric[]", "{1.50,Infinity}", '["1.50", "Infinity"]'),
    ("float8[]", "{NaN,-Infinity,0.1}", '[null, "-Infinity", 0.1]'),
    ("bytea[]", '{"\\\\xff","\\\\x616263"}', '["\\\\xff", "\\\\x616263"]'),
    ("box[]", "{(3,4),(1,2);(7,8),(5,6)}", '["(3,4),(1,2)", "(7,8),(5,6)"]'),
    ("positive[]", "{1,2}", "[1, 2]"),
    ("moment[]", "{2024-01-01 12:00+02}", '["2024-01-01 10:00:00+00:00"]'),
    ("grade[]", '{{low,"very high"},{NULL,low}}', '[["low", "very high"], [null, "low"]]'),
    ("citext[]", "{Ab,cD}", '["Ab", "cD"]'),
    ("inet[]", "{10.0.0.1/24,::ffff:1.2.3.4}", '["10.0.0.1/24", "::ffff:1.2.3.4"]'),
    ("hstore", '"a"=>"1", "b"=>NULL', '{"a": "1", "b": null}'),
]
TYPES = [
    "CREATE TYPE grade AS ENUM ('low', 'very high')",
    "CREATE DOMAIN positive AS int CHECK (value > 0)",
    "CREATE DOMAIN moment AS timestamptz",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE TYPE textrange AS RANGE (subtype = text)",
    "CREATE EXTENSION IF NOT EXISTS citext SCHEMA public",
    "CREATE EXTENSION IF NOT EXISTS hstore SCHEMA public",
]


@pytest.mark.filterwarnings("ignore:Did not recognize type")
def test_every_type_of_postgresql_is_what_the_server_says(store, sandbox: Sandbox, way):
    kinds = {f"c{place:02}": each for place, each in enumerate(POSTGRES)}
    declared = ", ".join(f"{name} {kind}" for name, (kind, _, _) in kinds.items())
    casts = ", ".join(f"CAST(%s AS {kind})" for kind, _, _ in kinds.values())
    sandbox.execute(f"SET search_path = {sandbox.schema}, public", *TYPES)
    with sandbox.engine.begin() as connection:
        connection.exec_driver_sql(
            f"SET search_path = {sandbox.schema}, public; SET TimeZone = 'UTC'; "
            "SET bytea_output = 'hex'"
        )
        connection.exec_driver_sql(f"CREATE TABLE kinds (id int PRIMARY KEY, {declared})")
        connection.exec_driver_sql(
            f"INSERT INTO kinds VALUES (1, {casts})", tuple(value for _, value, _ in POSTGRES)
        )
        connection.exec_driver_sql("INSERT INTO kinds (id) VALUES (2)")
        asked = ", ".join(f"{name}::text" for name in kinds)
        said = connection.exec_driver_sql(f"SELECT {asked} FROM kinds WHERE id = 1").one()
    held = held_of(TableSource(url=sandbox.url, schema=sandbox.schema), store)
    for (name, (kind, _, spelled)), text in zip(kinds.items(), said, strict=True):
        value, empty = held[name]
        assert empty is None
        assert value == spelled if spelled else is_said(value, text), (kind, value, text)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
DATES = st.sampled_from(
    [
        "2024-02-29",
        "2024-02-29 12:30:00.123456",
        "2024-02-29 12:30:00.123456789",
        "2024-02-29T12:30:00+02:00",
        "12:30:00",
        "12:30:00.0000001",
        "12:30:00+02:00",
        "24:00:00",
        "infinity",
    ]
)
CELLS = NUMBERS | DATES | st.text(max_size=5) | st.binary(max_size=3) | st.none()
DECLARED = [
    *("", "INTEGER", "INT8", "BOOLEAN", "REAL", "DOUBLE", "NUMERIC(10, 2)", "DECIMAL"),
    *("TEXT", "VARCHAR(3)", "BLOB", "DATE", "DATETIME", "TIMESTAMP", "TIME", "JSON", "ANY"),
]


def is_held(held: object, raw: object) -> bool:
    """Whether a value is the one that SQLite holds, under the spellings that cells.py names."""
    if raw == "":
        return held in (None, "")
    if isinstance(raw, bytes):
        return held in (raw, _decoded(raw), "\\x" + raw.hex())
    if isinstance(held, (datetime.datetime, datetime.date, datetime.time)) and isinstance(raw, str):
        told = raw.partition(".")[2].rstrip("0")
        return type(held).fromisoformat(raw) == held and len(told) <= 6
    if isinstance(raw, (int, float)):
        return held == raw or held == str(raw)
    return held == raw


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


@effort.examples(4, at_night=150)
@given(declared=st.sampled_from(DECLARED), cells=st.lists(CELLS, min_size=1, max_size=4))
@example(declared="INTEGER", cells=[1.5])
@example(declared="TIME", cells=["12:30:00+02:00"])
@example(declared="DATETIME", cells=["2024-02-29 12:30:00.123456789"])
@example(declared="BLOB", cells=["text", b"\xff"])
@example(declared="DOUBLE", cells=[2**53 + 1])
def test_any_value_in_any_column_of_sqlite_is_what_it_holds(declared, cells):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "plant.sqlite"
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})")
            connection.executemany("INSERT INTO t (v) VALUES (?)", [(cell,) for cell in cells])
            raw = [value for (value,) in connection.execute("SELECT v FROM t ORDER BY id")]
        connection.close()
        settle(path)
        held = held_of(TableSource(url=str(path)), Store(Path(name) / "state"))["v"]
    for value, there in zip(held, raw, strict=True):
        assert is_held(value, there), (value, there)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


@given(value=JSON.filter(lambda value: "Infinity" not in json.dumps(value)))
def test_canonical_json_says_what_the_json_said(value):
    text = json.dumps(value)
    held = json_value(text)
    assert (json.loads(held) if isinstance(held, str) else held) == value


@given(
    digits=st.decimals(allow_nan=False, allow_infinity=False).map(str),
    shape=st.sampled_from(["{}", "[{}]", '{{"a": {}}}']),
)
def test_no_number_in_json_loses_a_digit(digits, shape):
    held = json_value(shape.format(digits))
    text = held if isinstance(held, str) else json.dumps(held)
    [there] = json.loads(f"[{text}]", parse_float=Decimal, parse_int=Decimal)
    while isinstance(there, (list, dict)):
        [there] = there.values() if isinstance(there, dict) else there
    assert there == Decimal(digits)
    assert not math.isnan(there)
