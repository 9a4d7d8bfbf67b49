"""Sections that a language model writes, each sentence checked; quoted where it fails."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_assets.answering.generation.writing import Writer
from rag_assets.answering.reporting.composing import ExtractiveWriter, SectionText
from rag_assets.answering.reporting.decomposition import SubQuestion
from rag_assets.answering.row_cells import rows_among
from rag_assets.retrieval.hits import Hit


@dataclass(frozen=True, slots=True)
class ModelSections:
    """A `SectionWriter` that has a language model write: see `generation`."""

    writer: Writer
    quoting: ExtractiveWriter
    """Quotes where the model fails; its sentences are those of a section."""

    def __call__(self, part: SubQuestion, hits: Sequence[Hit]) -> SectionText:
        """What the model writes of `hits`; what is quoted of them, with the reason, if it fails.

        Raises:
            MissingTableError, DamagedTablesError: The rows among the hits cannot be read.
        """
        rows = rows_among(hits, store=self.quoting.store, complete_set=self.quoting.complete_set)
        writer = replace(self.writer, sentences=self.quoting.most)
        written = writer.write(part.question, hits, rows)
        if written.sentences:
            absent = "; ".join(filter(None, written.absent))
            note = f"The sources do not say: {absent}." if absent else ""
            return SectionText(written.sentences, note)
        if written.absent:
            return SectionText((), written.reason)
        quoted = self.quoting(part, hits)
        return replace(quoted, note=f"Quoted, as {written.reason}.")
