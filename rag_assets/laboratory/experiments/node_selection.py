"""P3's selection of nodes (A.1), a baseline of the experiment `graph_retrieval`.

A node, here a unit, is selected if its text in lower case holds any keyword of the query, be it
inside of a word: `ion` is in `position`. Nothing ranks what is selected; a limit cuts it off, here
in the order of the ids. Keywords are the lemmas longer than two characters of nouns, proper nouns,
adjectives and verbs. No tagger of parts of speech comes with this project, so words that ask or
join and numbers are left out instead: adverbs stay, which the paper drops.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.retrieval.rankings import Ranking, ranked
from rag_assets.retrieval.units import UnitTable
from rag_assets.terms.words import JOINING, lemma_of, words_of

SHORTEST = 3
"""The fewest characters of a keyword."""
TABLES_KEPT = 2


def select_nodes(
    units: UnitTable, queries: Sequence[str], depth: int, where: str | None, /
) -> list[Ranking]:
    """The units of a table that hold a keyword of each query: see `retrieval.search_context`."""
    texts, permitted = _lowered(units), partial(units.permitted, where=where)
    return [selected(texts, each, depth=depth, permitted=permitted) for each in queries]


@lru_cache(maxsize=TABLES_KEPT)
def _lowered(units: UnitTable) -> pa.Table:
    """`unit_id` and `text` in lower case of all units."""
    found = units.dataset.to_table(columns=["unit_id", "text"])
    return found.set_column(1, "text", pc.utf8_lower(found["text"]))


def keywords_of(query: str) -> list[str]:
    """The keywords of `query`, each once."""
    named = (word for word in words_of(query) if word not in JOINING and word.isalpha())
    lemmas = dict.fromkeys(map(lemma_of, named))
    return [lemma for lemma in lemmas if len(lemma) >= SHORTEST]


def selected(
    units: pa.Table,
    query: str,
    *,
    depth: int,
    permitted: Callable[[Iterable[str]], Collection[str]],
) -> Ranking:
    """The first `depth` of `units` (`unit_id`, `text` in lower case) that hold a keyword.

    All have the score 1. `permitted` gives those of some units that may be returned.
    """
    texts = units["text"]
    found = {
        unit
        for word in keywords_of(query)
        for unit in units["unit_id"].filter(pc.match_substring(texts, word)).to_pylist()
    }
    kept = permitted(found)
    return ranked(kept, scores=[1.0] * len(kept), depth=depth)
