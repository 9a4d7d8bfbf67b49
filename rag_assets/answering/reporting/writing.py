r"""From a prompt to a report: what `Assistant.report` does.

report = assistant.report("Write a report on ...:\n- ...")
Path("report.md").write_text(as_markdown(report))
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag_assets.answering.answer import Scope, Shown
from rag_assets.answering.asking import AnswerSources, StageTimes, allows_lookup, set_filters
from rag_assets.answering.generation.writing import Writer
from rag_assets.answering.quoting.row_cells import rows_among
from rag_assets.answering.reporting.cited_report import CitedReport
from rag_assets.answering.reporting.comparison import side_by_side
from rag_assets.answering.reporting.composing import ReadingList, SectionText, compose
from rag_assets.answering.reporting.decomposition import Decomposer, SubQuestion, as_listed
from rag_assets.answering.reporting.gathering import gather
from rag_assets.answering.reporting.under_headings import with_headings
from rag_assets.config import RetrieverName
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Hit
from rag_assets.table_lookup.arm import narrowed

MOST_CHARACTERS = 10_000
"""Of a prompt: four pages, more than anybody writes to ask for a report."""


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
