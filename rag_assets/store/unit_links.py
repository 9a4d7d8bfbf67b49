"""Links between units: a name that one mentions, and the documents and rows that are about it.

The table of names (`schemas.UNIT_LINKS`) has no links, since a link depends on two units. Here the
names are joined. Names that are one thing to nobody lead nowhere: those that more than
`MOST_THINGS` documents or rows are about. Documents that are about one name do not link to each
other by it, nor do rows of one table: a question that has the name finds all of them, and nothing
says that one leads to what another lacks. Names that mean the same are one name to whoever says so
when it joins them; nothing that is stored depends on that.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa

from rag_assets.columns.arrow_sql import query
from rag_assets.store.pins import Pin
from rag_assets.store.store import Store

MOST_THINGS = 10
"""Documents and rows that one name may be of: all of them are candidates, and none is chosen."""
TOLD = "m.kind = 'relation'"
"""SQL: whether a mention `m` is what a language model found that its unit says of a thing."""
BY_KEY = f"(NOT {TOLD} AND (document_id IS NOT NULL OR m.place IN ('', 'key')))"
"""SQL: whether a mention `m` names its thing by a title or a key. Otherwise it is the label of a
row, which many rows may share, or said of a thing: both are counted apart."""
NAMED = ("unit_id", "document_id", "uri", "mentions")
"""The columns of the table of names that links are made of."""

_MENTIONS = """
WITH cells AS (SELECT unit_id, document_id, uri, unnest(mentions) AS m FROM units),
mentions AS (
    SELECT unit_id, coalesce(document_id, unit_id) AS thing, document_id IS NOT NULL AS is_document,
        uri, CASE WHEN {is_found} THEN 'name' ELSE m.kind END AS kind, {is_found} AS is_found,
        {told} AS is_told, coalesce(s.meaning, m.name) AS name, m.text AS text, m.place AS place,
        m.defines AS defines, {by_key} AS by_key,
        coalesce(document_id IN (SELECT document FROM replaced), false) AS is_replaced
    FROM cells LEFT JOIN synonyms AS s ON (m.kind = 'name' OR {is_found}) AND s.name = m.name
),
things AS (
    SELECT kind, name, thing, is_document, uri, is_replaced, min(unit_id) AS target,
        CASE WHEN kind <> 'name' THEN kind WHEN bool_and(is_told) THEN 'relation'
            WHEN is_document THEN 'title' WHEN min(place) = '' THEN 'key' ELSE 'name' END AS shown,
        first(text ORDER BY place) AS text
    FROM mentions WHERE defines GROUP BY kind, name, thing, is_document, uri, is_replaced
    QUALIFY count(*) FILTER (NOT is_replaced)
        OVER (PARTITION BY kind, name, bool_or(by_key), bool_and(is_told)) <= {most}
)"""
_LINKS = (
    _MENTIONS
    + """
SELECT m.unit_id, t.target, t.thing, t.is_document,
    first(m.text ORDER BY m.kind, m.is_found, m.place) AS text,
    first(m.place ORDER BY m.kind, m.is_found, m.place) AS place,
    first(t.shown ORDER BY m.kind, t.shown) AS kind
FROM mentions AS m JOIN things AS t ON m.kind = t.kind AND m.name = t.name
WHERE m.thing <> t.thing
    AND NOT (m.defines AND ((m.is_document AND t.is_document) OR m.uri = t.uri))
GROUP BY ALL ORDER BY m.unit_id, t.thing"""
)
_NAMES = (
    _MENTIONS
    + """
SELECT name, thing, is_document, target, shown AS kind, text
FROM things WHERE kind = 'name' AND list_contains({kinds}, shown) ORDER BY name, thing"""
)


def links_of(
    units: pa.Table,
    *,
    synonyms: Mapping[str, str] = MappingProxyType({}),
    replaced: Collection[str] = (),
) -> pa.Table:
    """The links between `units` (their columns `NAMED`), each pair once.

    Args:
        units: Rows of the table of names.
        synonyms: For canonical names, others that stand for them.
        replaced: Documents that newer versions replace: they make no name one of too many.

    Returns:
        `unit_id`, which mentions `text` at its `place`; the `thing` that this is the name of, which
        is a document or the id of a row, and `target`, the unit in which that says so; `kind` is
        `title`, `key`, `name`, `identifier`, `formula`, `foreign_key` or `relation`. Ordered by
        unit and thing.
    """
    return _joined(_LINKS, units, synonyms=synonyms, replaced=replaced)


def names_of(
    units: pa.Table,
    *,
    kinds: Sequence[str],
    synonyms: Mapping[str, str],
    replaced: Collection[str] = (),
) -> pa.Table:
    """The names in words that documents and rows are about, to be found in running text.

    Args:
        units: As `links_of` takes them.
        kinds: Of `title`, `key` and `name`, those that are wanted.
        synonyms: For canonical names, others that stand for them.
        replaced: As `links_of` takes them.

    Returns:
        `name`, the canonical form; `thing`, `is_document`, `target` and `kind` as in `links_of`;
        and `text`, the name as it is written there. Ordered by name and thing.
    """
    return _joined(_NAMES, units, synonyms=synonyms, replaced=replaced, kinds=[*kinds])


def read_names_in_units(store: Store, pin: Pin) -> pa.Table:
    """The names in the units that a pin holds, as `links_of` and `names_of` take them."""
    return store.read(pin.table, columns=[*NAMED], version=pin.version)


def read_links(
    store: Store, pin: Pin, *, synonyms: Mapping[str, str], replaced: Collection[str] = ()
) -> pa.Table:
    """The links between the units that a pin holds: see `links_of`."""
    return links_of(read_names_in_units(store, pin), synonyms=synonyms, replaced=replaced)


def _joined(
    statement: str,
    units: pa.Table,
    *,
    synonyms: Mapping[str, str],
    replaced: Collection[str],
    **given: object,
) -> pa.Table:
    meanings = pa.table(
        {
            "name": pa.array(synonyms, pa.string()),
            "meaning": pa.array(synonyms.values(), pa.string()),
        }
    )
    old = pa.table({"document": pa.array(replaced, pa.string())})
    found = "m.kind IN ('entity', 'relation')"
    parts = {"by_key": BY_KEY, "told": TOLD, "is_found": found}
    text = statement.format(most=MOST_THINGS, **parts, **given)
    return query(text, units=units, synonyms=meanings, replaced=old)
