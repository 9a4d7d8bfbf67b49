"""The atoms of a sentence: the smallest things in it that can be right or wrong.

Numbers with unit, sign and comparator; dates; identifiers (grades, standards, formulas, names of
samples); names; quotations; words of polarity and condition; and, in `heading: value`, a cell.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.answering.checks import words
from rag_assets.answering.checks.chemical_elements import SYMBOLS
from rag_assets.answering.checks.numbers import Number
from rag_assets.answering.checks.passages import Passage, Term, is_word, key_of, passage_of

AtomKind: TypeAlias = Literal[
    "number", "date", "identifier", "element", "name", "quotation", "polarity", "universal",
    "limit", "cell",
]  # fmt: skip

_QUOTED = re.compile(
    r"[\"\u201c\u201d\u00bb]([^\"\u201c\u201d\u00bb\u00ab]{8,})[\"\u201d\u00ab\u00bb]"
)
_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_MONTHS = "|".join(sorted(words.MONTHS, key=len, reverse=True))
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\.?\s+({_MONTHS})\s+(\d{{4}})\b", re.I)
_MONTH_FIRST = re.compile(rf"\b({_MONTHS})\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.I)
_CELL = re.compile(r"\s*(?:[-*\u2022]\s+)?([^:.!?\d]{2,60}):\s+(\S.{0,200}?)\.?\s*")
_FIRST_YEAR, _LAST_YEAR = 1400, 2100


@dataclass(frozen=True, slots=True)
class Atom:
    """One thing in a sentence that can be right or wrong."""

    kind: AtomKind
    text: str
    start: int
    end: int
    key: str
    """As it is compared; of a date `2024-03-01`, of a cell its heading."""
    number: Number | None = None

    @property
    def is_year(self) -> bool:
        """Whether it is a number that reads like a year."""
        number = self.number
        return (
            number is not None
            and number.measure is None
            and number.step == 1
            and len(self.text) == 4
            and _FIRST_YEAR <= number.values[0] <= _LAST_YEAR
        )


def atoms_of(sentence: str) -> tuple[Atom, ...]:
    """The atoms of `sentence`, in its order."""
    passage = passage_of(sentence)
    dates = [*dates_of(sentence)]
    found = [
        *dates,
        *(
            Atom("number", number.text, number.start, number.end, number.text, number)
            for number in passage.numbers
            if not any(date.start <= number.start < date.end for date in dates)
        ),
        *(
            Atom("quotation", match[1], *match.span(1), folded(match[1]))
            for match in _QUOTED.finditer(sentence)
        ),
        *(atom for term in passage.terms if (atom := _of_term(term, passage))),
    ]
    if match := _CELL.fullmatch(sentence):
        found.append(Atom("cell", match[0].strip(), *match.span(), match[1].strip()))
    return tuple(sorted(found, key=lambda atom: (atom.start, atom.end)))


def dates_of(text: str) -> Iterator[Atom]:
    """The days that `text` names."""
    for match in _ISO_DATE.finditer(text):
        yield _date(match, match[1], int(match[2]), match[3])
    for match in _DAY_FIRST.finditer(text):
        yield _date(match, match[3], words.MONTHS[match[2].casefold()], match[1])
    for match in _MONTH_FIRST.finditer(text):
        yield _date(match, match[3], words.MONTHS[match[1].casefold()], match[2])


def _date(match: re.Match[str], year: str, month: int, day: str) -> Atom:
    return Atom("date", match[0], *match.span(), f"{year}-{month:02d}-{int(day):02d}")


def _of_term(term: Term, passage: Passage) -> Atom | None:
    kind = _kind(term, passage)
    key = term.lemma if kind == "element" else term.key
    return Atom(kind, term.text, term.start, term.end, key) if kind else None


def _kind(term: Term, passage: Passage) -> AtomKind | None:
    if term.lemma in SYMBOLS:
        return "element"
    if term.is_identifier:
        return "identifier"
    if term.key in words.NEGATORS or term.key.endswith("n't"):
        return "polarity"
    if term.key in words.UNIVERSALS:
        return "universal" if _is_universal(term, passage) else None
    if term.key in words.LIMITERS:
        return None if _stands_before_number(term, passage) else "limit"
    return "name" if is_name(term, passage) else None


def _is_universal(term: Term, passage: Passage) -> bool:
    """Whether a word says `without exception`: not in `a third of all`, nor in `every 10 s`."""
    if passage.text[: term.start].rstrip().casefold().endswith((" of", " av", " in")):
        return False
    if term.key not in words.DISTRIBUTIVE:
        return True
    return not _stands_before_number(term, passage)


def _stands_before_number(term: Term, passage: Passage) -> bool:
    return any(0 < number.start - term.end <= 2 for number in passage.numbers)


def is_name(term: Term, passage: Passage) -> bool:
    """Whether a word is a proper name: a capital inside the sentence, or of no dictionary."""
    if not term.text[:1].isupper() or term.key in words.FILLERS or term.key in words.MONTHS:
        return False
    before = passage.text[: term.start].rstrip(" \"'\u201c([")
    if before and before[-1] not in ".!?:":
        return True
    following = next((each for each in passage.terms if each.start > term.start), None)
    if following and following.start - term.end == 1 and following.text[:1].isupper():
        return not following.is_identifier
    return passage.language != "sv" and "-" not in term.key and not is_word(key_of(term.text))


def folded(text: str) -> str:
    """Letters and digits of `text` in lower case, for comparing quotations."""
    return "".join(character for character in key_of(text) if character.isalnum())
