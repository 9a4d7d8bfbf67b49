"""Lexical search: the units that share words with a query, by BM25.

The words are those of the table's full-text index: its tokenizer, stemmer and stop words are
applied to the query too. Units that came after the index was built are found as well.
"""

from typing import TYPE_CHECKING

from rag_assets.retrieval.rankings import Ranking, best_with_ties, ranked

if TYPE_CHECKING:
    from lancedb.table import Table as LanceTable

COLUMN = "text"


class MissingTextIndexError(LookupError):
    """A table has no full-text index, so that words cannot be looked up as they were meant."""


def best_matches(
    table: "LanceTable", query: str, *, depth: int, where: str | None = None
) -> Ranking:
    """The `depth` units of `table` with the highest BM25 score (Robertson et al. 1994).

    `query` is plain words: no character of it is an operator. A unit needs one of the words; a
    query of stop words or punctuation alone matches nothing.
    """
    from lancedb.query import MatchQuery

    def fetch(limit: int) -> Ranking:
        search = table.search(MatchQuery(query, COLUMN), query_type="fts")
        if where is not None:
            search = search.where(where, prefilter=True)
        found = search.select(["unit_id", "_score"]).limit(limit).to_arrow()
        units, scores = found["unit_id"].to_pylist(), found["_score"].to_pylist()
        return ranked(units, scores=scores, depth=limit)

    return best_with_ties(fetch, depth=depth)


def has_text_index(table: "LanceTable") -> bool:
    """Whether the text of `table` has a full-text index."""
    return any(list(index.columns) == [COLUMN] for index in table.list_indices())


def require_text_index(table: "LanceTable") -> None:
    """Refuse to search a table without a full-text index.

    Without one, words are compared as they stand, neither stemmed nor weighted by the corpus.

    Raises:
        MissingTextIndexError: `table` holds units but no full-text index of their text.
    """
    if table.count_rows() and not has_text_index(table):
        raise MissingTextIndexError(
            f"{table.name} has no full-text index yet: run `rag-assets refresh` to build it"
        )
