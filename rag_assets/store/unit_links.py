"""Links between units: a name that one mentions, and the documents and rows that are about it.

The table of names (`schemas.UNIT_LINKS`) has no links, since a link depends on two units. Here the
names are joined. Names that are one thing to nobody lead nowhere: those that more than
`MOST_THINGS` documents or rows are about. Names that mean the same are one name to whoever says so
when it joins them; nothing that is stored depends on that.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa

from rag_assets.columns.arrow_sql import query
from rag_assets.store.pins import Pin
from rag_assets.store.store import Store

MOST_THINGS = 10
"""Documents and rows that one name may be of: all of them are candidates, and none is chosen."""

_MENTIONS = """
WITH cells AS (SELECT unit_id, document_id, unnest(mentions) AS m FROM units),
mentions AS (
    SELECT unit_id, coalesce(document_id, unit_id) AS thing, document_id IS NOT NULL AS is_document,
        m.kind AS kind, coalesce(s.meaning, m.name) AS name, m.text AS text, m.place AS place,
        m.defines AS defines
    FROM cells LEFT JOIN synonyms AS s ON m.kind = 'name' AND s.name = m.name
),
things AS (
    SELECT kind, name, thing, is_document, min(unit_id) AS target,
        CASE WHEN kind <> 'name' THEN kind WHEN is_document THEN 'title'
            WHEN min(place) = '' THEN 'key' ELSE 'name' END AS shown,
        first(text ORDER BY place) AS text
    FROM mentions WHERE defines GROUP BY kind, name, thing, is_document
    QUALIFY count(*) OVER (PARTITION BY kind, name) <= {most}
)"""
_LINKS = (
    _MENTIONS
    + """
SELECT m.unit_id, t.target, t.thing, t.is_document, first(m.text ORDER BY m.kind) AS text,
    first(m.place ORDER BY m.kind) AS place,
    first(t.shown ORDER BY m.kind, t.shown) AS kind
FROM mentions AS m JOIN things AS t ON m.kind = t.kind AND m.name = t.name
WHERE m.thing <> t.thing
GROUP BY ALL ORDER BY m.unit_id, t.thing"""
)
_NAMES = (
    _MENTIONS
    + """
SELECT name, thing, is_document, target, shown AS kind, text
FROM things WHERE kind = 'name' AND list_contains({kinds}, shown) ORDER BY name, thing"""
)


def links_of(units: pa.Table, *, synonyms: Mapping[str, str] = MappingProxyType({})) -> pa.Table:
    """The links between `units` (`unit_id`, `document_id`, `mentions`), each pair once.

    Args:
        units: Rows of the table of names.
        synonyms: For canonical names, others that stand for them.

    Returns:
        `unit_id`, which mentions `text` at its `place`; the `thing` that this is the name of, which
        is a document or the id of a row, and `target`, the unit in which that says so; `kind` is
        `title`, `key`, `name`, `identifier`, `formula` or `foreign_key`. Ordered by unit and thing.
    """
    return query(_LINKS.format(most=MOST_THINGS), units=units, synonyms=_meanings(synonyms))


def names_of(units: pa.Table, *, kinds: Sequence[str], synonyms: Mapping[str, str]) -> pa.Table:
    """The names in words that documents and rows are about, to be found in running text.

    Args:
        units: As `links_of` takes them.
        kinds: Of `title`, `key` and `name`, those that are wanted.
        synonyms: For canonical names, others that stand for them.

    Returns:
        `name`, the canonical form; `thing`, `is_document`, `target` and `kind` as in `links_of`;
        and `text`, the name as it is written there. Ordered by name and thing.
    """
    statement = _NAMES.format(most=MOST_THINGS, kinds=[*kinds])
    return query(statement, units=units, synonyms=_meanings(synonyms))


def read_names_in_units(store: Store, pin: Pin) -> pa.Table:
    """The names in the units that a pin holds, as `links_of` and `names_of` take them."""
    columns = ["unit_id", "document_id", "mentions"]
    return store.read(pin.table, columns=columns, version=pin.version)


def read_links(store: Store, pin: Pin, *, synonyms: Mapping[str, str]) -> pa.Table:
    """The links between the units that a pin holds: see `links_of`."""
    return links_of(read_names_in_units(store, pin), synonyms=synonyms)


def _meanings(synonyms: Mapping[str, str]) -> pa.Table:
    return pa.table(
        {
            "name": pa.array(synonyms, pa.string()),
            "meaning": pa.array(synonyms.values(), pa.string()),
        }
    )
