"""PostgreSQL in its own words: what a table looks like, and how its values and hashes are asked.

The look at a table without a cursor is the number of its rows, the sum of their hashes, and the sum
of the numbers of the transactions that wrote them: each new version of a row has a greater one, so
that it moves with every change, also one that is taken back. With a cursor it is the number of
rows, the greatest cursor, the sum of the hashes of all keys, and that of the numbers. A view has no
such numbers: there, with a cursor, the rows at its end are hashed.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rag_assets.columns.sql import quoted_name
from rag_assets.sources.origins import Increment, Value

OLDEST_VERSION = (14,)
"""The oldest version that is read in its own way: before PostgreSQL 14 no function hashes a row,
and such a server is read like any other database."""

ROW = "rag_row"
NUMBERS = f"sum({ROW}.xmin::text::bigint)"
"""SQL: moves with each version of a row."""


def hash_of(row: str) -> str:
    """SQL: 64 bits of the binary form of `row`, the same in every session."""
    return f"hash_record_extended(ROW(record_send({row})), 0)"


def hash_of_text(row: str) -> str:
    """SQL: 64 bits of the text of `row`, where a type has no binary form.

    Texts look alike in a session of `SESSION`.
    """
    return f'hashtextextended({row}::text COLLATE "C", 0)'


BINARY_HASH = hash_of(ROW)
TEXT_HASH = hash_of_text(ROW)

SETTINGS = {
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
}
SESSION = "SELECT " + ", ".join(
    f"set_config('{name}', '{value}', false)" for name, value in SETTINGS.items()
)
"""Texts of values look the same whatever the server's settings are."""

FACTS = """
WITH RECURSIVE parts(oid) AS (
    SELECT to_regclass({name})::oid
    UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = parts.oid
), seen(oid) AS (
    SELECT to_regclass({name})::oid
    UNION SELECT refobjid FROM seen JOIN pg_rewrite ON ev_class = seen.oid
    JOIN pg_depend ON objid = pg_rewrite.oid AND classid = 'pg_rewrite'::regclass
        AND refclassid = 'pg_class'::regclass
), types(oid) AS (
    SELECT atttypid FROM pg_attribute
    WHERE attrelid = to_regclass({name}) AND attnum > 0 AND NOT attisdropped
    UNION SELECT part FROM types JOIN pg_type USING (oid) CROSS JOIN LATERAL (
        SELECT typelem UNION SELECT typbasetype
        UNION SELECT rngsubtype FROM pg_range WHERE oid IN (rngtypid, rngmultitypid)
        UNION SELECT atttypid FROM pg_attribute
        WHERE attrelid = typrelid AND attnum > 0 AND NOT attisdropped
    ) AS made_of(part) WHERE part <> 0
)
SELECT version(),
    has_table_privilege(pg_class.oid, 'SELECT') AND (SELECT
        bool_and(relkind = 'p' OR (relkind IN ('r', 'm') AND amname = 'heap'))
        FROM parts JOIN pg_class AS part USING (oid) LEFT JOIN pg_am ON pg_am.oid = part.relam),
    (SELECT array_agg(oid::bigint ORDER BY oid) FROM parts),
    concat_ws(';', (SELECT string_agg(pg_get_viewdef(oid), ';' ORDER BY oid) FROM seen
        JOIN pg_class USING (oid) WHERE relkind = 'v'),
    (SELECT string_agg(concat_ws(':', attnum, attname, atttypid, atttypmod, attmissingval::text,
        (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
            WHERE attgenerated <> '' AND adrelid = attrelid AND adnum = attnum)
    ), ';' ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped),
    (SELECT string_agg(concat_ws(':', enumtypid, enumlabel), ';'
        ORDER BY enumtypid, enumsortorder)
    FROM pg_enum JOIN types ON types.oid = enumtypid),
    (SELECT string_agg(concat_ws(':', attrelid, attnum, attname), ';' ORDER BY attrelid, attnum)
    FROM types JOIN pg_type USING (oid) JOIN pg_attribute ON attrelid = typrelid
    WHERE attnum > 0 AND NOT attisdropped))
FROM pg_class WHERE oid = to_regclass({name})
"""
ARRAYS = """
SELECT typname::text, CASE typtype WHEN 'd' THEN typbasetype ELSE oid END, typarray, typdelim::text
FROM pg_type WHERE typarray <> 0 AND typtype IN ('b', 'd', 'e') AND oid >= 16384
"""
"""Arrays of types that are not built in: name and type of an element, of the array, delimiter."""
PARTITIONS = """
WITH RECURSIVE above(part, whole) AS (
    SELECT inhrelid, inhparent FROM pg_inherits JOIN pg_class ON oid = inhrelid
    WHERE relispartition
    UNION SELECT part, inhparent FROM above JOIN pg_inherits ON inhrelid = whole
)
SELECT part.relname, whole.relname FROM above
JOIN pg_class AS part ON part.oid = above.part JOIN pg_class AS whole ON whole.oid = above.whole
WHERE part.relnamespace = whole.relnamespace
    AND part.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = {schema})
"""
"""Partitions of a schema, each with every table there that holds its rows."""
PARTITIONS_FROM = (10,)
"""Version of PostgreSQL that first knows them."""
CLUSTER = (
    "SELECT (SELECT system_identifier FROM pg_control_system()), "
    "(SELECT timeline_id FROM pg_control_checkpoint()), "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the server says about itself and about a table."""

    server: str
    """The version of the server, and what it was built for."""
    has_numbers: bool
    """Whether all rows lie in tables of this server that keep the numbers of transactions, and one
    may read these: not those of a view, of a foreign table or partition, or of a storage of another
    kind, nor where rights are granted column by column."""
    relations: Sequence[int]
    """The table and its partitions."""
    structure: str
    """Fingerprint of the columns and of all that gives a row another value without a write.

    For a view that is its definition, with those of the views that it looks at.
    """
    cluster: str | None
    """The data directory that answers, the restore that it is of, and the database in it; None if
    it may not be told."""

    @property
    def is_numbered(self) -> bool:
        """Whether the numbers of transactions tell which rows are new."""
        return self.has_numbers and self.cluster is not None

    @property
    def memory(self) -> str:
        """What the next read by a cursor wants to be told of rows that are not numbered."""
        return json.dumps({"structure": self.structure})


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """How the value of one column is read."""

    expression: str
    parse: Callable[[str], Value] | None = None
    """Makes the text of a value what psycopg makes of it; None where Arrow holds it as it is."""


NATIVE = {
    16: "boolean",
    17: "bytea",
    20: "bigint",
    21: "smallint",
    23: "integer",
    25: "text",
    700: "real",
    701: "double precision",
    1042: "bpchar",
    1043: "varchar",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1700: "numeric",
    2950: "uuid",
}
"""Types that Arrow holds without loss, by their number."""
AS_TEXT = ("numeric", "uuid")
DATES = ("date", "time", "timetz", "timestamp", "timestamptz")


def cell_of(
    name: str,
    number: int,
    kind: pa.DataType,
    *,
    parse: Callable[[str], Value],
) -> ColumnReading:
    """How the column `name`, of the type with this `number`, becomes a column of `kind`.

    `parse` is what psycopg and SQLAlchemy make of a text of that type.
    """
    column = f"{ROW}.{quoted_name(name)}"
    native = NATIVE.get(number, "")
    is_date_as_text = native in DATES and kind == pa.string()
    if native and (kind != pa.string() or native in ("text", "varchar", "bpchar", "uuid")):
        return ColumnReading(f"{column}::text" if native in AS_TEXT else column)
    if is_date_as_text:
        return ColumnReading(f"{column}::text")
    as_psycopg_sees_it = f"CASE WHEN num_nulls({column}) = 0 THEN format('%s', {column}) END"
    return ColumnReading(as_psycopg_sees_it, parse)


def look(relation: str, row_hash: str, facts: Facts) -> str:
    """SQL: one row that moves whenever a row of the table does."""
    numbers = f", {NUMBERS}" if facts.is_numbered else ""
    return f"SELECT count(*), sum({row_hash}){numbers} FROM {relation} AS {ROW}"


def newest_look(
    relation: str, increment: Increment, facts: Facts, *, hashed: Callable[[str], str]
) -> str:
    """SQL: one row that moves whenever an incremental read would find something.

    With numbered rows that is every change: each version of a row has a greater number. `hashed`
    makes the hash of a row.
    """
    cursor = quoted_name(increment.cursor)
    keys = ", ".join(f"{ROW}.{quoted_name(part)}" for part in increment.key)
    asked = f"SELECT count(*), max({ROW}.{cursor}), sum({hashed(f'ROW({keys})')})"
    if facts.is_numbered:
        return f"{asked}, {NUMBERS} FROM {relation} AS {ROW}"
    return (
        f"{asked}, (SELECT sum({TEXT_HASH}) FROM {relation} AS {ROW} WHERE {cursor} IS NULL "
        f"OR {cursor} = (SELECT max({cursor}) FROM {relation})) FROM {relation} AS {ROW}"
    )
