"""Sections that a language model writes, each sentence checked; what to read where it fails."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_assets.answering.generation.writing import Writer
from rag_assets.answering.reporting.composing import ReadingList, SectionText
from rag_assets.answering.reporting.decomposition import SubQuestion
from rag_assets.answering.row_cells import rows_among
from rag_assets.retrieval.hits import Hit


@dataclass(frozen=True, slots=True)
class ModelSections:
    """A `SectionWriter` that has a language model write: see `generation`."""

    writer: Writer
    reading: ReadingList
    """Lists the passages to read where the model fails; as many are the sentences of a section."""

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
