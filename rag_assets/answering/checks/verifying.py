"""Verifying answers, ours and those from anywhere: a verdict for each sentence.

`verify` fills in the support of an answer of ours. `verdicts_of` says more, also of cited texts
(see `cited_texts`): which atom no source has and where the closest is, which sentences cite nothing
and which citations point nowhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag_assets.answering.answer import Answer, Compared, Sentence
from rag_assets.answering.checks.citing import named, points_nowhere, sources_of
from rag_assets.answering.checks.closest import Closest, closest_to
from rag_assets.answering.checks.sources import Source
from rag_assets.answering.checks.support import Checked, Support, check, word_for_word
from rag_assets.answering.lookup.retelling import is_told


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence with what it cites, whatever form it came in."""

    text: str
    sources: tuple[Source, ...]
    nowhere: tuple[str, ...] = ()
    """Its citations that point nowhere, as they are written."""
    is_told: bool = False
    """Whether it says just what its citations say: see `lookup.retelling`."""

    @property
    def cites(self) -> bool:
        """Whether it cites anything at all."""
        return bool(self.sources or self.nowhere)


@dataclass(frozen=True, slots=True)
class Uncovered:
    """An atom of a sentence that no source has."""

    kind: str
    text: str
    closest: Closest | None


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """What the sources say of a sentence."""

    text: str
    support: Support
    score: float
    """From 0 to 1: see `support`."""
    uncovered: tuple[Uncovered, ...]
    reasons: tuple[str, ...]
    """What else speaks against it, in words."""
    nowhere: tuple[str, ...]
    cites: bool


_REASONS = {
    "cells": "the value stands under another heading in the row",
    "neighbours": "the value belongs to something else in the source",
    "split": "it joins a value of one source with a name of another",
    "polarity": "it negates what the source says, or says what the source negates",
    "direction": "it says more where the source says less, or the other way round",
    "universals": "it says all or always, and the source does not",
    "dropped": "it leaves out conditions of the source",
}
_FROM = 0.45
"""Strength of a sign from which it is told."""


def verify(answer: Answer, units: Mapping[str, str] | None = None) -> Answer:
    """`answer` with what was compared of each sentence.

    Of a sentence that cites nothing, nothing is. A computed value is compared with the result that
    its citation keeps; whether that result still holds is for `lookup.verifying`.

    Args:
        answer: Of any outcome.
        units: Texts of the units by `unit_id`, as they are in the index; None to take the words
            that the citations quote as they are.
    """
    verdicts = verdicts_of(cited_sentences(answer, units))
    sentences = (
        replace(sentence, compared=compared_of(verdict, sentence, units))
        for sentence, verdict in zip(answer.sentences, verdicts, strict=True)
    )
    return replace(answer, sentences=tuple(sentences))


def compared_of(
    verdict: SentenceVerdict, sentence: Sentence, units: Mapping[str, str] | None
) -> Compared:
    """What was compared of a sentence, by its verdict."""
    if verdict.support != "full":
        return "nothing"
    if not says_just_what_it_cites(sentence, units):
        return "numbers and names"
    kinds = {citation.kind for citation in sentence.citations}
    if kinds == {"span"}:
        return "verbatim"
    return "cell" if kinds <= {"span", "cell"} else "computed again"


def cited_sentences(answer: Answer, units: Mapping[str, str] | None) -> list[CitedSentence]:
    """The sentences of an answer of ours with what they cite."""
    return [_cited(sentence, units) for sentence in answer.sentences]


def verdicts_of(sentences: Sequence[CitedSentence]) -> list[SentenceVerdict]:
    """A verdict for each sentence."""
    return [
        _verdict(
            sentence,
            word_for_word() if sentence.is_told else check(sentence.text, sentence.sources),
        )
        for sentence in sentences
    ]


def _cited(sentence: Sentence, units: Mapping[str, str] | None) -> CitedSentence:
    nowhere = tuple(named(each) for each in sentence.citations if points_nowhere(each, units))
    return CitedSentence(
        sentence.text,
        sources_of(sentence.citations, units),
        nowhere,
        is_told=says_just_what_it_cites(sentence, units),
    )


def says_just_what_it_cites(sentence: Sentence, units: Mapping[str, str] | None) -> bool:
    """Whether a sentence of ours has the words of its citations, none of which points nowhere."""
    is_there = not any(points_nowhere(each, units) for each in sentence.citations)
    return is_there and is_told(sentence.text, sentence.citations)


def _verdict(sentence: CitedSentence, checked: Checked) -> SentenceVerdict:
    uncovered = tuple(
        Uncovered(match.atom.kind, match.atom.text, closest_to(match.atom, sentence.sources))
        for match in checked.missing
        if match.atom.kind not in ("universal", "limit")
    )
    reasons = [reason for sign, reason in _REASONS.items() if getattr(checked.signs, sign) >= _FROM]
    if checked.is_other_language and sentence.sources:
        reasons.append("it is in another language than its sources: only its atoms were compared")
    return SentenceVerdict(
        text=sentence.text,
        support=checked.support,
        score=round(checked.score, 3),
        uncovered=uncovered if sentence.sources else (),
        reasons=tuple(reasons) if sentence.sources else (),
        nowhere=sentence.nowhere,
        cites=sentence.cites,
    )
