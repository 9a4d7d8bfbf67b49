"""`unit_links__<parser>__<chunking>__<serializer>`: the names in each unit.

Each unit gives one row, and its row depends on nothing but the unit, the settings and the foreign
keys that databases declare. So an edit touches the rows of the units that it touched, and what a
refresh leaves equals what a build from scratch gives.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.row_inputs import RowInputs, rows_named
from rag_assets.change.steps import StepTable, made_from
from rag_assets.change.sync import AskedReport, Batch, Derivation, Failure, Work, refresh
from rag_assets.config import FOUND_KINDS, Config, FoundKind, NameKind, Variant
from rag_assets.identity import fingerprint
from rag_assets.knowledge.found_names import (
    READING,
    UNITS_A_BATCH,
    FoundNames,
    NameFinder,
    entities_prompt,
    opened_finder,
)
from rag_assets.knowledge.mentions import (
    RowCell,
    UnitName,
    mentions_of_chunk,
    mentions_of_row,
)
from rag_assets.knowledge.step_tables import unit_links_of
from rag_assets.schemas import READ_BY, TABLE_ROWS_TABLE
from rag_assets.store import Store
from rag_assets.store.completions import ForeignKey
from rag_assets.store.exports import all_exported

CHUNK_COLUMNS = ("unit_id", "document_id", "source", "uri", "section", "index", "text")
ROW_COLUMNS = ("row_id", "source", "table", "row_key", "pairs")
GONE = "the table of rows has it no more, or not for a moment: refresh again"
"""Why the names of a row cannot be read, while another refresh is under way."""
ForeignKeys: TypeAlias = Mapping[str, Sequence[ForeignKey]]
Row: TypeAlias = Mapping[str, object]
Named: TypeAlias = tuple[str, str | None, str, list[UnitName]]
"""A unit, its document, its URI and its names."""


def refresh_unit_links(
    store: Store,
    config: Config,
    *,
    variant: str,
    log: Callable[[str], None],
    retry: bool = False,
) -> AskedReport:
    """Bring the names of the units of `variant` up to the units.

    A text of which a language model says nothing now keeps the names that need none.

    Raises:
        MissingTableError: The units were never built.
    """
    declared = foreign_keys(store)
    for unknown in _unknown_columns(store, config.links.entities):
        log(f"links.entities: there is no column {unknown}: correct its table or its name")
    of_units = derivation(store, config, config.variant(variant))
    pinned: dict[str, int] = {}

    def inputs() -> RowInputs:
        units = _inputs(store, unit_links_of(config, config.variant(variant)), declared=declared)
        pinned.update(units.tables)
        return units

    def transform(changed: pa.Table, /, *, finder: NameFinder | None = None) -> Iterator[Batch]:
        documents, rows = pinned.items()
        patterns = sorted(config.links.identifiers.values())  # as in the table's address
        entities = config.links.entities
        schema = unit_links_of(config, config.variant(variant)).schema
        named = partial(_batch, kinds={*config.links.kinds, *FOUND_KINDS}, schema=schema)
        chunks = partial(rows_named, store, key="unit_id", keys=changed["key"])
        for found in chunks(documents[0], columns=CHUNK_COLUMNS, version=documents[1]):
            size = UNITS_A_BATCH if finder else max(1, len(found))
            for start in range(0, len(found), size):
                units = found.slice(start, size).to_pylist()
                read = finder.read(units) if finder else None
                more = read.names if read else {}
                batch = _of_chunks(units, patterns=patterns, more=more)
                yield named(batch, read=read)
        ids = store.read(rows[0], columns=["unit_id"], version=rows[1])["unit_id"]
        left = ids.filter(pc.is_in(ids, changed["key"].combine_chunks()))
        has_rows = store.exists(TABLE_ROWS_TABLE)
        of_rows = (
            rows_named(store, TABLE_ROWS_TABLE, key="row_id", keys=left, columns=ROW_COLUMNS)
            if has_rows
            else ()
        )
        for found in of_rows:
            listed = found.to_pylist()
            yield named(_of_rows(listed, declared=declared, patterns=patterns, entities=entities))
            left = left.filter(pc.invert(pc.is_in(left, found["row_id"].combine_chunks())))
        if len(left):  # gone by now, and the units at the next refresh, unless they come back
            rest = named((row, None, "", []) for row in left.to_pylist())
            gone = [Failure(row, GONE, row, "environment") for row in rest.done if has_rows]
            yield replace(rest, failed=gone)

    with opened_finder(store, config, log=log, retry=retry) as finder:
        work = Work.of(of_units, partial(transform, finder=finder), inputs=inputs)
        report = refresh(work, log=log, retry=retry)
        if finder and (line := finder.asked.left_line()):
            log(line)
        spending = finder.asked.client.spending.record() if finder else {}
        return AskedReport.of(report, spending=spending)


def derivation(store: Store, config: Config, recipe: Variant) -> Derivation:
    """The names of a recipe's units, made from the units of both domains."""
    step = unit_links_of(config, recipe)
    declared = foreign_keys(store)
    return Derivation(
        store=store,
        target=step.target(),
        made_from=made_from(store, step.inputs, recipe=_recipe(step, declared)),
        inputs=lambda: _inputs(store, step, declared=declared),
    )


def foreign_keys(store: Store) -> ForeignKeys:
    """For each table (`source/table`) the keys of other tables that databases declare in it."""
    return {
        each.about.name: [
            ForeignKey(
                columns=one["columns"],
                table=f"{each.about.source}/{one['table']}",
                others=one["others"],
            )
            for one in each.about.foreign_keys
        ]
        for each in all_exported(store)
        if each.about.foreign_keys
    }


def _unknown_columns(store: Store, entities: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The columns that `entities` names and no table has."""
    known = {each.about.name: each.about.headings for each in all_exported(store)}
    for table, columns in entities.items() if entities else ():
        yield from (f"{table}: {name}" for name in columns if name not in known.get(table, ()))


def _recipe(step: StepTable, declared: ForeignKeys) -> str:
    keys = {
        table: [[[*one["columns"]], one["table"], [*one["others"]]] for one in each]
        for table, each in declared.items()
    }
    is_read = step.schema is schemas.READ_UNIT_LINKS
    asked = [READING, entities_prompt().hash] if is_read else []
    return fingerprint(step.asset, step.revision, step.recipe, keys, *asked)


def _inputs(store: Store, step: StepTable, *, declared: ForeignKeys) -> RowInputs:
    parts = (name for name, _ in step.sources)
    return RowInputs.of(store, *parts, key=step.key, recipe=_recipe(step, declared))


def _of_chunks(
    chunks: Sequence[Row], *, patterns: Sequence[str], more: Mapping[str, Sequence[UnitName]]
) -> Iterator[Named]:
    """The names in units of documents; `more` are those that a language model found in each."""
    for unit in chunks:
        found = mentions_of_chunk(
            str(unit["text"]),
            title=str(unit["section"]).partition(" > ")[0],
            uri=str(unit["uri"]),
            is_first=unit["index"] == 0,
            patterns=patterns,
            more=more.get(str(unit["unit_id"]), ()),
        )
        yield str(unit["unit_id"]), str(unit["document_id"]), str(unit["uri"]), found


def _of_rows(
    rows: Sequence[Row],
    *,
    declared: ForeignKeys,
    patterns: Sequence[str],
    entities: Mapping[str, Sequence[str]],
) -> Iterator[Named]:
    """The names in rows, whose ids are made of their cells: any version of their table will do."""
    into = defaultdict[str, list[tuple[str, ...]]](list)
    for one in chain.from_iterable(declared.values()):
        into[one["table"]].append(tuple(one["others"]))
    for row in rows:
        table = f"{row['source']}/{row['table']}"
        cells = cast("list[Row]", row["pairs"])
        found = mentions_of_row(
            [
                RowCell(
                    str(cell["column"]),
                    str(cell["value"] or ""),
                    numeric=bool(cell["numeric"]),
                    hidden=bool(cell["hidden"]),
                )
                for cell in cells
            ],
            table=table,
            key=str(row["row_key"]),
            of=declared.get(table, ()),
            into=into[table],
            patterns=patterns,
            entities=entities.get(table, ()),
        )
        yield str(row["row_id"]), None, table, found


def _batch(
    units: Iterable[Named],
    *,
    kinds: Collection[NameKind | FoundKind],
    schema: pa.Schema,
    read: FoundNames | None = None,
) -> Batch:
    """Units with those of their names that are kept, and what became of reading them."""
    marks = read.marks if read else {}
    listed = [
        {
            "unit_id": unit,
            "document_id": document,
            "uri": uri,
            "mentions": [one._asdict() for one in found if one.kind in kinds],
            READ_BY: marks.get(unit),
        }
        for unit, document, uri, found in units
    ]
    content = pa.schema([each for each in schema if each.name not in schemas.SYSTEM_COLUMNS])
    rows = pa.Table.from_pylist(listed, schema=content)
    return Batch(rows, done=rows["unit_id"].to_pylist(), failed=read.failed if read else ())
