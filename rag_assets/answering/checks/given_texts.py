"""What is given to be verified: an answer of ours as JSON, or a text from anywhere with citations.

Sources that it names are looked up in an index, where there is one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Answer, AnswerFormatError, from_json
from rag_assets.answering.checks.cited_texts import read_cited
from rag_assets.answering.checks.verifying import CitedSentence, cited_sentences
from rag_assets.retrieval.filters import Filters

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.table_lookup.tables.catalogue import Catalogue

MOST_UNITS = 200
"""Units of one document that are read as its text."""


def sentences_in(
    text: str,
    *,
    index: "VariantIndex | None" = None,
    catalogue: "Callable[[], Catalogue] | None" = None,
) -> Sequence[CitedSentence]:
    """The sentences of an answer, with what they cite.

    Args:
        text: An answer as JSON, or Markdown or text with [1] and a list of sources.
        index: Where units, documents and pages are looked up; without it, the words that citations
            quote and the sources that the text lists are taken as they are.
        catalogue: Gives the tables, to compute again what is cited as computed.

    Raises:
        AnswerFormatError: It begins like JSON and is no answer.
        CitedTextError: Its citations cannot be told from its words.
        OutdatedIndexError, DamagedTablesError: As a search.
    """
    if not text.lstrip().startswith("{"):
        return read_cited(text, find=_finder(index) if index else None)
    try:
        answer = from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise AnswerFormatError(f"no valid JSON: line {error.lineno}, {error.msg}") from error
    except RecursionError as error:
        raise AnswerFormatError("its JSON is nested too deeply") from error
    if index is None:
        return cited_sentences(answer, None)
    tables = catalogue() if catalogue else None
    return cited_sentences(answer, _units(answer, index), catalogue=tables)


def _units(answer: Answer, index: "VariantIndex") -> Mapping[str, str]:
    """Texts of the units that the citations name, as far as the index has them."""
    wanted = {citation.cited_unit for citation in answer.citations} - {None}
    return _texts(index, sorted(unit for unit in wanted if unit))


def _texts(index: "VariantIndex", unit_ids: Sequence[str]) -> Mapping[str, str]:
    rows = index.read(unit_ids, ["text"]).to_pylist() if unit_ids else []
    return {row["unit_id"]: row["text"] for row in rows}


def _finder(index: "VariantIndex") -> Callable[[str], str | None]:
    """Looks up what a source names: a unit by its id, or all units of a document or page."""

    def find(source: str) -> str | None:
        name, _, page = source.partition("#page=")
        if not name.strip():
            return None
        found = _texts(index, [name])
        if found:
            return found[name]
        columns = ["text", "pages"]
        units = index.select(Filters(uri=name, versions="all"), columns, most=MOST_UNITS)
        wanted = int(page) if page.isdecimal() else None
        texts = [
            unit["text"] for unit in units.to_pylist() if wanted is None or wanted in unit["pages"]
        ]
        return "\n\n".join(texts) or None

    return find
