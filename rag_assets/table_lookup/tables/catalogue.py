"""The tables that can be asked: their columns, units and values, at the pins of a complete set.

Only rows that are units of the set are seen: what a lookup finds can be found by a search, too. A
catalogue is built when it is first asked and kept with its index; tables of more than
`MOST_ROWS_OF_TABLE` rows are left out and named. Tables inside documents are apart: see
`document_tables`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.sql import quoted
from rag_assets.retrieval.access import Sight
from rag_assets.retrieval.glossary import Glossary
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import Pin
from rag_assets.table_lookup.tables.cells import cells_by_column
from rag_assets.table_lookup.tables.document_tables import document_contents
from rag_assets.table_lookup.tables.table_contents import (
    MOST_VALUES,
    ROW_ID,
    ROW_KEY,
    TEXT_HASH,
    ColumnInfo,
    TableContents,
    TableInfo,
    contents_of,
)

__all__ = [
    "MOST_VALUES",
    "ROW_ID",
    "ROW_KEY",
    "TEXT_HASH",
    "Catalogue",
    "ColumnInfo",
    "TableContents",
    "TableInfo",
    "catalogue_of",
    "catalogue_seen_by",
    "contents_of",
]

MOST_ROWS_OF_TABLE = 200_000
LoadTables: TypeAlias = Callable[
    [], tuple[Mapping[tuple[str, str], TableContents], tuple[str, ...]]
]
LoadDocumentTables: TypeAlias = Callable[[], tuple[Mapping[tuple[str, str], TableContents], int]]
_INDEXED = ["unit_id", "text_hash"]


def _none() -> tuple[Mapping[tuple[str, str], TableContents], int]:
    return {}, 0


class Catalogue:
    """All tables that can be asked, at one version of their rows."""

    def __init__(
        self,
        *,
        data_version: str,
        load: LoadTables,
        load_documents: LoadDocumentTables = _none,
        document_version: str = "",
        glossary: Glossary | None = None,
    ) -> None:
        """Use `catalogue_of`; tests may hand in their own tables.

        Args:
            data_version: The data version of the rows.
            load: Gives the tables of sources by source and name, and the names of those that are
                too large.
            load_documents: Gives the sound tables inside documents, and how many are not sound.
            document_version: The data version of the units of documents.
            glossary: Other words for what a question says. Those that are names of columns are
                left out: a question is linked to headings and names without it.
        """
        self.data_version = data_version
        self.document_version = document_version
        self._load = load
        self._load_documents = load_documents
        self._glossary = replace(glossary, headings=()) if glossary else None

    @property
    def synonyms(self) -> Iterator[tuple[str, str]]:
        """Single words of the glossary, each with the term that it stands for."""
        for entry in self._glossary.entries if self._glossary else ():
            for other in entry.synonyms:
                if " " not in other:
                    yield other, entry.term

    def rephrased(self, question: str) -> str | None:
        """The question in other words of the glossary; None if it has none for it."""
        return self._glossary.rephrased(question) if self._glossary else None

    @property
    def tables(self) -> tuple[TableInfo, ...]:
        """The tables of sources, by source and name."""
        return tuple(each.info for each in self._loaded[0].values())

    @property
    def too_large(self) -> tuple[str, ...]:
        """`source/table` of tables that are left out for their number of rows."""
        return self._loaded[1]

    @property
    def document_tables(self) -> tuple[TableInfo, ...]:
        """The sound tables inside documents, by source, URI and place."""
        return tuple(each.info for each in self._documents[0].values())

    @property
    def unsound_tables(self) -> int:
        """Tables inside documents that are left out, as it is not clear what their cells mean."""
        return self._documents[1]

    def find(self, source: str, table: str) -> TableInfo | None:
        """The table of that name, of a source or inside a document."""
        found = self._contents(source, table)
        return found.info if found else None

    def version_of(self, table: TableInfo) -> str:
        """The data version of what `table` was read from."""
        return self.data_version if table.unit_id is None else self.document_version

    def rows(self, table: TableInfo) -> pa.Table:
        """See `TableContents.rows`.

        Raises:
            KeyError: It is no table of this catalogue.
        """
        return self.contents(table).rows

    def texts(self, table: TableInfo) -> pa.Table:
        """See `TableContents.texts`.

        Raises:
            KeyError: It is no table of this catalogue.
        """
        return self.contents(table).texts

    def shown(self, table: TableInfo) -> pa.Table:
        """`texts` for people: a converted cell with the original beside it.

        Raises:
            KeyError: It is no table of this catalogue.
        """
        texts = self.texts(table)
        for name, originals in self.contents(table).originals.items():
            cells = zip(texts[name].to_pylist(), originals, strict=True)
            both = [f"{text} ({original})" if original else text for text, original in cells]
            place = texts.column_names.index(name)
            texts = texts.set_column(place, name, pa.array(both, pa.string()))
        return texts

    def only(self, covers: Callable[[TableInfo], bool]) -> "Catalogue":
        """Those of its tables that `covers` allows, as a catalogue of their own."""

        def kept(
            tables: Mapping[tuple[str, str], TableContents],
        ) -> Mapping[tuple[str, str], TableContents]:
            return {key: each for key, each in tables.items() if covers(each.info)}

        return self.replaced(
            load=lambda: (kept(self._loaded[0]), self._loaded[1]),
            load_documents=lambda: (kept(self._documents[0]), self._documents[1]),
        )

    def replaced(self, *, load: LoadTables, load_documents: LoadDocumentTables) -> "Catalogue":
        """A catalogue of the same versions and glossary with other tables."""
        return Catalogue(
            data_version=self.data_version,
            load=load,
            load_documents=load_documents,
            document_version=self.document_version,
            glossary=self._glossary,
        )

    @cached_property
    def of_documents(self) -> "Catalogue":
        """The tables inside documents as a catalogue of their own."""
        return self.replaced(load=lambda: (self._documents[0], ()), load_documents=_none)

    @cached_property
    def _loaded(self) -> tuple[Mapping[tuple[str, str], TableContents], tuple[str, ...]]:
        return self._load()

    @cached_property
    def _documents(self) -> tuple[Mapping[tuple[str, str], TableContents], int]:
        return self._load_documents()

    def _contents(self, source: str, table: str) -> TableContents | None:
        key = (source, table)
        return self._loaded[0].get(key) or self._documents[0].get(key)

    def contents(self, table: TableInfo) -> TableContents:
        """All of a table.

        Raises:
            KeyError: It is no table of this catalogue.
        """
        found = self._contents(table.source, table.table)
        if found is None:
            raise KeyError(f"{table.source}/{table.table} is no table of this catalogue")
        return found


def catalogue_of(
    store: Store, complete_set: CompleteSet, *, glossary: Glossary | None = None
) -> Catalogue:
    """The tables of a complete set, and those inside its documents.

    A set that does not pin its rows has no table of a source.
    """
    pin = complete_set.table_rows
    return Catalogue(
        data_version=pin.data_version if pin else "",
        load=lambda: _tables(store, complete_set),
        load_documents=lambda: document_contents(store, complete_set),
        document_version=complete_set.documents.data_version if complete_set.documents else "",
        glossary=glossary,
    )


def _tables(
    store: Store, complete_set: CompleteSet
) -> tuple[Mapping[tuple[str, str], TableContents], tuple[str, ...]]:
    pin, units = complete_set.table_rows, complete_set.rows
    if pin is None or units is None:
        return {}, ()
    indexed = store.read(units.table, columns=_INDEXED, version=units.version)
    named = store.read(pin.table, columns=["source", "table"], version=pin.version)
    counted = named.group_by(["source", "table"]).aggregate([([], "count_all")])
    found: dict[tuple[str, str], TableContents] = {}
    too_large: list[str] = []
    for row in counted.sort_by([("source", "ascending"), ("table", "ascending")]).to_pylist():
        source, table = row["source"], row["table"]
        if row["count_all"] > MOST_ROWS_OF_TABLE:
            too_large.append(f"{source}/{table}")
            continue
        contents = _contents(store, pin, source, table, indexed=indexed)
        if contents is not None:
            found[source, table] = contents
    return found, tuple(too_large)


def catalogue_seen_by(
    sight: Sight, whole: Catalogue, store: Store, complete_set: CompleteSet
) -> Catalogue:
    """`whole`, the catalogue of a complete set, as far as `sight` goes.

    A table of which some rows are hidden is read anew without them, so that neither its values nor
    its ranges tell of them. Unsound tables inside documents are not counted.
    """
    pin, units = complete_set.table_rows, complete_set.rows

    def seen(info: TableInfo) -> TableContents | None:
        name = sight.rules.name_of(info.source, info.table)
        rows = sight.rows_of(info.source, name)
        if rows is None:
            return whole.contents(info)
        if not rows or pin is None or units is None:
            return None
        indexed = store.read(
            units.table,
            columns=_INDEXED,
            where=_of_table(info.source, info.table),
            version=units.version,
        )
        is_seen = pc.is_in(indexed["unit_id"], value_set=pa.array(sorted(rows), pa.string()))
        return _contents(store, pin, info.source, info.table, indexed=indexed.filter(is_seen))

    def among(tables: Iterable[TableInfo]) -> Mapping[tuple[str, str], TableContents]:
        return {(info.source, info.table): contents for info in tables if (contents := seen(info))}

    def large() -> Iterator[str]:
        for name in whole.too_large:
            source, _, table = name.partition("/")
            if sight.is_there(source, table):
                yield name

    return whole.replaced(
        load=lambda: (among(whole.tables), tuple(large())),
        load_documents=lambda: (among(whole.document_tables), 0),
    )


def _of_table(source: str, table: str) -> str:
    return f"source = {quoted(source)} AND `table` = {quoted(table)}"


def _contents(
    store: Store, pin: Pin, source: str, table: str, *, indexed: pa.Table
) -> TableContents | None:
    """A table with those of its rows that are among the units `indexed`; None if none is."""
    read = store.read(
        pin.table,
        columns=["row_id", "row_key", "title", "pairs", "shown"],
        where=_of_table(source, table),
        version=pin.version,
    )
    places = pc.index_in(read["row_id"], value_set=indexed["unit_id"].combine_chunks())
    is_unit = pc.is_valid(places)
    read, places = read.filter(is_unit), places.filter(is_unit)
    if not read.num_rows:
        return None
    return contents_of(
        (source, table, read["title"][0].as_py()),
        row_ids=read["row_id"].combine_chunks(),
        row_keys=read["row_key"].combine_chunks(),
        text_hashes=indexed["text_hash"].take(places).combine_chunks(),
        cells=cells_by_column(read["pairs"], read["shown"]),
    )
