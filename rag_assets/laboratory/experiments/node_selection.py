"""P3's selection of nodes (A.1), a baseline of the experiment `graph_retrieval`.

A node, here a unit, is selected if its text in lower case holds any keyword of the query, be it
inside of a word: `ion` is in `position`. The paper does not say what comes first and lets a limit
cut off the rest. Here the score of a node is how many of the keywords it holds; of equal ones the
one of the higher degree comes first, which has more links. Keywords are the lemmas longer than two
characters of nouns, proper nouns, adjectives and verbs. No tagger of parts of speech comes with
this project, so words that ask or join and numbers are left out instead: adverbs stay, which the
paper drops.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.retrieval.links import LinksInMemory
from rag_assets.retrieval.rankings import Ranking, ranked
from rag_assets.retrieval.units import UnitTable
from rag_assets.terms.words import JOINING, lemma_of, words_of

SHORTEST = 3
"""The fewest characters of a keyword."""
TABLES_KEPT = 2


def select_nodes(
    units: UnitTable,
    queries: Sequence[str],
    depth: int,
    where: str | None,
    links: LinksInMemory | None,
    /,
) -> list[Ranking]:
    """The units of a table that hold a keyword of each query: see `retrieval.search_context`."""
    texts, permitted = _lowered(units), partial(units.permitted, where=where)
    named = (texts[name].to_pylist() for name in ("unit_id", "document_id"))
    documents = dict(zip(*named, strict=True))

    def degree(unit: str) -> int:
        return links.degree(unit, documents[unit]) if links else 0

    return [
        selected(texts, each, depth=depth, permitted=permitted, degree=degree) for each in queries
    ]


@lru_cache(maxsize=TABLES_KEPT)
def _lowered(units: UnitTable) -> pa.Table:
    """`unit_id`, `text` in lower case and `document_id` of all units."""
    found = units.dataset.to_table(columns=["unit_id", "text", "document_id"])
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
    degree: Callable[[str], int],
) -> Ranking:
    """The best `depth` of `units` (`unit_id`, `text` in lower case) for a query.

    The score is the number of keywords that a unit holds, and less than 1 for its `degree`.
    `permitted` gives those of some units that may be returned.
    """
    held: Counter[str] = Counter()
    for word in keywords_of(query):
        held.update(units["unit_id"].filter(pc.match_substring(units["text"], word)).to_pylist())
    kept = [*permitted(held)]
    scores = [held[each] + 1 - 1 / (degree(each) + 1) for each in kept]
    return ranked(kept, scores=scores, depth=depth)
