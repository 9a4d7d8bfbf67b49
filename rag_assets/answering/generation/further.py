"""What to search for next: the words of the question that nothing shown covers (P4, section 6).

Never what a model wrote: a search for its own invention finds a text that has the words, and the
invention then cites it. Of what the model says that its sources leave open, only the words that the
question has count.
"""

from collections.abc import Iterator, Sequence

from rag_assets.answering.terms import HeldTerms, SoughtTerm, terms_of
from rag_assets.answering.wording import folded
from rag_assets.retrieval.hits import Hit


def further_queries(
    question: str, absent: Sequence[str], hits: Sequence[Hit], *, most: int
) -> list[str]:
    """At most `most` queries of words of `question`, all different from one another and from it.

    Args:
        question: As it was asked.
        absent: What the model says that its sources leave open.
        hits: What it was shown.
        most: Queries, at most.
    """
    terms = terms_of(question)
    found = dict[str, str]()
    for missing in _missing(terms, absent, hits):
        named = [term for term in terms if term.kind != "word" or term in missing]
        if missing and len(named) < len(terms):
            query = " ".join(term.text for term in named)
            found.setdefault(folded(query), query)
    return list(found.values())[:most]


def _missing(
    terms: Sequence[SoughtTerm], absent: Sequence[str], hits: Sequence[Hit]
) -> Iterator[list[SoughtTerm]]:
    """The terms that nothing shown has, and those that the model says are left open."""
    shown = [HeldTerms(f"{hit.title} {hit.section} {hit.context}") for hit in hits]
    yield [term for term in terms if not any(text.has(term) for text in shown)]
    for said in map(HeldTerms, absent):
        yield [term for term in terms if said.has(term)]
