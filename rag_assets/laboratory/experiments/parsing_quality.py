"""How well documents were parsed: headings against outlines, quotes against pages.

Texts are compared by letters and digits, after NFKC and in lower case, without section numbers: in
the rest parsers differ. An outline has only the headings that its author gave a bookmark. Another
heading is not always wrong (a title, a label in bold), so that precision is a lower bound.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rag_assets.documents.elements.outlines import Bookmark
from rag_assets.evaluation.quotes import normalized

PAGES_APART = 1
"""A bookmark may lead to the page before its heading."""

_NUMBER = re.compile(r"^\s*(?:[A-Z]|\d+)(?:\.\d+)*[.):]?\s+")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as a parser found it."""

    text: str
    page: int
    level: int


Score: TypeAlias = Counter[str]
"""What was found of several things, by name; scores of documents are added up."""


def share(score: Score, part: str, *, of: str) -> float:
    """The count called `part` divided by that called `of`; 0 if there are none."""
    return score[part] / max(score[of], 1)


def words_of(heading: str) -> str:
    """The words of a heading for comparison, without its section number."""
    return normalized(_NUMBER.sub("", heading)) or normalized(heading)


def heading_score(outline: Sequence[Bookmark], headings: Sequence[Heading]) -> Score:
    """Match each bookmark with one heading of the same words, the nearest one by page.

    Counts `bookmarks` and `headings`; `matched` bookmarks, which have a heading of the same words
    at most `PAGES_APART` from their target; and of these the ones on the `right page` and of the
    `right level`, compared after the shift of levels that fits most: the top levels may differ.
    """
    by_words: defaultdict[str, list[Heading]] = defaultdict(list)
    for heading in headings:
        by_words[words_of(heading.text)].append(heading)
    score = Counter({"bookmarks": len(outline), "headings": len(headings)})
    shifts: Counter[int] = Counter()
    for entry in outline:
        candidates = by_words[words_of(entry.title)]
        nearest = min(candidates, key=lambda each: abs(each.page - entry.page), default=None)
        if nearest is None or abs(nearest.page - entry.page) > PAGES_APART:
            continue
        candidates.remove(nearest)
        shifts[nearest.level - entry.level] += 1
        score["right page"] += nearest.page == entry.page
    score["matched"], score["right level"] = shifts.total(), max(shifts.values(), default=0)
    return score


@dataclass(frozen=True, slots=True)
class Quote:
    """A text and the page that it is on."""

    text: str
    page: int


def page_score(quotes: Iterable[Quote], pages: Mapping[int, str]) -> Score:
    """Look for each quote on its page, then in the whole document.

    Counts `quotes`; those that are `found` anywhere in their document; and of these the ones on the
    `right page`, which the evidence names.

    Args:
        quotes: Quotes of one document.
        pages: The text of its elements, by page.
    """
    texts = {page: normalized(text) for page, text in pages.items()}
    whole = "".join(texts[page] for page in sorted(texts))
    score: Score = Counter()
    for quote in quotes:
        wanted = normalized(quote.text)
        is_right = wanted in texts.get(quote.page, "")
        score += Counter(
            {"quotes": 1, "found": is_right or wanted in whole, "right page": is_right}
        )
    return score
