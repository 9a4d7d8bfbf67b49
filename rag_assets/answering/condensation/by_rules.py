"""A follow-up completed by rules: entities and conditions of the last question are carried over.

    turns = [Turn("What is the density of 316L?", "8.0 g/cm3")]
    condensed("and for 304?", turns).question         # What is the density of 304?
    condensed("How hard is it?", turns).question      # How hard is 316L?

Three forms are told apart. A *fragment* ("and at 400 °C?") takes the place of what is of its kind
in the last question. A question that *points back* ("how hard is it?") gets what it points to and
the conditions that it does not change. One that *adds* ("only the annealed ones") stands beside
the last question. A question that does none of this is about something else, and stays as it is.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Self

from rag_assets.answering.condensation import words
from rag_assets.answering.condensation.conversation import Condensed, Turn, remembered
from rag_assets.answering.condensation.mentions import BARE, Mention, likeliest_table, mentions_of
from rag_assets.terms.words import JOINING, Vocabulary, folded, terms, words_of

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue

FEW_TERMS = 3
"""A question with no more terms than these, and no name of its own, leans on the one before."""
TABLE_SHARE = 0.5
"""The least share of the terms of a question to a table that are its values and headings."""
SHORT_ANSWER = 12
"""The most words of an answer that is a name, so that the next question may be about it."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Said:
    """The last question, whole, and the names in its answer."""

    question: str
    """The question without its question mark."""
    mentions: tuple[Mention, ...]
    answered: tuple[Mention, ...]
    """Things that a short answer names."""

    @classmethod
    def of(cls, question: str, answer: str, catalogue: "Catalogue | None") -> Self:
        """Read a question and its answer."""
        question = question.rstrip(" ?.!")
        short = answer if len(words_of(answer)) <= SHORT_ANSWER else ""
        things = (each for each in mentions_of(short, catalogue) if each.is_thing)
        return cls(question, mentions_of(question, catalogue), tuple(things))

    def within(self, table: str) -> "Said":
        """The question and its answer, with the mentions in one table alone."""
        return replace(self, mentions=tuple(each.within(table) for each in self.mentions))

    @property
    def is_of_tables(self) -> bool:
        """Whether it asks for a cell: much of it are values and headings of tables."""
        held = [each for each in self.mentions if each.has("value", "heading")]
        share = sum(len(terms(each.text)) for each in held) / max(1, len(terms(self.question)))
        return any(each.has("value") for each in held) and share >= TABLE_SHARE

    @property
    def names_an_answer(self) -> bool:
        """Whether it asked which thing it is, and the answer names it."""
        return words.ASKS_WHICH.search(self.question) is not None and bool(self.answered)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question that may lean on the last one."""

    text: str
    """The text without what such questions begin and end with (`and what about ... then?`)."""
    is_opened: bool
    """Whether it began so."""
    mentions: tuple[Mention, ...]

    @classmethod
    def of(cls, question: str, catalogue: "Catalogue | None") -> Self:
        """Read a question."""
        asked = text = question.rstrip(" ?.!")
        while (opening := words.OPENING.match(text)) and opening.end() < len(text):
            text = text[opening.end() :]
        text = words.CLOSING.sub("", text)
        return cls(text, not asked.startswith(text), mentions_of(text, catalogue))

    def within(self, table: str) -> "FollowUp":
        """The question with the mentions in one table alone."""
        return replace(self, mentions=tuple(each.within(table) for each in self.mentions))

    @property
    def is_fragment(self) -> bool:
        """Whether it is no sentence."""
        return not words.SENTENCE_WORDS & {*words_of(self.text)}

    @property
    def leans(self) -> bool:
        """Whether it needs what was said before."""
        is_long = len(terms(self.text)) > FEW_TERMS
        has_thing = any(each.is_thing for each in self.mentions)
        narrows = bool(words.MORE_OF_IT & {*words_of(self.text)})
        is_open = self.is_opened and not (is_long and has_thing)
        is_thin = not is_long and not has_thing and not words.CHOOSES.match(self.text)
        return self.is_fragment or narrows or is_open or is_thin or bool(self.pointing())

    def pointing(self) -> list[re.Match[str]]:
        """Words that stand for a thing that was named before this question."""
        dummies = [match.span() for match in words.EXISTS.finditer(self.text)]
        found = [
            match
            for match in words.WORD.finditer(self.text)
            if match.group().casefold() in words.POINTING
            and not any(start <= match.start() < end for start, end in dummies)
        ]
        phrases = (words.DEMONSTRATIVE_THAT, words.POINTING_DET)
        found += [each for phrase in phrases for each in phrase.finditer(self.text)]
        return [match for match in found if match.start() < self._end_of_first_clause]

    @property
    def _end_of_first_clause(self) -> int:
        """The place after which a pointing word may stand for a thing named here."""
        own = min((each.end for each in self.mentions if each.is_thing), default=len(self.text))
        clause = words.CLAUSE.search(self.text, own)
        return clause.start() if clause else len(self.text)


def condensed(
    question: str, history: Sequence[Turn], *, catalogue: "Catalogue | None" = None
) -> Condensed:
    """`question` with what it leans on.

    Args:
        question: In English or Swedish.
        history: What was said before, the oldest first; the newest 4,000 tokens are looked at.
        catalogue: Tables whose values are entities.
    """
    question = _single_blanks(question)
    before: Said | None = None
    for turn in remembered(history):
        whole = _completed(_single_blanks(turn.question), before, catalogue).question
        before = Said.of(whole, _single_blanks(turn.answer), catalogue)
    return _completed(question, before, catalogue)


def _completed(text: str, before: Said | None, catalogue: "Catalogue | None") -> Condensed:
    if before is None:
        return Condensed(text, is_follow_up=False)
    asked = FollowUp.of(text, catalogue)
    table = likeliest_table([*before.mentions, *asked.mentions])
    before, asked = before.within(table), asked.within(table)
    if not asked.leans:
        return Condensed(text, is_follow_up=False)
    is_placed = asked.is_fragment and not asked.pointing()
    whole = (_in_its_place if is_placed else _pointing_back)(asked, before)
    return Condensed(whole or text, is_follow_up=whole is not None)


def _in_its_place(asked: FollowUp, before: Said) -> str:
    """The last question with what the fragment names instead of what is of its kind."""
    placed: dict[Mention, Mention] = {}
    things = [each for each in asked.mentions if not _is_property(each)]
    for new in things or asked.mentions:
        if old := _alike(new, [each for each in before.mentions if each not in placed]):
            placed[old] = new
    text = before.question
    for old, new in sorted(placed.items(), key=lambda pair: -pair[0].start):
        text = f"{text[: old.start]}{_in_unit_of(old, new)}{text[old.end :]}"
    rest = _without(asked.text, [(each.start, each.end) for each in placed.values()])
    return _question(text, rest if terms(rest) else "")


def _alike(new: Mention, olds: Sequence[Mention]) -> Mention | None:
    """What `new` can stand in the place of: of its kind, and written most like it."""
    same = [old for old in olds if _shared(old, new) and folded(old.text) != folded(new.text)]
    return max(same, key=lambda old: (_shared(old, new), _likeness(old, new)), default=None)


def _shared(old: Mention, new: Mention) -> int:
    """How many kinds two mentions share; a number without a unit is of the kind of any other."""
    if BARE in new.kinds:
        return int(old.has("number"))
    return len(old.kinds & new.kinds)


def _in_unit_of(old: Mention, new: Mention) -> str:
    """`new`; a number without a unit in the words of the old one."""
    number = _NUMBER.search(new.text)
    if BARE not in new.kinds or number is None:
        return new.text
    return _NUMBER.sub(number.group(), old.text, count=1)


def _likeness(one: Mention, other: Mention) -> float:
    return SequenceMatcher(None, _shape(one.text), _shape(other.text)).ratio()


def _shape(text: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", text)))


def _pointing_back(asked: FollowUp, before: Said) -> str | None:
    """The question with what it points to, and the conditions that it does not change.

    None where the last question has nothing to add.
    """
    points = asked.pointing()
    is_named = True
    if before.names_an_answer and points:
        carried = [each.text for each in before.answered]
    elif before.is_of_tables:
        things = [each for each in before.mentions if not _is_property(each)]
        carried = [each.text for each in things if _alike(each, asked.mentions) is None]
    else:
        is_named = False
        carried = _terms_left(before.question, asked.text)
    carried = [each for each in carried if folded(each) not in folded(asked.text)]
    if not carried:
        return None
    text = asked.text
    if is_named and len(points) == 1 and folded(points[0].group()) not in words.POSSESSIVES:
        text = f"{text[: points[0].start()]}{carried[0]}{text[points[0].end() :]}"
        more = carried[1:]
    else:
        text, more = _without(text, [match.span() for match in points]), carried
    return _question(text, " ".join(more))


def _is_property(mention: Mention) -> bool:
    return mention.has("heading") and not mention.is_thing


def _terms_left(text: str, said: str) -> list[str]:
    """The terms of `text`, as they are written, that `said` has not."""
    known = Vocabulary(terms(said))
    written = re.findall(r"[^\W_]+(?:[-./:+][^\W_]+)*", text)
    left = [word for word in written if folded(word) not in JOINING]
    return [*dict.fromkeys(word for word in left if known.share_of(folded(word)) == 0)]


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return _single_blanks(text).strip(" ,;")


def _question(text: str, more: str) -> str:
    return f"{' '.join(filter(None, (text, more)))}?"


def _single_blanks(text: str) -> str:
    return " ".join(text.split())
