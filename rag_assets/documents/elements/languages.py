"""The languages of elements and of documents, detected from their words."""

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.documents.elements.element_rows import CONTENT
from rag_assets.quality.languages import language_of_each


def with_languages(table: pa.Table) -> pa.Table:
    """Elements with their languages, where their text is long enough to tell."""
    if not table.num_rows:
        return table
    place = table.schema.get_field_index("language")
    languages = language_of_each(table["text"].combine_chunks())
    return table.set_column(place, CONTENT.field(place), languages)


def language_of_documents(table: pa.Table) -> dict[str, str]:
    """For each document the language of most of its text."""
    letters = table.select(["document_id", "language"]).append_column(
        "letters", pc.utf8_length(table["text"])
    )
    letters = letters.filter(pc.is_valid(letters["language"]))
    sums = letters.group_by(["document_id", "language"]).aggregate([("letters", "sum")])
    rows = sums.sort_by([("letters_sum", "ascending"), ("language", "descending")])
    return dict(zip(rows["document_id"].to_pylist(), rows["language"].to_pylist(), strict=True))
