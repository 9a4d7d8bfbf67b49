"""The last question and the one after it, and whether that one leans on it."""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from rag_assets.answering.condensation import words
from rag_assets.answering.condensation.mentions import Mention, mentions_of
from rag_assets.terms.words import terms, words_of

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue

FEW_TERMS = 3
"""A question with no more terms than these, and no name of its own, leans on the one before."""
TABLE_SHARE = 0.5
"""The least share of the terms of a question to a table that are its values and headings."""
SHORT_ANSWER = 12
"""The most words of an answer that is a name, so that the next question may be about it."""


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
