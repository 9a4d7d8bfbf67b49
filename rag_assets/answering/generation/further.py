"""What to search for next: what the answer of a language model lacks (P4, section 6).

First what the model says that its sources leave open, then the terms of the question that nothing
it was shown holds, then what it wrote without support.
"""

from collections.abc import Iterator, Sequence

from rag_assets.answering.generation.writing import Written
from rag_assets.answering.terms import HeldTerms, terms_of
from rag_assets.answering.wording import folded
from rag_assets.retrieval.hits import Hit

LONGEST_QUERY = 300
"""Characters."""


def further_queries(
    question: str, written: Written, hits: Sequence[Hit], *, most: int
) -> list[str]:
    """At most `most` queries, all different from one another and from `question`."""
    found = dict[str, str]()
    for query in _lacking(question, written, hits):
        words = " ".join(query.split())[:LONGEST_QUERY]
        if terms_of(words) and folded(words) != folded(question):
            found.setdefault(folded(words), words)
    return list(found.values())[:most]


def _lacking(question: str, written: Written, hits: Sequence[Hit]) -> Iterator[str]:
    yield from written.absent
    held = [HeldTerms(f"{hit.title} {hit.section} {hit.text}") for hit in hits]
    terms = terms_of(question)
    missing = [term for term in terms if not any(text.has(term) for text in held)]
    if missing:
        named = [term for term in terms if term.kind != "word" or term in missing]
        yield " ".join(term.text for term in named)
    for sentence in written.unsupported:
        yield sentence.text
