r"""From a prompt to a report: what `Assistant.report` does.

report = assistant.report("Write a report on ...:\n- ...")
Path("report.md").write_text(as_markdown(report))

Where a search found nothing of a part, the headings of the documents are looked through. A section
is often headed in other words than a prompt asks for it: *Battery life* holds the lifetime. So the
encoder compares the headings with a sub-topic; then the sections beside the units that were found
are looked through. What is found has the names and numbers of the sub-topic. The things that a
prompt names, the rows of one table, are set side by side.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Scope, Shown
from rag_assets.answering.asking import AnswerSources, StageTimes, allows_lookup, set_filters
from rag_assets.answering.generation.writing import Writer
from rag_assets.answering.quoting.names import HeldNames, Name, names_of
from rag_assets.answering.quoting.row_cells import rows_among
from rag_assets.answering.reporting.cited_report import CitedReport
from rag_assets.answering.reporting.composing import (
    ReadingList,
    SectionText,
    compose,
    holds_names,
    is_about,
    not_found,
)
from rag_assets.answering.reporting.decomposition import Decomposer, SubQuestion, as_listed
from rag_assets.answering.reporting.gathering import FoundFor, GatheredUnits, gather
from rag_assets.config import RetrieverName
from rag_assets.retrieval.filters import SECTION_MARK, Filters
from rag_assets.retrieval.hits import Hit
from rag_assets.terms.words import folded

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.table_lookup.comparing import RowName, SideBySide
    from rag_assets.table_lookup.tables.catalogue import Catalogue, TableInfo

MOST_CHARACTERS = 10_000
"""The most characters of a prompt: four pages, more than anybody writes to ask for a report."""
FEWEST_COMPARED = 2
"""Things that are compared, at least."""
MOST_COMPARED = 6
"""The most things that are compared: a table with more columns fits no page."""
FITS_FROM = 0.4
"""Cosine of a heading with a sub-topic from which its section is read."""
HEADINGS_READ = 2
"""Headings that are read for a sub-topic, and sections that are looked through beside units."""
UNITS_OF_SECTION = 3
"""Units of a section that are taken."""
DOCUMENTS_WITH_HEADINGS = 10
"""Documents whose headings are compared."""
MOST_UNITS = 20_000
"""Units of a document whose headings are read."""
Section = tuple[str, str]
"""Address of a document, and the path of headings in it."""


class PromptError(ValueError):
    """A prompt is blank or far too long; the message says what to do."""


def write_report(
    sources: AnswerSources,
    prompt: str,
    *,
    filters: Filters | None = None,
    retriever: RetrieverName | None = None,
    decomposer: Decomposer | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> CitedReport:
    """A report on `prompt` from `sources`.

    Without a writer it is an outline with the passages to read.

    Args:
        sources: What is searched, how much of it is told (`answering.report`), and who writes.
        prompt: What the report is to be about, with its topics.
        filters: What may be cited.
        retriever: What searches; that of the config unless given.
        decomposer: Takes the prompt apart; by what it lists unless given.
        progress: Is told what is done next.

    Raises:
        PromptError: The prompt is blank, or longer than `MOST_CHARACTERS`.
        ModelMismatchError, MissingTextIndexError, RerankerError, OutdatedIndexError: As `search`.
    """
    _check(prompt)
    index, writer = sources.index, sources.writer
    decompose = decomposer or as_listed
    reading = ReadingList(index, sources.store)
    write = ModelSections(writer, reading) if writer else reading
    times = StageTimes()
    with times.timed("decompose"):
        decomposition = decompose(prompt)
    with times.timed("search"):
        gathered = gather(
            index,
            decomposition,
            settings=sources.config.answering.report,
            retriever=retriever,
            filters=filters,
            progress=progress,
        )
        gathered = with_headings(gathered, index, filters=filters, retriever=retriever)
    sides = [part.title for part in decomposition.parts]
    compares = filters is None or allows_lookup(filters)
    progress("writing the sections")
    with times.timed("write"):
        composed = compose(decomposition, gathered, writer=write)
    return CitedReport(
        prompt=prompt,
        title=decomposition.title,
        sections=composed.sections,
        not_covered=composed.not_covered,
        comparison=side_by_side(prompt, sides, sources.catalogue) if compares else None,
        scope=Scope(index.variant, gathered.retriever, set_filters(filters), gathered.searched),
        shown=tuple(
            Shown(hit.unit_id, hit.text_hash, rank, hit.score, hit.domain, hit.uri)
            for rank, hit in enumerate(gathered.units, start=1)
        ),
        decomposed_by=decomposition.by,
        note=decomposition.note,
        written_by=writer.model.name if writer else "",
        seconds=dict(times),
    )


def _check(prompt: str) -> None:
    if not prompt.strip():
        raise PromptError("the prompt is empty: say what the report is about")
    if len(prompt) > MOST_CHARACTERS:
        raise PromptError(
            f"the prompt has {len(prompt):,} characters, and at most {MOST_CHARACTERS:,} are read: "
            "say what the report is about, and leave the sources to the search"
        )


@dataclass(frozen=True, slots=True)
class ModelSections:
    """A `SectionWriter` that has a language model write: see `generation`."""

    writer: Writer
    reading: ReadingList
    """Lists the passages to read where the model fails."""

    def __call__(self, part: SubQuestion, hits: Sequence[Hit]) -> SectionText:
        """What the model writes of `hits`; the passages to read, with the reason, if it fails.

        Raises:
            MissingTableError, DamagedTablesError: The rows among the hits cannot be read.
        """
        rows = rows_among(
            hits, store=self.reading.store, complete_set=self.reading.index.complete_set
        )
        writer = replace(self.writer, sentences=self.reading.most)
        written = writer.write(part.question, hits, rows)
        if written.sentences:
            absent = "; ".join(filter(None, written.absent))
            note = f"The sources do not say: {absent}." if absent else ""
            return SectionText(written.sentences, note)
        if written.absent:
            return SectionText((), written.reason)
        listed = self.reading(part, hits)
        return replace(listed, note=f"To be read, as {written.reason}.")


def side_by_side(prompt: str, sides: Sequence[str], catalogue: "Catalogue") -> "SideBySide | None":
    """The rows that `prompt` names; None where no table has two of them.

    Args:
        prompt: What the report is about.
        sides: Parts of it in words, of which some may name a row.
        catalogue: The tables that may be compared in.
    """
    from rag_assets.table_lookup.comparing import compare

    names = [*names_of(prompt), *(Name(side, tuple(side.split())) for side in sides)]
    best: list[RowName] = []
    for table in catalogue.tables:
        rows = list(dict.fromkeys(_rows_of(table, names, catalogue)))
        best = rows if len(rows) > len(best) else best
    return compare(best[:MOST_COMPARED], catalogue) if len(best) >= FEWEST_COMPARED else None


def _rows_of(
    table: "TableInfo", names: Sequence[Name], catalogue: "Catalogue"
) -> "Iterator[RowName]":
    """For each name the row that is called so, or by the shortest name that holds it."""
    from rag_assets.table_lookup.comparing import RowName
    from rag_assets.table_lookup.plans.plan import LookupPlan
    from rag_assets.table_lookup.plans.running import run_plan
    from rag_assets.table_lookup.sentences.naming import naming_column

    column = naming_column(table)
    if column is None:
        return
    found = run_plan(LookupPlan(table.source, table.table), catalogue)
    texts = catalogue.texts(table)[column.name].to_pylist()
    called = [(key, texts[place]) for key, place in zip(found.row_keys, found.places, strict=True)]
    for name in names:
        first = name.words[0].casefold()
        near = [
            (folded(text) != folded(name.text), len(text), key)
            for key, text in called
            if text and first in text.casefold() and HeldNames(text).has(name)
        ]
        if near:
            yield RowName(table.source, table.table, min(near)[-1])


def with_headings(
    gathered: GatheredUnits,
    index: "VariantIndex",
    *,
    filters: Filters | None,
    retriever: RetrieverName | None,
) -> GatheredUnits:
    """`gathered`; the parts of which nothing was found are looked for once more by headings.

    Args:
        gathered: What the searches found.
        index: What was searched.
        filters: What may be found.
        retriever: What searches within a section.
    """
    allowed = filters or Filters()

    def read(section: Section, part: FoundFor) -> Sequence[Hit]:
        inside = replace(allowed, uri=section[0], section=section[1])
        found = index.search(
            part.part.question, retriever=retriever, top_k=UNITS_OF_SECTION, filters=inside
        )
        return found.hits

    def headed(part: FoundFor) -> Iterator[Hit]:
        for section in _fitting(part.part.title, sections, index):
            yield from (hit for hit in read(section, part) if holds_names(hit, part.part))
        for section in _beside(part.candidates):
            yield from (hit for hit in read(section, part) if is_about(hit, part.part))

    lacking = [part for part in gathered.by_part if not_found(part)]
    sections = _sections(gathered.units, index, allowed) if lacking else []
    parts = tuple(
        replace(part, headed=tuple({hit.unit_id: hit for hit in headed(part)}.values()))
        if part in lacking
        else part
        for part in gathered.by_part
    )
    return replace(gathered, by_part=parts)


def _sections(units: Sequence[Hit], index: "VariantIndex", allowed: Filters) -> list[Section]:
    """The sections of the documents that `units` are of."""
    addresses = dict.fromkeys(hit.uri for hit in units if hit.domain == "document")
    found: dict[Section, None] = {}
    for address in [*addresses][:DOCUMENTS_WITH_HEADINGS]:
        inside = replace(allowed, uri=address)
        rows = index.select(inside, ["section"], most=MOST_UNITS)
        found |= {(address, path): None for path in rows["section"].to_pylist() if path}
    return [*found]


def _fitting(title: str, sections: Sequence[Section], index: "VariantIndex") -> list[Section]:
    """The sections whose last heading fits `title`, the best first."""
    if not sections:
        return []
    headings = [path.split(SECTION_MARK)[-1] for _, path in sections]
    vectors = index.encoder.embed_queries([title, *headings])
    fits = vectors[1:] @ vectors[0]
    best = (-fits).argsort(kind="stable")[:HEADINGS_READ]
    return [sections[place] for place in best if fits[place] >= FITS_FROM]


def _beside(hits: Sequence[Hit]) -> list[Section]:
    """The sections around those of the best hits: what stands under the heading above."""
    above = dict.fromkeys(
        (hit.uri, hit.section.rpartition(SECTION_MARK)[0])
        for hit in hits
        if hit.domain == "document" and SECTION_MARK in hit.section
    )
    return [*above][:HEADINGS_READ]
