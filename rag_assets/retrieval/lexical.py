"""Lexical search: the units that share words with a query, by BM25.

The tokenizer, the stemmer and the stop words of the table's full-text index are applied to the
query too, and so is the spelling by which words are compared (`terms.spelling`). The index counts
how rare each word is and how long the texts are: after a refresh over exactly the units of the
table, whatever was there before (see `store.text_parts`). Units that were added after the index was
built are found as well, but with counts of their own.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rag_assets.process.errors import UnanswerableError
from rag_assets.retrieval.glossary import Meaning
from rag_assets.retrieval.rankings import Ranking, best_with_ties, ranked
from rag_assets.store import ROW_ID
from rag_assets.store.search_indexes import SPELLED_SINCE, revision_of
from rag_assets.store.text_parts import TEXT
from rag_assets.terms.spelling import sought_text, spelled_apart

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.query import FullTextQuery
    from lancedb.table import Table as LanceTable

COLUMN = TEXT
SCORE = "_score"


class MissingTextIndexError(UnanswerableError, LookupError):
    """A table has no full-text index, so that it cannot be searched by words."""


class SearchableText(Protocol):
    """What lexical search needs of a table of units (`units.UnitTable` has it)."""

    @property
    def dataset(self) -> "LanceDataset":
        """The table at one version."""
        ...

    @property
    def names(self) -> Mapping[int, str]:
        """The unit id of each row, by row id."""
        ...

    @property
    def share(self) -> float:
        """How many of the units may be seen, above 0."""
        ...

    def sees(self, row_ids: np.ndarray) -> np.ndarray:
        """Whether the units in rows (n,) may be seen."""
        ...


def best_matches(
    units: SearchableText,
    query: str,
    *,
    depth: int,
    where: str | None = None,
    meanings: Sequence[Meaning] = (),
    weight: float = 1.0,
) -> Ranking:
    """The `depth` units with the highest BM25 score (Robertson et al. 1994).

    `query` is plain words: no character is an operator. One word in common is enough to be found. A
    query of stop words or punctuation alone finds nothing.

    A table of which not all may be seen is searched on until enough units were found that may be:
    the index has no fast way to be told of them before.

    Args:
        units: The table.
        query: What is searched for.
        depth: Units to return.
        where: SQL condition on them.
        meanings: What means the same as expressions of the query. A unit that does not hold such
            an expression, but all words of another one, gets the BM25 score of that, times
            `weight`. (The index keeps no places of words: all words stand for the expression.)
        weight: What they count.
    """
    is_spelled = _is_spelled(units.dataset)
    full_text = _query(query, meanings, weight=weight, is_spelled=is_spelled)

    def fetch(limit: int) -> tuple[Ranking, float]:
        found = units.dataset.to_table(
            columns=[SCORE],  # no column of the table: reading one takes longer than the search
            full_text_query=full_text,
            filter=where,
            prefilter=where is not None,
            limit=limit,
            with_row_id=True,
        )
        rows, scores = found[ROW_ID].to_numpy(), found[SCORE].to_numpy()
        seen = units.sees(rows)
        names = [units.names[row] for row in rows[seen].tolist()]
        least = scores[-1] if len(scores) == limit else -math.inf
        return ranked(names, scores=scores[seen].tolist(), depth=limit), least

    return best_with_ties(fetch, depth=depth, share=units.share)


def _is_spelled(dataset: "LanceDataset") -> bool:
    """Whether the words of an index are in the usual spelling: those of older releases are not."""
    names = (each.name for each in dataset.describe_indices() if each.field_names == [COLUMN])
    return all(revision_of(name) >= SPELLED_SINCE for name in names)


def _query(
    query: str, meanings: Sequence[Meaning], *, weight: float, is_spelled: bool
) -> "FullTextQuery":
    from lance.query import BooleanQuery, FullTextOperator, MatchQuery, Occur

    def whole(expression: str, weight: float) -> MatchQuery:
        spelled = spelled_apart(expression) if is_spelled else expression
        return MatchQuery(spelled, COLUMN, boost=weight, operator=FullTextOperator.AND)

    own = MatchQuery(sought_text(query) if is_spelled else query, COLUMN)
    if not meanings:
        return own
    meant = [
        BooleanQuery(
            [
                (Occur.MUST_NOT, whole(meaning.expression, 1.0)),
                *((Occur.SHOULD, whole(other, weight)) for other in meaning.others),
            ]
        )
        for meaning in meanings
    ]
    return BooleanQuery([(Occur.SHOULD, one) for one in (own, *meant)])


def has_text_index(table: "LanceTable") -> bool:
    """Whether the text of `table` has a full-text index."""
    return any(list(index.columns) == [COLUMN] for index in table.list_indices())


def require_text_index(table: "LanceTable") -> None:
    """Refuse to search a table without a full-text index.

    Without one, Lance would compare words unstemmed and not weight them by the corpus.

    Raises:
        MissingTextIndexError: `table` holds units but no full-text index of their text.
    """
    if table.count_rows() and not has_text_index(table):
        raise MissingTextIndexError(
            f"{table.name} has no full-text index yet: run `rag-assets refresh` to build it"
        )
