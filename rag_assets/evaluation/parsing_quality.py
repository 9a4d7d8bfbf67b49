"""How well documents were parsed: headings against outlines, quotes against pages.

Texts are compared by letters and digits, after NFKC and in lower case, without section numbers: in
the rest parsers differ. An outline has only the headings that its author gave a bookmark. Another
heading is not always wrong (a title, a label in bold), so that precision is a lower bound.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class HeadingScore:
    """Headings of documents compared with their outlines."""

    entries: int
    """Bookmarks."""
    headings: int
    """Headings that the parser found."""
    matched: int
    """Bookmarks with a heading of the same words, at most `PAGES_APART` from their target."""
    right_page: int
    right_level: int
    """Compared after the shift of levels that fits most of them: the top levels may differ."""

    @property
    def recall(self) -> float:
        """Share of the bookmarks that were found as headings."""
        return self.matched / self.entries if self.entries else 0.0

    @property
    def precision(self) -> float:
        """Share of the headings that are in the outline."""
        return self.matched / self.headings if self.headings else 0.0

    def __add__(self, other: "HeadingScore") -> "HeadingScore":
        return HeadingScore(
            self.entries + other.entries,
            self.headings + other.headings,
            self.matched + other.matched,
            self.right_page + other.right_page,
            self.right_level + other.right_level,
        )


NO_HEADINGS = HeadingScore(0, 0, 0, 0, 0)


def words_of(heading: str) -> str:
    """The words of a heading for comparison, without its section number."""
    return normalized(_NUMBER.sub("", heading)) or normalized(heading)


def heading_score(outline: Sequence[Bookmark], headings: Sequence[Heading]) -> HeadingScore:
    """Match each bookmark with one heading of the same words, the nearest one by page."""
    by_words: defaultdict[str, list[Heading]] = defaultdict(list)
    for heading in headings:
        by_words[words_of(heading.text)].append(heading)
    right_page = 0
    shifts: Counter[int] = Counter()
    for entry in outline:
        candidates = by_words[words_of(entry.title)]
        nearest = min(candidates, key=lambda each: abs(each.page - entry.page), default=None)
        if nearest is None or abs(nearest.page - entry.page) > PAGES_APART:
            continue
        candidates.remove(nearest)
        right_page += nearest.page == entry.page
        shifts[nearest.level - entry.level] += 1
    return HeadingScore(
        entries=len(outline),
        headings=len(headings),
        matched=shifts.total(),
        right_page=right_page,
        right_level=max(shifts.values(), default=0),
    )


@dataclass(frozen=True, slots=True)
class PageScore:
    """Quotes of the gold evidence, looked up in the parsed pages."""

    quotes: int
    found: int
    """Quotes that are anywhere in their document."""
    right_page: int
    """Of these, how many are on the page that the evidence names."""

    @property
    def accuracy(self) -> float:
        """Share of the found quotes that are on the right page."""
        return self.right_page / self.found if self.found else 0.0

    def __add__(self, other: "PageScore") -> "PageScore":
        return PageScore(
            self.quotes + other.quotes,
            self.found + other.found,
            self.right_page + other.right_page,
        )


NO_QUOTES = PageScore(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Quote:
    """A text and the page that it is on."""

    text: str
    page: int


def page_score(quotes: Iterable[Quote], pages: Mapping[int, str]) -> PageScore:
    """Look for each quote on its page, then in the whole document.

    Args:
        quotes: Quotes of one document.
        pages: The text of its elements, by page.
    """
    texts = {page: normalized(text) for page, text in pages.items()}
    whole = "".join(texts[page] for page in sorted(texts))
    total = found = right = 0
    for quote in quotes:
        wanted = normalized(quote.text)
        total += 1
        is_right = wanted in texts.get(quote.page, "")
        right += is_right
        found += is_right or wanted in whole
    return PageScore(total, found, right)
