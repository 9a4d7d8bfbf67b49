"""The atoms of a sentence: the smallest things in it that can be right or wrong.

Numbers with unit, sign and comparator; dates; identifiers (grades, standards, formulas, names of
samples); names; quotations; and, in `heading: value`, a cell. A name of several words is one atom,
and so is a name with its number: `Eaton 5E`, `RTX 5090`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rag_assets.answering.checks.analysed_passages import Passage, Term, is_word, key_of, passage_of
from rag_assets.terms import compared_words
from rag_assets.terms.dates import MONTHS, days_of
from rag_assets.terms.formulas import SYMBOLS
from rag_assets.terms.numbers import Number

AtomKind: TypeAlias = Literal[
    "number", "date", "identifier", "element", "name", "quotation", "cell"
]  # fmt: skip

_QUOTED = re.compile(
    r"[\"\u201c\u201d\u00bb]([^\"\u201c\u201d\u00bb\u00ab]{8,})[\"\u201d\u00ab\u00bb]"
)
_LETTER_BEHIND = re.compile(r"\d+[A-Za-z]")
_CELL = re.compile(r"\s*(?:[-*\u2022]\s+)?([^:.!?]{2,60}):\s+(\S.{0,200}?)\.?\s*")
_FIRST_YEAR, _LAST_YEAR = 1400, 2100


@dataclass(frozen=True, slots=True)
class Atom:
    """One thing in a sentence that can be right or wrong."""

    kind: AtomKind
    text: str
    start: int
    end: int
    key: str
    """The atom as it is compared; a date is `2024-03-01`, a cell is its heading."""
    number: Number | None = None
    parts: tuple["Atom", ...] = ()
    """The words of a name of several."""

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

    @property
    def is_counted(self) -> bool:
        """Whether it is a number in words without a unit: `three samples` may be counted."""
        return self.number is not None and self.number.is_word and self.number.measure is None


def atoms_of(sentence: str) -> tuple[Atom, ...]:
    """The atoms of `sentence`, in its order."""
    passage = passage_of(sentence)
    dates = [*dates_of(sentence)]
    found = [
        *dates,
        *(
            Atom("number", number.text, number.start, number.end, number.text, number)
            for number in passage.numbers
            if not _is_within(number, dates)
        ),
        *(
            atom
            for term in passage.terms
            if not _is_within(term, dates) and (atom := _of_term(term, passage))
        ),
    ]
    named = [*_whole_names(sorted(found, key=lambda atom: atom.start), sentence)]
    quoted = [
        Atom("quotation", match[1], *match.span(1), folded(match[1]))
        for match in _QUOTED.finditer(sentence)
    ]
    if match := _CELL.fullmatch(sentence):
        quoted.append(Atom("cell", match[0].strip(), *match.span(), match[1].strip()))
    return tuple(sorted([*named, *quoted], key=lambda atom: (atom.start, atom.end)))


def _is_within(part: Number | Term, dates: Sequence[Atom]) -> bool:
    """Whether it is a part of one of `dates`: `2024-03-01` is no name."""
    return any(date.start <= part.start < date.end for date in dates)


def dates_of(text: str) -> Iterator[Atom]:
    """The days that `text` names."""
    for day in days_of(text):
        written = text[day.start : day.end]
        if day.first == day.last and not written.isdigit():
            yield Atom("date", written, day.start, day.end, str(day.first))


def _of_term(term: Term, passage: Passage) -> Atom | None:
    if term.lemma in SYMBOLS:
        return Atom("element", term.text, term.start, term.end, term.lemma)
    if term.is_identifier:
        return Atom("identifier", term.text, term.start, term.end, term.key)
    if is_name(term, passage):
        return Atom("name", term.text, term.start, term.end, term.key)
    return None


def _whole_names(atoms: Sequence[Atom], sentence: str) -> Iterator[Atom]:
    """`atoms`, those that are one name together as one."""
    run: list[Atom] = []
    for atom in atoms:
        if run and not (_goes_on(run, atom) and sentence[run[-1].end : atom.start] == " "):
            yield _joined(run, sentence)
            run = []
        run.append(atom)
    if run:
        yield _joined(run, sentence)


def _goes_on(run: Sequence[Atom], atom: Atom) -> bool:
    """Whether `atom` is the next word of the name that `run` begins."""
    if not all(each.kind in ("name", "identifier") for each in run):
        return False
    number = atom.number
    if number is None:
        return atom.kind in ("name", "identifier")
    is_plain = number.measure is None or _LETTER_BEHIND.fullmatch(number.text) is not None
    is_single = number.of_range is None and number.comparator == "=" and not number.is_word
    return is_plain and is_single and not atom.is_year


def _joined(run: Sequence[Atom], sentence: str) -> Atom:
    if len(run) == 1:
        return run[0]
    start, end = run[0].start, run[-1].end
    text = sentence[start:end]
    return Atom("name", text, start, end, key_of(text), parts=tuple(run))


def is_name(term: Term, passage: Passage) -> bool:
    """Whether a word is a proper name: a capital inside the sentence, or of no dictionary."""
    if not term.text[:1].isupper() or term.key in compared_words.FILLERS or term.key in MONTHS:
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
