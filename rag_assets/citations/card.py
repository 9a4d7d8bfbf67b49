"""The evidence card: a citation shown, the same wherever it is opened.

A card is data, which `answering.evidence_cards` gathers. Its one template is `card.html`, with the
macro `evidence_card`, and its one style `card.css`: the page of `rag-assets serve`, `rag-assets
show` (by `page.html`) and the reports use these.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from rag_assets.citations.kinds import Computed, Rows

PageBox: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the top left of the page."""
MOST_COLUMNS = 12
"""Columns that are shown side by side, at most."""
ENOUGH_COLUMNS = 6
"""Columns up to which others are shown beside those that are cited."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page with the blocks of a passage light, and the lines of quotes to be laid over them."""

    page: int
    """The page of the document, from 1."""
    width: float
    """The width of the page in points; `height` is in points too."""
    height: float
    boxes: tuple[PageBox, ...]
    """The box of each line of a quote; quotes whose place is not sure have none."""
    picture: str
    """PNG of the page, the blocks of the passage marked; in Base64."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage, and what stands around it in its document."""

    before: str
    passage: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A citation, to be looked at."""

    title: str
    place: str
    """The document or table, and where in it."""
    excerpt: Excerpt | None = None
    """The passage of a document; also that of a row which is in no table that can be asked."""
    quotes: Sequence[tuple[int, int]] = ()
    """First character of each quote in the passage, and one past the last, in their order."""
    headings: Mapping[str, str] = field(default_factory=dict)
    """The heading of each column that may be shown, by its name: in plain words, with the unit."""
    marked: Collection[str] = ()
    """Names of the columns that are cited."""
    rows: Sequence[Mapping[str, str | None]] = ()
    """The cells of each row by the names of their columns."""
    cited: int | None = None
    """The position among the rows of the one that is cited, from 0; None where all of them are."""
    count: int = 0
    """How many rows a lookup selects; `rows` has the first of them."""
    said: Sequence[str] = ()
    """What a lookup gives, in sentences."""
    selected: Rows | None = None
    """What a lookup selects."""
    computed: Computed | None = None
    linked: str = ""
    """The link that led a search to it, in words."""
    has_page: bool = False
    """Whether it stands on a page."""
    pictures: Sequence[PagePicture] = ()
    """The pages that it stands on, the first one alone where the place of no quote is sure."""
    no_picture: str = ""
    """Why there is no picture of a passage that stands on a page."""

    @property
    def shown(self) -> Sequence[str]:
        """Names of the columns that are shown side by side: those cited, and a few beside them."""
        cited = [name for name in self.headings if name in self.marked][:MOST_COLUMNS]
        filled = (name for name in self.headings if any(row[name] for row in self.rows))
        others = (name for name in filled if name not in self.marked)
        names = {*cited, *islice(others, max(ENOUGH_COLUMNS - len(cited), 0))}
        return [name for name in self.headings if name in names]
