"""Stale answers: the sentences whose sources are no longer what was cited.

A sentence is touched where one of its citations is:

- words of a document, or a cell of a table in it, that are no longer there, nor in the file that it
  was moved to; or that are not in the version that took its place. Other chunks and another parser
  change nothing: a file with the bytes of then says what it said;
- a cell, if the row of its key has another value or unit there, or is gone;
- rows, those told one by one too, a computed value and an absence, if a row of their table came,
  changed or went and their plan gives something else now; an absence from the whole index, if the
  name is there now.

What is compared with is what serves now. `recalling` tells people of these sentences, by the same
definition.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, starmap
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import JsonValue

from rag_assets.answering.answer import Answer
from rag_assets.answering.record.answer_rows import units_of
from rag_assets.answering.record.kept import AnswerContext, KeptAnswer
from rag_assets.answering.record.moved_files import MovedFiles
from rag_assets.citations.kinds import Cell, PlanCitation, Rows, Span
from rag_assets.columns.sql import is_one_of, parts_of, quoted
from rag_assets.config import Config
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.row_cells import cells_of
from rag_assets.retrieval.versions import DocumentKey, IndexedFamilies, indexed_families
from rag_assets.schemas import FINGERPRINT, TABLE_ROWS_TABLE, slice_of
from rag_assets.store import MissingTableError, Store, serving_pointer
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet, set_of
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.pins import Pin, holds
from rag_assets.store.serving_pointer import ServingPointerError
from rag_assets.terms.words import folded

if TYPE_CHECKING:
    from rag_assets.answering.assistant import Assistant
    from rag_assets.table_lookup.plans.running import Found

Compared: TypeAlias = tuple[CompleteSet | None, str]
"""What served when answers were compared last, and the last of these."""
IN_DOCUMENT = "#"
"""Stands in the name of a table inside a document, between its URI and its place."""
TABLES_KEPT = 64
"""Tables whose rows are remembered while answers are compared."""
DOCUMENTS_KEPT = 1_000
"""Documents whose words are remembered, likewise."""
LONGEST_SOUGHT = 300
"""Characters of cited words by which the file is looked for that a document was moved to."""
LOOKED_THROUGH = 20
_AS_NUMBER = {"true": "1", "false": "0"}
"""A column of 0 and 1 is read as truth values until another row's cell is neither."""
_WORD = re.compile(r"[-+](?=\d)|[\u00b1<>\u2264\u2265](?=\s?[-+]?\d)|\d+(?:[.,]\d+)*|[^\W\d_]+")
_BETWEEN = re.compile(r"(?<!\d) | (?!\d)")
"""Blanks but those between two numbers."""


@dataclass(frozen=True, slots=True)
class TouchedSentence:
    """A sentence of an answer whose source is no longer what was cited."""

    sentence: int
    """The place of the sentence in the answer, from 1."""
    text: str
    why: str
    """What became of its source, in words."""


class Served:
    """What serves now, to compare answers with."""

    def __init__(
        self,
        store: Store,
        complete_set: CompleteSet,
        *,
        assistant: "Assistant | None" = None,
        compared: Compared = (None, ""),
    ) -> None:
        """Compare with the tables of `complete_set`.

        Without `assistant`, who searches what serves as somebody sees it, a plan counts as stale
        once any row of its table changed, and nobody can tell that a document was moved, or that a
        name is still nowhere. `compared` is with what answers up to an id were compared before.
        """
        self._store = store
        self._set = complete_set
        self._assistant = assistant
        self._compared = compared
        self._were_replaced = lru_cache(maxsize=TABLES_KEPT)(self._read_replaced)
        self._holds = lru_cache(maxsize=TABLES_KEPT)(partial(holds, store))
        self._files = MovedFiles(store, complete_set)
        self._rows_of = lru_cache(maxsize=TABLES_KEPT)(self._read_rows_of)
        self._cells = lru_cache(maxsize=DOCUMENTS_KEPT)(self._read_cells)
        self._words_then = lru_cache(maxsize=DOCUMENTS_KEPT)(self._read_words)
        self._is_new = lru_cache(maxsize=DOCUMENTS_KEPT)(self._read_is_new)
        self._remember_what_is_seen()

    def _remember_what_is_seen(self) -> None:
        """Begin to remember what hangs on who asks."""
        self._rows = lru_cache(maxsize=TABLES_KEPT)(self._read_rows)
        self.is_nowhere = lru_cache(maxsize=DOCUMENTS_KEPT)(self._read_is_nowhere)
        self._moved: dict[DocumentKey, DocumentKey] = {}

    def seen_by(self, assistant: "Assistant") -> "Served":
        """The same as somebody else sees it; what is read of tables is remembered for both."""
        seen = copy(self)
        seen._assistant = assistant
        seen.__dict__.pop("_families", None)
        seen._remember_what_is_seen()
        return seen

    @classmethod
    def now(
        cls,
        store: Store,
        config: Config,
        *,
        assistant: "Assistant | None" = None,
        compared: Compared = (None, ""),
    ) -> "Served | None":
        """What answers queries, to `assistant` if it is given; None where nothing does yet.

        Raises:
            ServingPointerError: The serving pointer is damaged.
            DamagedTablesError: The tables of what serves cannot be read.
        """
        from rag_assets.answering.assistant import Assistant

        pointer = serving_pointer.current(store)
        try:
            found = (
                pointer.complete_set if pointer else set_of(store, config, config.serving_variant)
            )
            store.check(found.joint.table, version=found.joint.version)
        except MissingTableError:
            return None
        asked = assistant or Assistant(store, config)
        return cls(store, found, assistant=asked, compared=compared)

    def touched_of(self, kept: Sequence[KeptAnswer]) -> list[tuple[TouchedSentence, ...]]:
        """The touched sentences of each answer; the index is read once for all of them.

        Raises:
            DamagedTablesError: Its tables cannot be read.
        """
        cited = {unit for each in kept for unit, _, is_cited in units_of(each.answer) if is_cited}
        hashes = self.hashes(sorted(cited))
        return [tuple(self._touched(each, hashes)) for each in kept]

    def _touched(self, kept: KeptAnswer, hashes: Mapping[str, str]) -> Iterator[TouchedSentence]:
        last, last_id = self._compared
        sets = (kept.context.conditions.complete_set, last if kept.answer_id <= last_id else None)
        now = _Compared(self, kept.context, hashes, [each for each in sets if each])
        told = listed_rows(kept)
        for place, sentence in enumerate(kept.answer.sentences, start=1):
            reasons = (each.why_stale(now) for each in (*sentence.citations, *told))
            if why := next(filter(None, reasons), None):
                yield TouchedSentence(place, sentence.text, why)
            told = ()  # that they are all of them is told once

    def gives_the_same(self, citation: PlanCitation) -> bool:
        """Whether the plan of `citation` gives the same now."""
        from rag_assets.table_lookup.verifying import verify_again

        asked = self._assistant
        return asked is not None and verify_again(citation, asked.catalogue) == "same"

    def is_same_table(self, source: str, table: str, then: CompleteSet) -> bool:
        """Whether a table, of a source or inside a document, has the rows of then.

        Where the version of then is gone, it counts as another if any table changed since.
        """
        uri, mark, _ = table.rpartition(IN_DOCUMENT)
        before, after = then.table_rows, self._set.table_rows
        if mark or before is None or after is None:
            before, after = then.joint, self._set.joint
        if not mark and _version(before) == _version(after):
            return True
        if not self._holds(before):
            return False
        where = _of_document(source, uri) if mark else _of_table(source, table)
        return self._rows_of(before, where) == self._rows_of(after, where)

    def _read_rows_of(self, pin: Pin, where: str) -> frozenset[tuple[str, ...]]:
        """Rows of a table with all that is said of them, or the units where nothing says more."""
        is_rows = name_of(pin.table) == TABLE_ROWS_TABLE
        columns = ["row_id", FINGERPRINT.name] if is_rows else ["unit_id"]
        rows = self._store.read(pin.table, columns=columns, where=where, version=pin.version)
        return frozenset(zip(*(rows[name].to_pylist() for name in columns), strict=True))

    def hashes(self, unit_ids: Sequence[str]) -> dict[str, str]:
        """The hash of the text of those of `unit_ids` that are there."""
        return dict(self._read(self._set.joint, unit_ids, "text_hash"))

    def comparable_hashes(self, unit_ids: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """The hashes by which an answer can be known as untouched, now and when compared last.

        Those of now are of units whose document is current: whether words of another one hold hangs
        on its newest version. Those of then are of rows alone: words of a document whose unit is
        another one stand elsewhere, and may have changed there. They are none where what served
        then is gone.
        """
        superseded, (last, _) = self._families.left_out("current"), self._compared
        columns = ("text_hash", "domain", "document_id")
        read = [*self._read(self._set.joint, unit_ids, *columns)]
        now = {unit: hash_ for unit, hash_, _, document in read if document not in superseded}
        rows = [unit for unit, _, domain, _ in read if domain == "table"]
        if last is None or not self._holds(last.joint):
            return now, {}
        return now, dict(self._read(last.joint, rows, "text_hash"))

    def _read(self, pin: Pin, unit_ids: Sequence[str], *columns: str) -> Iterator[tuple[Any, ...]]:
        """The id and `columns` of those of `unit_ids` that are in the pinned table."""
        names = ["unit_id", *columns]
        for part in parts_of(unit_ids):
            where = is_one_of("unit_id", part)
            rows = self._store.read(pin.table, columns=names, where=where, version=pin.version)
            yield from zip(*(rows[name].to_pylist() for name in names), strict=True)

    def has_cell(self, cell: Cell) -> bool:
        """Whether the row of its key has the cell, with its value and its unit."""
        from rag_assets.table_lookup.plans.running import at_places
        from rag_assets.table_lookup.sentences import citing

        rows = self._rows(cell.source, cell.table)
        column = rows[0].table.find(cell.column) if rows else None
        if self._assistant is None or rows is None or column is None:
            return False
        found, places = rows
        catalogue = self._assistant.catalogue
        of_key = at_places(found, catalogue, places.get(cell.row_key, []))
        said = cell.column, comparable_value(cell), cell.unit
        # Read as a lookup reads a column, or as each cell of a row that was found reads alone.
        read_alone = starmap(self._cells, [of_key.row_ids])  # only where the column has it not
        cells = chain(citing.cells(of_key, catalogue, column), chain.from_iterable(read_alone))
        return any((each.column, comparable_value(each), each.unit) == said for each in cells)

    def _read_cells(self, *row_ids: str) -> list[Cell]:
        from rag_assets.answering.quoting.unit_citations import told_cells

        rows = cells_of(row_ids, store=self._store, complete_set=self._set).values()
        return [each.cell for row in rows for each in told_cells(row, None)]

    def _read_rows(
        self, source: str, table: str
    ) -> "tuple[Found, Mapping[str, Sequence[int]]] | None":
        """All rows of a table, and the places of each key; None where it cannot be asked."""
        from rag_assets.table_lookup.plans.plan import LookupPlan, PlanError
        from rag_assets.table_lookup.plans.running import run_plan

        if self._assistant is None:
            return None
        try:
            found = run_plan(LookupPlan(source, table), self._assistant.catalogue)
        except PlanError:
            return None
        places: defaultdict[str, list[int]] = defaultdict(list)
        for key, place in zip(found.row_keys, found.places, strict=True):
            places[key].append(place)
        return found, places

    def has_bytes_of(self, thens: Sequence[CompleteSet], source: str, uri: str) -> bool:
        """Whether a document, or a file that it was moved to, has the bytes of one of `thens`.

        Or all its words, as the same parser reads them. `thens` are what served, the first when it
        was cited. False where that is not known.
        """
        places, hashes = self._files.places((source, uri), thens[0]), self._files.hashes
        stood = [(thens[0], {(source, uri)}), *((each, places) for each in thens[1:])]
        known = {hashes(then.manifest).get(place) for then, own in stood for place in own} - {None}
        if any(hashes(self._set.manifest).get(place) in known for place in places):
            return True
        words = {self._words_then(*place, then.joint) for then, own in stood for place in own}
        return any(self._words_of(*place) in words - {""} for place in places)

    def stands(self, span: Span, then: CompleteSet) -> bool:
        """Whether the words stand in their document, or in the file that it was moved to."""
        document, words = (span.source, span.uri), comparable(span.text)
        if own := self._words_of(*document):
            return words in own
        moved = self._moved.get(document)
        if moved is None or words not in self._words_of(*moved):
            moved = self._file_with(span, words, then)
            if moved is None:
                return False
            self._moved[document] = moved
        return words in self._words_of(*moved)

    def _file_with(self, span: Span, words: str, then: CompleteSet) -> tuple[str, str] | None:
        """A document with the words that the index of then did not have."""
        from rag_assets.retrieval.lexical import MissingTextIndexError
        from rag_assets.retrieval.search import EmptyQueryError

        if self._assistant is None:
            return None
        wanted = Filters(domain="document", source=span.source, versions="all")
        try:
            hits = self._assistant.search(
                span.text[:LONGEST_SOUGHT], retriever="bm25", top_k=LOOKED_THROUGH, filters=wanted
            )
        except (MissingTextIndexError, EmptyQueryError):
            return None
        places = dict.fromkeys((hit.source, hit.uri) for hit in hits)
        return next(
            (
                place
                for place in places
                if words in self._words_of(*place) and self._is_new(*place, then.joint)
            ),
            None,
        )

    def _read_is_new(self, source: str, uri: str, pin: Pin) -> bool:
        if not self._holds(pin):
            return False
        where = _of_document(source, uri)
        rows = self._store.read(pin.table, columns=["unit_id"], where=where, version=pin.version)
        return rows.num_rows == 0

    def _words_of(self, source: str, uri: str) -> str:
        return self._words_then(source, uri, self._set.joint)

    def _read_words(self, source: str, uri: str, pin: Pin) -> str:
        """The words of a document, each once where its chunks overlap; empty where it is gone."""
        if not self._holds(pin):
            return ""
        rows = self._store.read(
            pin.table,
            columns=["text", "char_start", "char_end"],
            where=_of_document(source, uri),
            version=pin.version,
        ).sort_by([("char_start", "ascending"), ("char_end", "ascending")])
        parts, end = [], 0
        for row in rows.to_pylist():
            slice_ = slice_of(row["text"], row["char_start"], row["char_end"])
            parts.append(slice_[max(0, end - row["char_start"]) :])
            end = max(end, row["char_end"])
        return comparable("\n".join(parts))

    def replaced_by(self, span: Span, then: CompleteSet) -> str | None:
        """The version that took the place of a document since, if it does not have the words."""
        found = None if span.is_superseded else self._newest_of(span.source, span.uri, then)
        if found is None or comparable(span.text) in self._words_of(*found[0]):
            return None
        return found[0][1]

    def _newest_of(
        self, source: str, uri: str, then: CompleteSet
    ) -> tuple[DocumentKey, DocumentKey] | None:
        """The newest version of a document of then, and the place where that document stands now.

        None where nothing took its place.
        """
        superseded = self._families.superseded
        if not superseded:
            return None
        places = self._files.places((source, uri), then)
        for place in sorted(superseded.intersection(places)):
            family = self._families.by_document[place].family
            versions = [each for each in self._families.members if each.family == family]
            newest = max(versions, key=lambda each: -1 if each.place is None else each.place)
            return (newest.source, newest.uri), place
        return None

    def table_replaced_by(
        self, source: str, table: str, row_key: str | None, then: CompleteSet
    ) -> str | None:
        """The version whose document took the place of one since, without a row of its table."""
        uri, mark, number = table.rpartition(IN_DOCUMENT)
        found = self._newest_of(source, uri, then) if mark else None
        if found is None or self._assistant is None or (source, uri) in self._replaced(then):
            return None
        newest, place = found
        catalogue = self._assistant.catalogue
        if (info := catalogue.find(place[0], f"{place[1]}{mark}{number}")) is None:
            return None
        texts = catalogue.texts(info).select([each.name for each in info.columns]).to_pylist()
        rows = [" ".join(filter(None, row.values())) for row in texts]
        said = rows if row_key is None else rows[int(row_key) - 1 : int(row_key)]
        heads = (part for each in info.columns for part in (each.heading, each.unit) if part)
        words = self._words_of(*newest)
        return None if all(comparable(each) in words for each in (*said, *heads)) else newest[1]

    def _replaced(self, then: CompleteSet) -> Collection[DocumentKey]:
        """The documents that were superseded then, as far as that is known."""
        families, units = then.families, then.documents or then.joint
        is_known = families is not None and self._holds(families) and self._holds(units)
        return self._were_replaced(families, units) if is_known else ()

    def _read_replaced(self, families: Pin, units: Pin) -> Collection[DocumentKey]:
        return indexed_families(self._store, families=families, units=units).superseded

    @cached_property
    def _families(self) -> IndexedFamilies:
        units = self._set.documents or self._set.joint
        found = indexed_families(self._store, families=self._set.families, units=units)
        sight = self._assistant.sight if self._assistant else None
        return found.seen_by(sight) if sight else found

    def _read_is_nowhere(self, name: str, filters: Filters | None) -> bool:
        """Whether no unit holds a name, as far as can be told."""
        from rag_assets.answering.quoting.finding import is_nowhere
        from rag_assets.answering.quoting.names import Name

        sought = Name(name, tuple(name.split(" ")))
        asked = self._assistant
        return asked is not None and is_nowhere(sought, asked.index, filters)


def served_now(store: Store, config: Config) -> Served | None:
    """What serves now; None where it cannot be told."""
    with suppress(DamagedTablesError, ServingPointerError):
        return Served.now(store, config)
    return None


@dataclass(frozen=True, slots=True)
class _Compared:
    """What serves now, beside what served then: see `citations.kinds.ServedNow`."""

    served: Served
    context: AnswerContext
    hashes: Mapping[str, str]
    thens: Sequence[CompleteSet]
    """What served when it was given, and when it was compared last."""

    @property
    def then(self) -> CompleteSet:
        return self.context.conditions.complete_set

    def text_hash(self, unit_id: str) -> str | None:
        return self.hashes.get(unit_id)

    def stands(self, span: Span) -> bool:
        is_of_then = not span.stale_since and self._has_bytes(span.source, span.uri)
        return is_of_then or self.served.stands(span, self.then)

    def _has_bytes(self, source: str, uri: str) -> bool:
        return self.served.has_bytes_of(self.thens, source, uri)

    def _is_in_same_file(self, source: str, table: str) -> bool:
        uri, mark, _ = table.rpartition(IN_DOCUMENT)
        return bool(mark) and self._has_bytes(source, uri)

    def replaced_by(self, span: Span) -> str | None:
        return None if self._asks_for_old else self.served.replaced_by(span, self.then)

    @property
    def _asks_for_old(self) -> bool:
        filters = self.context.filters
        is_of_all = self.context.conditions.versions == "all"
        return is_of_all or (
            filters is not None and bool(filters.as_of or filters.versions == "all")
        )

    def has_cell(self, cell: Cell) -> bool:
        return self._is_in_same_file(cell.source, cell.table) or self.served.has_cell(cell)

    def is_same_table(self, source: str, table: str) -> bool:
        is_same = self._is_in_same_file(source, table)
        return is_same or self.served.is_same_table(source, table, self.then)

    def table_replaced_by(self, source: str, table: str, row_key: str | None) -> str | None:
        if self._asks_for_old:
            return None
        return self.served.table_replaced_by(source, table, row_key, self.then)

    def is_nowhere(self, name: str) -> bool:
        return self.served.is_nowhere(name, self.context.filters)

    def gives_the_same(self, citation: PlanCitation) -> bool:
        return self.served.gives_the_same(citation)


def listed_rows(kept: KeptAnswer) -> tuple[Rows, ...]:
    """The rows that a kept answer lists, as one citation; none where it lists none."""
    context = kept.context
    return (rows_of_plan(kept.answer, context.plan, context.plan_units),) if context.plan else ()


def rows_of_plan(answer: Answer, plan: Mapping[str, JsonValue], units: tuple[str, ...]) -> Rows:
    """The rows that an answer lists, as all that a plan selects.

    `units` are those of the columns of its conditions.
    """
    cells = (each for each in answer.citations if isinstance(each, Cell))
    keys = tuple(dict.fromkeys(cell.row_key for cell in cells))
    place = str(plan["source"]), str(plan["table"])
    return Rows(*place, plan, keys, len(keys), condition_units=units)


def comparable_value(cell: Cell) -> str:
    """The value of a cell, a truth value as the number that it is where others are none."""
    value = str(cell.value)
    return _AS_NUMBER.get(value, value)


def comparable(text: str) -> str:
    """What `text` says, however it is set: letters, digits, and the signs that change a number."""
    words = _WORD.findall(folded(text).replace("\u2212", "-").replace("\u2013", "-"))
    return _BETWEEN.sub("", " ".join(words))


def _of_table(source: str, table: str) -> str:
    return f"source = {quoted(source)} AND `table` = {quoted(table)}"


def _of_document(source: str, uri: str) -> str:
    return f"domain = 'document' AND source = {quoted(source)} AND uri = {quoted(uri)}"


def _version(pin: Pin) -> tuple[str, str]:
    """What a pinned table says, whatever lies in which file."""
    return name_of(pin.table), pin.data_version
