"""The evidence card: a citation shown, the same wherever it is opened.

A card is data. Its one template is `card.html`, with the macro `evidence_card`, and its one style
`card.css`: the page of `rag-assets serve`, `rag-assets show` and the reports use these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PageBox = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the top left of the page."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page with the blocks of a passage light, and the lines of a quote to be laid over them."""

    page: int
    """From 1."""
    width: float
    """Of the page in points, as `height`."""
    height: float
    boxes: tuple[PageBox, ...]
    """One for each line of the quote; none where its place is not sure."""
    picture: str
    """PNG of the page, the blocks of the passage marked; in Base64."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage, and what stands around it in its document."""

    before: str
    passage: str
    after: str
    words: tuple[int, int] | None = None
    """First character of the quote in the passage, and one past the last; None: all of it."""


@dataclass(frozen=True, slots=True)
class CardColumn:
    """A column of the rows of a card."""

    name: str
    """At the source."""
    heading: str
    """In plain words, with its unit."""
    is_marked: bool
    """Whether its cells are cited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A citation, to be looked at."""

    title: str
    place: str
    """The document or table, and where in it."""
    excerpt: Excerpt | None = None
    """Of a document; of a row that is in no table that can be asked."""
    columns: Sequence[CardColumn] = ()
    """All that may be shown."""
    rows: Sequence[Mapping[str, str | None]] = ()
    """By the names of the columns."""
    cited: int | None = None
    """Which of the rows is cited, from 0; None where all of them are."""
    count: int = 0
    """How many rows a lookup selects; `rows` has the first of them."""
    said: Sequence[str] = ()
    """What a lookup gives, in sentences."""
    selected: str = ""
    """What a lookup selects, in words."""
    computed: str = ""
    """What was computed from it, in words."""
    sql: str = ""
    """What was run."""
    has_page: bool = False
    """Whether it stands on a page."""
    pictures: Sequence[PagePicture] = ()
    """The pages that it stands on, the first one alone where the place of the quote is not sure."""
    no_picture: str = ""
    """Why there are none, where it stands on a page."""
