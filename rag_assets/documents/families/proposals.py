"""Proposals: documents that are like one another, and for which a person has to decide."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from rag_assets.documents.families.candidates import Candidate
from rag_assets.documents.families.stated_facts import likeness
from rag_assets.documents.families.version_words import PERIODIC

LIKE_TEXTS = 0.5
"""Least likeness of two first pages."""
MOST_LIKE = 12
"""Documents of one title: more of them are a series of forms, of which nothing is proposed."""


def like_pairs(
    documents: Sequence[Candidate], *, may_be: Callable[[Candidate, Candidate], bool]
) -> Iterator[tuple[Candidate, Candidate]]:
    """Pairs of one title whose first pages have most of their text in common.

    `may_be` says whether nothing is known that tells two documents apart.
    """
    titles: defaultdict[frozenset[str], list[Candidate]] = defaultdict(list)
    for document in documents:
        words, _ = document.title_words
        if words and not document.words & PERIODIC:
            titles[words].append(document)
    for like in titles.values():
        for one, other in combinations(like if len(like) <= MOST_LIKE else [], 2):
            is_other_text = one.content != other.content
            is_one_language = one.stated.language == other.stated.language
            if is_other_text and is_one_language and may_be(one, other) and _are_like(one, other):
                yield one, other


def _are_like(one: Candidate, other: Candidate) -> bool:
    return likeness(one.stated.sketch, other.stated.sketch) >= LIKE_TEXTS
