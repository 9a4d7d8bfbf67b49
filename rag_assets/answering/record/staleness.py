"""Stale answers: the sentences whose sources are no longer what was cited.

A sentence is touched where one of its citations is:

- words of a document, if their unit is gone or says something else. Where documents are cut into
  other chunks by now, units cannot be compared: then the words have to stand in their document;
- a cell, if its row is gone: a row's id names its content, so that a changed row has another one;
- rows, a computed value and an absence, if a row of their table came, changed or went and their
  plan gives something else now.

What is compared with is what serves now.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from rag_assets.answering.record.answer_rows import units_of
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.citations.kinds import PlanCitation, Span
from rag_assets.columns.sql import is_one_of, parts_of, quoted
from rag_assets.config import Config
from rag_assets.store import MissingTableError, Store, serving_pointer
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet, set_of
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.pins import Pin, holds
from rag_assets.store.serving_pointer import ServingPointerError

RunsTheSame: TypeAlias = Callable[[PlanCitation], bool]
"""Whether the plan of a citation gives the same on what serves now."""
TABLES_KEPT = 64
"""Tables whose row ids are remembered while answers are compared."""


@dataclass(frozen=True, slots=True)
class TouchedSentence:
    """A sentence of an answer whose source is no longer what was cited."""

    sentence: int
    """The place of the sentence in the answer, from 1."""
    text: str
    why: str
    """What became of its source, in words."""


def _runs_the_same(store: Store, complete_set: CompleteSet) -> RunsTheSame:
    """Runs plans again on the rows of `complete_set`, which are read when first needed."""
    from rag_assets.table_lookup.tables.catalogue import Catalogue, catalogue_of
    from rag_assets.table_lookup.verifying import verify_again

    @lru_cache(maxsize=1)
    def catalogue() -> Catalogue:
        return catalogue_of(store, complete_set)

    return lambda citation: verify_again(citation, catalogue()) == "same"


class Served:
    """What serves now, to compare answers with."""

    def __init__(
        self, store: Store, complete_set: CompleteSet, *, run_again: RunsTheSame | None = None
    ) -> None:
        """Compare with the tables of `complete_set`.

        Without `run_again`, a plan counts as stale once any row of its table changed.
        """
        self._store = store
        self._set = complete_set
        self._run_again = run_again
        self._row_ids = lru_cache(maxsize=TABLES_KEPT)(self._read_row_ids)
        self._texts_of = lru_cache(maxsize=TABLES_KEPT)(self._read_texts)

    @classmethod
    def now(
        cls, store: Store, config: Config, *, run_again: RunsTheSame | None = None
    ) -> "Served | None":
        """What answers queries; None where nothing does yet.

        Raises:
            ServingPointerError: The serving pointer is damaged.
            DamagedTablesError: The tables of what serves cannot be read.
        """
        pointer = serving_pointer.current(store)
        try:
            found = (
                pointer.complete_set if pointer else set_of(store, config, config.serving_variant)
            )
            store.check(found.joint.table, version=found.joint.version)
        except MissingTableError:
            return None
        return cls(store, found, run_again=run_again or _runs_the_same(store, found))

    def touched_of(self, kept: Sequence[KeptAnswer]) -> list[tuple[TouchedSentence, ...]]:
        """The touched sentences of each answer; the index is read once for all of them.

        Raises:
            DamagedTablesError: Its tables cannot be read.
        """
        cited = {unit for each in kept for unit, _, is_cited in units_of(each.answer) if is_cited}
        hashes = self._hashes(sorted(cited))
        return [tuple(self._touched(each, hashes)) for each in kept]

    def _touched(self, kept: KeptAnswer, hashes: Mapping[str, str]) -> Iterator[TouchedSentence]:
        now = _Compared(self, kept.context.conditions.complete_set, hashes)
        for place, sentence in enumerate(kept.answer.sentences, start=1):
            reasons = (each.why_stale(now) for each in sentence.citations)
            if why := next(filter(None, reasons), None):
                yield TouchedSentence(place, sentence.text, why)

    def gives_the_same(self, citation: PlanCitation) -> bool:
        """Whether the plan of `citation` gives the same now."""
        return self._run_again is not None and self._run_again(citation)

    def is_same_index(self, then: CompleteSet) -> bool:
        """Whether the index has the units of then."""
        return _version(then.joint) == _version(self._set.joint)

    def is_same_table(self, source: str, table: str, then: CompleteSet) -> bool:
        """Whether a table has the rows of then.

        Where the version of then is gone, it counts as another if any table changed since.
        """
        before, after = then.table_rows or then.joint, self._set.table_rows or self._set.joint
        if _version(before) == _version(after):
            return True
        if not holds(self._store, then.joint):
            return False
        ids = [self._row_ids(pin, source, table) for pin in (then.joint, self._set.joint)]
        return ids[0] == ids[1]

    def _read_row_ids(self, pin: Pin, source: str, table: str) -> frozenset[str]:
        where = f"source = {quoted(source)} AND `table` = {quoted(table)}"
        rows = self._store.read(pin.table, columns=["unit_id"], where=where, version=pin.version)
        return frozenset(rows["unit_id"].to_pylist())

    def _hashes(self, unit_ids: Sequence[str]) -> dict[str, str]:
        """The hash of the text of those of `unit_ids` that are there."""
        pin, found = self._set.joint, {}
        for part in parts_of(unit_ids):
            rows = self._store.read(
                pin.table,
                columns=["unit_id", "text_hash"],
                where=is_one_of("unit_id", part),
                version=pin.version,
            )
            found.update(
                zip(rows["unit_id"].to_pylist(), rows["text_hash"].to_pylist(), strict=True)
            )
        return found

    def stands(self, span: Span, then: CompleteSet) -> bool:
        """Whether documents are cut by another recipe than then, and the words stand in theirs."""
        known_as = self._store.known_as
        if known_as(then.chunks) == known_as(self._set.chunks):
            return False
        return any(span.text in text for text in self._texts_of(span.source, span.uri))

    def _read_texts(self, source: str, uri: str) -> tuple[str, ...]:
        where = f"domain = 'document' AND source = {quoted(source)} AND uri = {quoted(uri)}"
        pin = self._set.joint
        rows = self._store.read(pin.table, columns=["text"], where=where, version=pin.version)
        return tuple(rows["text"].to_pylist())


def served_now(store: Store, config: Config) -> Served | None:
    """What serves now; None where it cannot be told."""
    with suppress(DamagedTablesError, ServingPointerError):
        return Served.now(store, config)
    return None


@dataclass(frozen=True, slots=True)
class _Compared:
    """What serves now, beside what served then: see `citations.kinds.ServedNow`."""

    served: Served
    then: CompleteSet
    hashes: Mapping[str, str]

    def text_hash(self, unit_id: str) -> str | None:
        return self.hashes.get(unit_id)

    def stands(self, span: Span) -> bool:
        return self.served.stands(span, self.then)

    def is_same_table(self, source: str, table: str) -> bool:
        return self.served.is_same_table(source, table, self.then)

    def is_same_index(self) -> bool:
        return self.served.is_same_index(self.then)

    def gives_the_same(self, citation: PlanCitation) -> bool:
        return self.served.gives_the_same(citation)


def _version(pin: Pin) -> tuple[str, str]:
    """What a pinned table says, whatever lies in which file."""
    return name_of(pin.table), pin.data_version
