"""What the first page of a document says of the whole: title, number, version, what it replaces."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from rag_assets.documents.chunks.regions import Block
from rag_assets.documents.head.versions import (
    UNKNOWN,
    DocumentVersion,
    day_of,
    stated_versions,
    without_stated,
)
from rag_assets.documents.head.words import head_words
from rag_assets.schemas import HEADINGS

LONGEST_LINE = 120
"""The most characters of a line: longer lines are prose, which tells of other documents too."""
TITLE_WITHIN = 10
"""Elements among which the title is looked for."""
SKETCH = 64
"""Hashes that stand for a text: the error of a likeness is about 0.06."""
WORDS_A_SHINGLE = 3

_MONTHS = {name: place for place, each in enumerate(head_words().months, 1) for name in each}
ISO_DATE = r"(?:19|20)\d\d-[01]\d(?:-[0-3]\d)?"
WRITTEN_DATE = rf"(?:[0-3]?\d\.?\s+)?(?:{'|'.join(_MONTHS)})\s+(?:19|20)\d\d"
_DATE = re.compile(rf"\b(?:{ISO_DATE}|{WRITTEN_DATE})\b", re.IGNORECASE)
_DATE_LABEL = re.compile(
    r"(?:^|[|*>\s])(?:date(?:\s+of\s+issue)?|issued|effective(?:\s+(?:date|from))?|valid\s+from|"
    r"published|released|datum|gäller\s+från|utgiven)\**\s*[:|=]",
    re.IGNORECASE,
)
_LABELLED_NUMBER = re.compile(
    r"(?:^|[|*>])\s*(?:document|doc\.?|standard|spec(?:ification)?|procedure|instruction|drawing|"
    r"dokument|ritning)[\s_-]*(?:number|no\.?|nr\.?|id|nummer)\**\s*[:|=]\**\s*(?P<number>[^|\n]{2,60})",
    re.IGNORECASE,
)
_ID = r"[A-Z]{2,6}(?:[-_ /]?[A-Z]{1,4})?[-_ ]?\d[\dA-Z]*(?:[-_.]\d[\dA-Z]*)*"
_KIND_AND_NUMBER = re.compile(
    rf"(?:^|[|*#\s])(?i:standard|specification|procedure|instruction|norm|drawing|ritning)\s+"
    rf"(?P<number>{_ID})\b"
)
PUBLIC = re.compile(
    r"\b(?P<number>(?:(?:SS|DIN|BS|NF|SIS|UNE|CSN)[ _-])?(?:(?:pr)?EN[ _-])?(?:ISO|IEC|EN)"
    r"(?:/(?:IEC|ASTM|TS|TR|PAS))*[ _-]\d{2,6}(?:-\d{1,3})*|ASTM[ _-][A-G]\d{1,4}M?)"
    r"(?:[:_-](?P<year>(?:19|20)\d\d)|-(?P<short>\d\d))(?![\d])"
)
"""The number of a public standard with its year."""
_FIRST_ID = re.compile(rf"^(?P<number>{_ID})(?=$|[\s_:,.·|-])")
_REPLACES = re.compile(
    r"(?:^|[|*>])\s*(?:supersedes|replaces|ersätter|ersetzt)(?P<part>\s+(?:in\s+part|partly|"
    r"delvis|teilweise))?\**\s*[:|]\**\s*(?P<labelled>[^|\n]{2,120})"
    r"|\b(?:cancels\s+and\s+replaces|this\s+\w+\s+(?:supersedes|replaces))\b(?P<told>[^.\n]{2,160})",
    re.IGNORECASE | re.MULTILINE,
)
_IN_PART = re.compile(
    r"\b(?:in part|partly|partially|delvis|teilweise|clause|amend)", re.IGNORECASE
)
_QUALIFIER = re.compile(
    r"(?:^|[|>])\s*\**(?P<name>site|plant|works|location|line|batch|lot|heat|charge|serial|customer|"
    r"order|invoice|sample|specimen|part|annex|appendix|volume|chapter|language|model|type|grade|"
    r"product|size|machine|anläggning|maskin|språk|kund|modell|typ)(?:\s+(?:no\.?|number|id|nr))?"
    r"\**\s*[:=]\**\s*(?P<value>[^|\n]{1,60})",
    re.IGNORECASE,
)
_PERIODICAL = re.compile(r"\b(?:vol(?:ume)?|årgång|journal|magazine|newsletter|bulletin)", re.I)
_SEPARATOR = re.compile(r"(?:^|[|·•;,(\u2013]|\s-\s|\s{3,})\s*[#*>]*\s*")
_VERSION_FIRST = re.compile(
    r"(?:(?:this\s+)?(?:document|doc|dokument|file|manual)s?['\s_-]*)?"
    r"(?:vers|rev|rel|edit|issue|utg|ausg|aufl)|\w+\s+(?:edition|issue|revision)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")

OF_ITSELF = (*HEADINGS, "page_header", "page_footer")
"""Types of elements that speak of the document as a whole."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What the first page says."""

    title: str = ""
    number: str = ""
    """The number of the document, such as `STD-1234`, spelled as `number_of` gives it."""
    is_public: bool = False
    """Whether the number is that of a public standard, which is unique in the world."""
    version: DocumentVersion = UNKNOWN
    replaces: tuple[str, ...] = ()
    qualifiers: tuple[tuple[str, str], ...] = ()
    """The plant, batch or volume that it is of, each with its label."""
    language: str = ""
    sketch: tuple[int, ...] = ()
    """The least hashes of the shingles of its text (bottom-k, Broder 1997)."""


def first_page(blocks: Sequence[Block]) -> list[Block]:
    """The elements of the first page, of a document's elements in reading order."""
    page = next((block.page for block in blocks if block.page is not None), None)
    return [block for block in blocks if block.page in (None, page)]


def stated_by(blocks: Sequence[Block]) -> Stated:
    """What the first page says.

    Args:
        blocks: The first elements of a document in reading order, page headers included.
    """
    shown = first_page(blocks)
    title, lines = _title(shown), _lines(shown)
    of_itself = _lines([block for block in shown if block.type in OF_ITSELF])
    text = "\n".join(block.text for block in shown)
    number, is_public, year = _number(title, lines)
    version = _version([title, *of_itself], lines).joined(DocumentVersion(day=year))
    return Stated(
        title=without_stated(title) or title,
        number=number,
        is_public=is_public,
        version=version.joined(DocumentVersion(day=_day(lines))),
        replaces=tuple(_replaced(text)),
        qualifiers=tuple(sorted(set(_qualifiers(lines)))),
        language=_language(blocks),
        sketch=sketch_of(text),
    )


def _language(blocks: Sequence[Block]) -> str:
    """The language of most letters; empty where none is known."""
    letters: Counter[str] = Counter()
    for block in blocks:
        letters[block.language or ""] += len(block.text)
    del letters[""]
    return max(letters, key=lambda each: (letters[each], each), default="")


def number_of(text: str) -> str:
    """A document's number in the one spelling in which numbers are compared."""
    return re.sub(r"[\s_/-]+", "-", text.strip(" *.|:")).upper()


def likeness(one: Sequence[int], other: Sequence[int]) -> float:
    """The share of shingles that two texts have in common (Jaccard), estimated from sketches."""
    if not one or not other:
        return 0.0
    least = sorted({*one, *other})[:SKETCH]
    return len({*least} & {*one} & {*other}) / len(least)


def sketch_of(text: str) -> tuple[int, ...]:
    """The least `SKETCH` hashes of the shingles of `text`."""
    words = _WORD.findall(text.lower())
    shingles = {
        " ".join(words[place : place + WORDS_A_SHINGLE])
        for place in range(max(len(words) - WORDS_A_SHINGLE + 1, 1))
    }
    return tuple(sorted(zlib.crc32(shingle.encode()) for shingle in shingles if shingle))[:SKETCH]


def _lines(blocks: Sequence[Block]) -> list[str]:
    """The lines that are no prose."""
    lines = (line.strip() for block in blocks for line in block.text.splitlines())
    return [line for line in lines if line and len(line) <= LONGEST_LINE]


def _title(blocks: Sequence[Block]) -> str:
    """The first heading, if it stands near the top; else the first line."""
    shown = [
        block
        for block in blocks
        if block.type not in ("page_header", "page_footer") and block.text.strip()
    ][:TITLE_WITHIN]
    headings = [block for block in shown if block.type in HEADINGS]
    found = next((block.text for block in (*headings, *shown)), "")
    first = next(iter(found.strip().splitlines()), "")
    return " ".join(first.strip("#*|= ").split())[:LONGEST_LINE]


def _number(title: str, lines: Sequence[str]) -> tuple[str, bool, date | None]:
    """The document's number, whether it is public, and the year that stands with it."""
    for line in lines:
        if match := _LABELLED_NUMBER.search(line):
            return number_of(match["number"]), False, None
    if match := PUBLIC.search(title):
        return number_of(match["number"]), True, year_of(match)
    for line in lines:
        if match := _KIND_AND_NUMBER.search(line):
            return number_of(match["number"]), False, None
    match = _FIRST_ID.match(title)
    return (number_of(match["number"]) if match else ""), False, None


def year_of(match: re.Match[str]) -> date:
    """The year of a standard, as `PUBLIC` found it."""
    short = match["short"]
    century = "19" if short and int(short) > 50 else "20"
    return date(int(match["year"] or f"{century}{short}"), 1, 1)


def _version(of_itself: Sequence[str], lines: Sequence[str]) -> DocumentVersion:
    """The first version that is stated of the document itself, and not of something it names.

    A title and a page header (`of_itself`) speak of nothing else; in other lines, the word for a
    version has to come first.
    """
    own = [(line, [line]) for line in of_itself]
    for line, parts in (*own, *((line, _beginning_with_version(line)) for line in lines)):
        if _PERIODICAL.search(line):
            continue
        for part in parts:
            if version := next(stated_versions(part), None):
                return version.joined(DocumentVersion(day=_day_in(line)))
    return DocumentVersion()


def _beginning_with_version(line: str) -> list[str]:
    """The parts of a line that begin with the word for a version, or with an ordinal before it."""
    return [part for part in _SEPARATOR.split(line) if _VERSION_FIRST.match(part)]


def _day(lines: Sequence[str]) -> date | None:
    """The date that a label or a page header gives."""
    for line in lines:
        if _DATE_LABEL.search(line) and (day := _day_in(line)):
            return day
    return None


def _day_in(line: str) -> date | None:
    match = _DATE.search(line)
    if match is None or match[0][:4].isdigit():
        return day_of(match[0]) if match else None
    *days, month, year = match[0].lower().split()
    try:
        return date(int(year), _MONTHS[month], int(days[0].strip(".")) if days else 1)
    except ValueError:
        return None


def _replaced(text: str) -> Iterator[str]:
    """What the document says that it replaces as a whole."""
    for match in _REPLACES.finditer(text):
        value = match["labelled"] or match["told"]
        if not match["part"] and not _IN_PART.search(value):
            yield " ".join(value.split())


def _qualifiers(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        for match in _QUALIFIER.finditer(line):
            yield match["name"].lower(), match["value"].strip(" *").lower()
