r"""From a prompt to a report: what `Assistant.report` does.

report = assistant.report("Write a report on ...:\n- ...")
Path("report.md").write_text(as_markdown(report))

Where a search found nothing of a part, the headings of the documents are looked through. A section
is often headed in other words than a prompt asks for it: *Battery life* holds the lifetime. So the
encoder compares the headings with a sub-topic; then the sections beside the units that were found
are looked through. What is found has the names and numbers of the sub-topic. The things that a
prompt names, the rows of one table, are set side by side.

A sub-topic is covered where a unit holds at least half of its terms, and the units together half of
those of the main topic; names, numbers and identifiers count three times. Else the report says that
it is not covered: what stands closest would answer another question.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rag_assets.answering.answer import Scope, Shown
from rag_assets.answering.asking import AnswerSources, StageTimes, allows_lookup, set_filters
from rag_assets.answering.generation.writing import Writer
from rag_assets.answering.quoting.highlighting import passages_of
from rag_assets.answering.quoting.names import HeldNames, Name, names_of
from rag_assets.answering.reporting.cited_report import CitedReport, NotCovered, ReportSection
from rag_assets.answering.reporting.decomposition import (
    MOST_PARTS,
    OF_REQUESTS,
    Decomposer,
    Decomposition,
    SubQuestion,
    as_listed,
)
from rag_assets.answering.reporting.gathering import FoundFor, GatheredUnits, gather
from rag_assets.citations.sentences import Sentence
from rag_assets.config import RetrieverName
from rag_assets.process.errors import RequestError
from rag_assets.retrieval.filters import SECTION_MARK, Filters
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import rows_among
from rag_assets.store import Store
from rag_assets.table_lookup.arm import narrowed
from rag_assets.terms.coverage import HeldTerms, SoughtTerm, coverage, terms_of
from rag_assets.terms.words import folded

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.table_lookup.comparing import RowName, SideBySide
    from rag_assets.table_lookup.tables.catalogue import Catalogue, TableInfo

NOTHING_TOLD = "nothing that was found could be told"
LEAST_COVERED = 0.5
"""Weighted share of the terms of a topic that must be found."""

_NUMBER = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+(?=[^\W\d_])")
"""The number of a heading."""


@dataclass(frozen=True, slots=True)
class SectionText:
    """What was written of a sub-topic."""

    sentences: tuple[Sentence, ...]
    """The sentences; none where the sources do not say what is asked."""
    note: str = ""
    """What stands in its way, in words; else empty."""


SectionWriter: TypeAlias = Callable[[SubQuestion, Sequence[Hit]], SectionText]
"""Writes a section: from a sub-question and the units found for it, to sentences with citations."""


@dataclass(frozen=True, slots=True)
class ComposedSections:
    """The sections of a report."""

    sections: tuple[ReportSection, ...]
    not_covered: tuple[NotCovered, ...]


@dataclass(frozen=True, slots=True)
class ReadingList:
    """A `SectionWriter` without a model: the passages to read, each highlighted in its unit."""

    index: "VariantIndex"
    store: Store
    most: ClassVar[int] = 6
    """Passages, at most; as many are the sentences of a section that a model writes."""

    def __call__(self, part: SubQuestion, hits: Sequence[Hit]) -> SectionText:
        """The passage of each of `hits` that fits `part` best.

        Raises:
            MissingTableError, DamagedTablesError: The rows among the hits cannot be read.
        """
        listed = hits[: self.most]
        rows = rows_among(listed, store=self.store, complete_set=self.index.complete_set)
        encoder = self.index.encoder
        return SectionText(passages_of(part.question, listed, rows=rows, encoder=encoder))


def compose(
    decomposition: Decomposition, gathered: GatheredUnits, *, writer: SectionWriter
) -> ComposedSections:
    """The sections of a report, in the order of the prompt.

    A prompt with one topic gets a section for each of the first `MOST_PARTS` headings of the
    documents under which its units stand.
    """
    sections: list[ReportSection] = []
    absent: list[NotCovered] = []
    topic = _topic_reason(decomposition, gathered)
    for found in gathered.by_part:
        reason = topic or not_found(found)
        written = () if reason else _sections(found, writer, whole=decomposition)
        told = [section for section in written if section.sentences]
        sections += told
        if not told:
            notes = (section.note for section in written if section.note)
            part, reason = found.part, reason or next(notes, NOTHING_TOLD)
            absent.append(NotCovered(part.title, part.question, reason, len(found.candidates)))
    return ComposedSections(tuple(sections), tuple(absent))


def by_heading(hits: Sequence[Hit]) -> list[tuple[str, list[Hit]]]:
    """`hits` under the headings of their documents, as they come.

    The heading is the first one of the section path that not all hits of the document share, as
    those that they share tell nothing apart; without its number. Hits without one stand under the
    last that all share, or under the title of their document. The hits of one heading are ranked
    anew.
    """
    paths: defaultdict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for hit in hits:
        if hit.section:
            paths[hit.source, hit.uri].append(hit.section.split(SECTION_MARK))
    groups: dict[tuple[str, str, str], list[Hit]] = {}
    for hit in hits:
        heading = _heading(hit, paths[hit.source, hit.uri])
        of_heading = groups.setdefault((hit.source, hit.uri, heading), [])
        of_heading.append(replace(hit, rank=len(of_heading) + 1))
    return [(heading, group) for (_, _, heading), group in groups.items()]


def _heading(hit: Hit, paths: Sequence[Sequence[str]]) -> str:
    """See `by_heading`; `paths` are those of all hits of the document."""
    shared = sum(1 for _ in takewhile(lambda level: len({*level}) == 1, zip(*paths, strict=False)))
    own = hit.section.split(SECTION_MARK) if hit.section else []
    levels = own[: shared + 1] or (paths[0][:shared] if paths else [])
    return _NUMBER.sub("", levels[-1]) if levels else hit.title or hit.uri


def _sections(
    found: FoundFor, writer: SectionWriter, *, whole: Decomposition
) -> tuple[ReportSection, ...]:
    """What was written of a sub-topic; of a single topic, until `MOST_PARTS` sections have text."""
    if len(whole.parts) > 1:
        about = [hit for hit in found.hits if is_about(hit, found.part)] or [*found.headed]
        groups = [(found.part.title, about)] if about else []
    else:
        groups = by_heading(_naming(found))
    missing = tuple(_missing(found))
    sections: list[ReportSection] = []
    for title, hits in groups:
        text = writer(found.part, hits)
        section = ReportSection(title, found.part.question, text.sentences, missing, text.note)
        sections.append(section)
        if sum(bool(each.sentences) for each in sections) == MOST_PARTS:
            break
    return tuple(sections)


def is_about(hit: Hit, part: SubQuestion) -> bool:
    """Whether a unit holds at least half of the terms of a sub-topic."""
    return coverage(_sought(part.title), [_held(hit)]) >= LEAST_COVERED


def holds_names(hit: Hit, part: SubQuestion) -> bool:
    """Whether a unit holds the names, numbers and identifiers of a sub-topic."""
    strict = [term for term in _sought(part.title) if term.kind != "word"]
    return coverage(strict, [_held(hit)]) == 1


def _naming(found: FoundFor) -> list[Hit]:
    """The hits that hold a term of the topic; all where none does."""
    terms = _sought(found.part.title)
    near = [hit for hit in found.hits if coverage(terms, [_held(hit)]) > 0]
    return near or [*found.headed] or [*found.hits]


def not_found(found: FoundFor) -> str:
    """Why a sub-topic is not covered; empty where it is, if only under a heading that fits it."""
    if found.headed:
        return ""
    if not found.hits:
        return "the search found nothing"
    terms = _sought(found.part.title)
    held = [_held(hit) for hit in found.candidates]
    if max(coverage(terms, [text]) for text in held) >= LEAST_COVERED:
        return ""
    absent = [term.text for term in terms if not any(text.has(term) for text in held)]
    if not absent:
        return "no passage holds more than a few of its words together"
    return f"nothing that was found holds {_named(absent)}"


def _topic_reason(decomposition: Decomposition, gathered: GatheredUnits) -> str:
    """Why nothing of a prompt is covered: what was found is about something else."""
    terms = _sought(decomposition.title)
    held = [_held(hit) for found in gathered.by_part for hit in found.candidates]
    if not held or coverage(terms, held) >= LEAST_COVERED:
        return ""
    absent = [term.text for term in terms if not any(text.has(term) for text in held)]
    return f"nothing that was found holds {_named(absent)}, which the report is about"


def _missing(found: FoundFor) -> Iterator[str]:
    """Strict terms of a sub-topic that no candidate holds."""
    held = [_held(hit) for hit in found.candidates]
    for term in _sought(found.part.title):
        if term.kind != "word" and not any(text.has(term) for text in held):
            yield term.text


def _sought(title: str) -> list[SoughtTerm]:
    """The terms of a title that name something of its topic."""
    return [term for term in terms_of(title) if term.text.casefold() not in OF_REQUESTS]


def _held(hit: Hit) -> HeldTerms:
    return HeldTerms(f"{hit.title} {hit.section} {hit.text}")


def _named(words: Sequence[str]) -> str:
    return " or ".join(f'"{word}"' for word in words)


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


class PromptError(RequestError):
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
    write = section_writer(index, sources.store, writer)
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
    tables = narrowed(sources.catalogue, filters)
    compares = filters is None or allows_lookup(filters)
    progress("writing the sections")
    with times.timed("write"):
        composed = compose(decomposition, gathered, writer=write)
    return CitedReport(
        prompt=prompt,
        title=decomposition.title,
        sections=composed.sections,
        not_covered=composed.not_covered,
        comparison=side_by_side(prompt, sides, tables) if compares else None,
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
    sections = _headed(gathered.units, index, allowed) if lacking else []
    parts = tuple(
        replace(part, headed=tuple({hit.unit_id: hit for hit in headed(part)}.values()))
        if part in lacking
        else part
        for part in gathered.by_part
    )
    return replace(gathered, by_part=parts)


def _headed(units: Sequence[Hit], index: "VariantIndex", allowed: Filters) -> list[Section]:
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


def section_writer(index: "VariantIndex", store: Store, writer: Writer | None) -> SectionWriter:
    """Who writes the sections: a language model, or, without one, a list of passages to read."""
    reading = ReadingList(index, store)
    return ModelSections(writer, reading) if writer else reading
