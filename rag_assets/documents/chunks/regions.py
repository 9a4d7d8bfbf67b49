"""What chunks are cut from: the text of a document, divided into regions that share no chunk.

The text of a document is its elements, joined by empty lines. Page headers and footers are left
out, unless the parser found nothing else. A table or figure is a region of its own, together with
its caption and the headings directly before it; everything between is prose. A figure without words
of its own is represented by its caption; without a caption it is left out.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple
from unicodedata import east_asian_width

from rag_assets.schemas import HEADINGS

_WORD = re.compile(r"[^\W\d_]{2,}")
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|p|sida|sid|s)?\W*\d{1,4}\W*(?:(?:of|av)?\W*\d{1,4}\W*)?", re.IGNORECASE
)
_ENTRY = r"[^\W\d_]+(?: [^\W\d_]+){0,2}"
_LINK = r"(?:[-*+] +)?\[[^\[\]]*\]\([^()]*\)"
_MENU = re.compile(
    rf"{_ENTRY}(?: [|\u00b7\u2022\u00bb\u203a>] {_ENTRY}){{2,}}"
    rf"|{_LINK}(?:\s*[|\u00b7\u2022\u00bb\u203a>]?\s*{_LINK}){{2,}}"
)
"""At least three entries on one line, or three links and nothing else."""
LONGEST_PAGE_NUMBER, LONGEST_MENU = 40, 1_000
"""The most characters of a page number, and of a menu."""
LONGEST_WORD = 30
"""The most letters of a word; more without a blank are a sentence of a script that writes without
blanks."""

SEPARATOR = "\n\n"
LEFT_OUT = frozenset({"page_header", "page_footer"})
SHOWN_ALONE = ("table", "figure")
"""Types of the elements that share no chunk with prose."""

_LABEL = re.compile(r"\W*(?:(?P<table>tab)|(?P<figure>fig|abb|bild))", re.IGNORECASE)


class Block(NamedTuple):
    """The part of an element that chunks depend on. There are many, so it must be cheap to make."""

    index: int
    type: str
    text: str
    page: int | None
    section_path: tuple[str, ...]
    language: str | None = None
    image: str | None = None
    """The key of its stored picture."""
    description: str | None = None
    """What a vision model says of its picture."""
    without_words: int | None = None
    """Index of the figure that this caption stands for."""


class Chunk(NamedTuple):
    """A slice of a document's text and where it comes from; cheap to make, like `Block`."""

    text: str
    """Header and line break, if there is one, and the slice."""
    tokens: int
    """The number of tokens under the chunking's tokenizer, special tokens included."""
    char_start: int
    char_end: int
    element_start: int
    element_end: int
    """Index of the last element, itself included."""
    pages: tuple[int, ...]
    section_path: tuple[str, ...]
    """Section of the first character."""
    type: str = "text"
    """The type of unit, one of `schemas.UNIT_TYPES`."""
    language: str | None = None
    """The language of most of its characters."""
    image: str | None = None
    """The first picture of what it shows."""


@dataclass(frozen=True, slots=True)
class Region:
    """Blocks that may share a chunk."""

    start: int
    end: int
    type: str = "text"
    subject: int | None = None
    """Position of the table or figure among the blocks."""
    captions: tuple[int, ...] = ()
    """Positions of its captions."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text that chunks are cut from, and which block each part of it came from."""

    text: str
    blocks: Sequence[Block] = field(repr=False)
    starts: Sequence[int] = field(repr=False)
    """The position in the text at which each block begins."""

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "DocumentText":
        """Join `blocks`, in reading order."""
        body = [block for block in blocks if block.type not in LEFT_OUT]
        if len(body) < len(blocks) and not any(map(_says_something, body)):
            body = blocks
        if any(block.type == "figure" and not block.text for block in body):
            body = _shown_by_captions(body)
        kept = [block for block in body if block.text]
        starts = []
        position = 0
        for block in kept:
            starts.append(position)
            position += len(block.text) + len(SEPARATOR)
        return cls(SEPARATOR.join([block.text for block in kept]), kept, starts)

    def place(self, start: int) -> int:
        """Position of the block that holds the character at `start`."""
        return bisect_right(self.starts, start) - 1

    def end(self, place: int) -> int:
        """One past the last character of the block at `place`."""
        return self.starts[place] + len(self.blocks[place].text)

    def chunk(
        self, start: int, end: int, *, tokens: int, header: str = "", type_: str = "text"
    ) -> Chunk:
        """The slice from `start` to `end` as a chunk; `header` includes its line break."""
        first, last = self.place(start), self.place(end - 1)
        touched = self.blocks[first : last + 1]
        pages, languages, types, image = set(), set(), set(), None
        for block in touched:
            pages.add(block.page)
            languages.add(block.language)
            types.add(block.type)
            image = image or block.image
        if types == {"formula"}:
            type_ = "formula"
        pages.discard(None)
        languages.discard(None)
        language = languages.pop() if languages else None
        if languages:
            language = self._language(start, end, first=first, last=last)
        of_figures = [block.without_words for block in touched if block.without_words is not None]
        return Chunk(
            text=header + self.text[start:end],
            tokens=tokens,
            char_start=start,
            char_end=end,
            element_start=min(touched[0].index, *of_figures, touched[-1].index),
            element_end=max(touched[-1].index, *of_figures, touched[0].index),
            pages=tuple(sorted(pages)),
            section_path=touched[0].section_path,
            type=type_,
            language=language,
            image=image,
        )

    def _language(self, start: int, end: int, *, first: int, last: int) -> str:
        """The language of most characters between `start` and `end`; there are several."""
        characters: Counter[str] = Counter()
        for place in range(first, last + 1):
            language = self.blocks[place].language
            if language:
                length = min(end, self.end(place)) - max(start, self.starts[place])
                characters[language] += length
        return characters.most_common(1)[0][0]


def _says_something(block: Block) -> bool:
    return any(map(str.isalnum, block.text))


def whole(document: DocumentText) -> list[Region]:
    """Prose runs through the document, whatever its sections."""
    return _regions(document, by_section=False)


def sections(document: DocumentText) -> list[Region]:
    """No chunk crosses into the next section.

    A heading that directly follows another one stays with it: a chunk is never a heading alone
    while its section has text.
    """
    return _regions(document, by_section=True)


def telling_sections(document: DocumentText) -> list[Region]:
    """The `sections` that say something; all of them if the document has nothing else."""
    regions = sections(document)
    return [region for region in regions if _is_telling(document, region)] or regions


def _is_telling(document: DocumentText, region: Region) -> bool:
    if region.type == "table":
        return True
    is_described = region.subject is not None and document.blocks[region.subject].description
    return bool(is_described) or not says_nothing(document.text[region.start : region.end])


def _regions(document: DocumentText, *, by_section: bool) -> list[Region]:
    blocks, starts = document.blocks, document.starts
    if not blocks:
        return []
    subjects = _subjects(blocks)
    opens = [
        place
        for place in range(len(blocks))
        if place == 0
        or subjects.get(place) != subjects.get(place - 1)
        or (by_section and place not in subjects and _opens_section(blocks, place))
    ]
    regions = []
    for first, after in pairwise([*opens, len(blocks)]):
        end = starts[after] if after < len(blocks) else len(document.text)
        subject = subjects.get(first)
        if subject is None:
            regions.append(Region(starts[first], end))
        else:
            captions = [place for place in range(first, after) if blocks[place].type == "caption"]
            type_ = blocks[subject].type
            regions.append(Region(starts[first], end, type_, subject, tuple(captions)))
    return regions


def _opens_section(blocks: Sequence[Block], place: int) -> bool:
    return blocks[place].type in HEADINGS and blocks[place - 1].type not in HEADINGS


def _subjects(blocks: Sequence[Block]) -> dict[int, int]:
    """The table or figure of each block that belongs to one, by their positions."""
    subjects = {place: place for place, block in enumerate(blocks) if block.type in SHOWN_ALONE}
    if not subjects:
        return {}
    for caption, subject in dict(_captions(blocks)).items():
        subjects[caption] = subject
    for place in range(len(blocks) - 2, -1, -1):
        if blocks[place].type in HEADINGS and place + 1 in subjects:
            subjects[place] = subjects[place + 1]
    return subjects


def _captions(blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Each caption beside a table or figure, and what it belongs to, by their positions."""
    for place, block in enumerate(blocks):
        if block.type == "caption":
            near = [
                other
                for other in (place - 1, place + 1)
                if 0 <= other < len(blocks) and blocks[other].type in SHOWN_ALONE
            ]
            label = _LABEL.match(block.text)
            if label:
                near = [other for other in near if blocks[other].type == label.lastgroup]
            if near:
                yield place, near[-1] if _stands_before(blocks, near) else near[0]


def _stands_before(blocks: Sequence[Block], near: Sequence[int]) -> bool:
    """Whether a caption between two belongs to the second: that of a table stands above it."""
    return blocks[near[-1]].type == "table"


def _shown_by_captions(blocks: Sequence[Block]) -> list[Block]:
    """`blocks` with the captions of figures without words in their place."""
    belongs = dict(_captions(blocks))
    shown = []
    for place, block in enumerate(blocks):
        figure = blocks[belongs[place]] if place in belongs else None
        if figure and figure.type == "figure" and not figure.text:
            shown.append(
                block._replace(
                    type="figure",
                    image=figure.image,
                    description=figure.description,
                    without_words=figure.index,
                )
            )
        else:
            shown.append(block)
    return shown


def says_nothing(text: str) -> bool:
    """Whether nobody could find an answer in `text`: a menu, or one word that is no sentence.

    A designation or a value says something: `S355J2`, `355 MPa`.
    """
    shown = text.strip()
    if len(shown) <= LONGEST_PAGE_NUMBER and _PAGE_NUMBER.fullmatch(shown):
        return True
    if len(shown) <= LONGEST_MENU and _MENU.fullmatch(shown):
        return True
    words = _WORD.findall(text)
    if words and shown.endswith((".", "!", "?")):
        return False
    if len(words) > 1 or max(map(len, words), default=0) > LONGEST_WORD:
        return False
    if any(east_asian_width(character) == "W" for word in words for character in word):
        return False
    return not (any(map(str.isdigit, text)) and any(map(str.isalpha, text)))
