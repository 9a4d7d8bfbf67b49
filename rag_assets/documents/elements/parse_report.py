"""The account of a document: what became of each page, and how completely it was read."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag_assets.documents.elements.element import Element, clean
from rag_assets.media.encodings import letters_of

_MISREAD = re.compile(
    "[\ufffd\ue000-\uf8ff\x80-\x9f\U000f0000-\U0010fffd]"
    "|[\u00c2\u00c3][\u0080-\u00bf\u201a-\u203a\u20ac\u0152\u0153\u0160\u0161\u0178\u017d\u017e]"
)
_GLYPHS = re.compile(r"\(cid:\d+\)")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{6,}")
_IS_CONSONANT = bytes(bool(_CONSONANTS.match(chr(code) * 6)) for code in range(0x100))
_RUN = b"\x01" * 6

_WORD = re.compile(r"[^\W_]+")


@dataclass(slots=True)
class Account:
    """What is known of the pages of a document; page numbers start at 1."""

    pages: int = 0
    """Pages or slides of the file; 0 where there are none."""
    letters: Sequence[int] = ()
    """The number of letters and digits in the text layer of each page; empty where there is
    none."""
    scanned: Sequence[int] = ()
    """Pages that show something and have no text layer."""
    engines: dict[int, str] = field(default_factory=dict)
    """The engine that read each page."""
    replaced: dict[int, str] = field(default_factory=dict)
    """Why the earlier engines of the chain did not read a page that a later one read."""
    failed: dict[int, str] = field(default_factory=dict)
    """Why no engine could read a page."""
    left_out: int = 0
    """Number of pages beyond a limit: no engine tried to read them."""
    is_linked: bool = False
    """Whether the document shows pictures that lie beside it."""
    shown: Sequence[str] = ()
    """The texts that the parts of an Office file show; empty for other formats."""
    hidden: str = ""
    """How much of it is hidden and left out, in words."""
    doubts: list[str] = field(default_factory=list)
    """What may be wrong with its text, a sentence each."""

    @property
    def is_plain(self) -> bool:
        """Whether the first engine read all of it from the file alone, without any helper."""
        return not (self.scanned or self.replaced or self.failed or self.is_linked)

    @property
    def layer_letters(self) -> int:
        """Letters of the text layers of the pages that are not read by OCR."""
        scanned = set(self.scanned)
        return sum(count for page, count in enumerate(self.letters, 1) if page not in scanned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """How complete the elements of a document are."""

    empty: Sequence[int]
    """Pages that were read and gave neither a word nor a picture."""
    layer_letters: int
    """The number of letters and digits in the text layer."""
    lost_letters: int
    """The letters of the text layer that are missing, counted page by page."""
    letters: int
    """The number of letters and digits of the elements."""
    garbled: int
    """The letters of the elements that belong to garbled text."""
    tables: int
    """Tables that the layout analysis found."""
    sound_tables: int
    """Tables that passed their validity check."""
    figures: int
    """Figures that the layout analysis found."""
    kept_figures: int
    """Figures whose picture or words are kept."""
    words: int
    """The number of words that the parts of an Office file show."""
    lost_words: Mapping[str, int]
    """The words of the file that no element has, and how often each is missing."""


def measured(account: Account, elements: Sequence[Element]) -> Completeness:
    """Compare the `elements` of a document with the account of its pages."""
    by_page: Counter[int] = Counter()
    shown, figures, tables = set(), [], []
    for element in elements:
        if element.page is not None:
            letters = letters_of(element.text)
            by_page[element.page] += letters
            if letters or element.image:
                shown.add(element.page)
        if element.type == "figure":
            figures.append(element)
        elif element.type == "table" or element.problem:
            tables.append(element)
    whole = "\n".join([element.text for element in elements])
    words, lost_words = _lost_words(account.shown, whole) if elements else (0, {})
    read = account.engines.keys() or (range(1, account.pages + 1) if elements else ())
    scanned = set(account.scanned)
    return Completeness(
        empty=[page for page in sorted(read) if page not in shown],
        layer_letters=account.layer_letters,
        lost_letters=sum(
            max(count - by_page[page], 0)
            for page, count in enumerate(account.letters, 1)
            if page not in scanned
        ),
        letters=letters_of(whole),
        garbled=garbled_letters(whole),
        tables=len(tables),
        sound_tables=sum(not table.problem for table in tables),
        figures=len(figures),
        kept_figures=sum(
            bool(figure.text or figure.image) and not figure.problem for figure in figures
        ),
        words=words,
        lost_words=lost_words,
    )


def _lost_words(shown: Sequence[str], text: str) -> tuple[int, Mapping[str, int]]:
    """How many words a file shows, and those that `text`, its elements, has fewer times.

    A word that is only parted or joined otherwise is not lost: the letters of both sides decide.
    """
    wanted = [word for paragraph in shown for word in _WORD.findall(clean(paragraph))]
    found = _WORD.findall(text)
    missing = Counter(wanted) - Counter(found)
    shown_letters, letters = ("".join(words) if missing else "" for words in (wanted, found))
    lost = {
        word: min(count, shown_letters.count(word) - letters.count(word))
        for word, count in missing.items()
    }
    return len(wanted), {word: count for word, count in lost.items() if count > 0}


def grouped(reasons: Mapping[int, str]) -> list[tuple[list[int], str]]:
    """Pages with the same reason together, in the order of their first page."""
    pages: dict[str, list[int]] = {}
    for page in sorted(reasons):
        pages.setdefault(reasons[page], []).append(page)
    return [(numbers, reason) for reason, numbers in pages.items()]


def named(pages: Sequence[int]) -> str:
    """`page 3`, `pages 4-9` or `pages 2, 5-6`."""
    text = ranges(pages)
    return f"page {text}" if text.isdigit() else f"pages {text}"


def ranges(pages: Iterable[int]) -> str:
    """Page numbers in ascending order, runs of them as `4-9`."""
    runs: list[list[int]] = []
    for page in pages:
        if runs and page == runs[-1][1] + 1:
            runs[-1][1] = page
        else:
            runs.append([page, page])
    return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in runs)


def garbled_letters(text: str) -> int:
    """Number of characters of `text` that were decoded wrongly."""
    found = [*_GLYPHS.findall(text), *_words_of_consonants(text)]
    if not text.isascii():
        found += _MISREAD.findall(text)
    return sum(map(len, found))


def _words_of_consonants(text: str) -> Iterator[str]:
    if _RUN not in text.encode("utf-8", "surrogatepass").translate(_IS_CONSONANT):
        return  # few texts have one, and the search by letters takes seven times as long
    for run in _CONSONANTS.finditer(text):
        around = text[max(run.start() - 1, 0) : run.start()] + text[run.end() : run.end() + 1]
        if not any(map(str.isalpha, around)):
            yield run[0]
