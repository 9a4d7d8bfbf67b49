"""MySQL and MariaDB in their own words: how their values are asked, and how a session is set.

What drivers make of a value differs, and some of it is wrong: a TIME of 30 hours becomes six
o'clock, a zero date an empty cell, a DOUBLE is rounded to ten digits. So the server itself spells
every value that is not a number, a text or bytes. A TIMESTAMP is a moment, and asked for in UTC.
"""

from collections.abc import Mapping

PLAIN = {
    *("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double"),
    *("char", "varchar", "tinytext", "text", "mediumtext", "longtext"),
    *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"),
}
"""Types whose values every driver hands out as they are."""
SHAPES = {
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
    *("multipolygon", "geometrycollection", "geomcollection"),
}
TYPES = (
    "SELECT column_name, data_type FROM information_schema.columns "
    "WHERE table_schema = {schema} AND table_name = {table}"
)

UNKNOWN_VARIABLE = 1193
ZONE = "SET time_zone = '+00:00'"
CHARSET = {"charset": "utf8mb4"}
"""The character set for drivers that do not say it themselves: any other turns characters into
question marks."""


def spelled(column: str, data_type: str, *, is_mariadb: bool) -> str | None:
    """SQL: the text of `column`, of the type so named; None where the value itself is asked for."""
    kind = data_type.lower()
    if kind in PLAIN:
        return None
    if kind == "bit":
        return f"CAST({column} AS UNSIGNED)"
    if kind in SHAPES:
        reference = f"NULLIF(CONCAT('SRID=', ST_SRID({column}), ';'), 'SRID=0;')"
        return f"CONCAT(IFNULL({reference}, ''), ST_AsText({column}))"
    if kind == "vector":
        return f"{'VEC_ToText' if is_mariadb else 'VECTOR_TO_STRING'}({column})"
    text = f"CAST({column} AS CHAR)"
    return f"CONCAT({text}, '+00:00')" if kind == "timestamp" else text


def all_spelled(
    types: Mapping[str, str], *, quoted: Mapping[str, str], is_mariadb: bool
) -> dict[str, str]:
    """SQL for each column that the server is to spell; `types` are those of all columns."""
    found = {
        name: spelled(quoted[name], types[name], is_mariadb=is_mariadb)
        for name in types.keys() & quoted.keys()
    }
    return {name: text for name, text in found.items() if text is not None}
