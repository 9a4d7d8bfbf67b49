"""Verifying answers, ours and those from anywhere: a verdict for each sentence.

`verify` says of an answer of ours what was compared of each sentence. `verdicts_of` says more, also
of cited texts (see `cited_texts`): which number or name no source has and where the closest is,
which sentences cite nothing and which citations point nowhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Answer
from rag_assets.answering.checks.judging import SupportJudge
from rag_assets.answering.checks.support import Checked, check
from rag_assets.citations.cited_sources import Source
from rag_assets.citations.citing import sources_of
from rag_assets.citations.kinds import PlanCitation
from rag_assets.citations.sentences import PROVEN, Compared, Sentence
from rag_assets.table_lookup.sentences.retelling import is_told

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue
from collections.abc import Iterator
from difflib import SequenceMatcher

from rag_assets.answering.checks.atoms import Atom
from rag_assets.answering.checks.sources import SourcePlace, places_of
from rag_assets.terms.numbers import Number

LIKE = 0.6
"""Two names are close from this share of common letters on."""

CHANGED = "computed again, its tables give something else"


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence with what it cites, whatever form it came in."""

    text: str
    sources: tuple[Source, ...]
    nowhere: tuple[str, ...] = ()
    """The citations that point nowhere, as they are written."""
    checked: Checked | None = None
    """What was compared, where it says just what its citations say: see `sentences.retelling`."""

    @property
    def cites(self) -> bool:
        """Whether it cites anything at all."""
        return bool(self.sources or self.nowhere)


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A number, a name or another atom of a sentence that no source has."""

    kind: str
    text: str
    closest: "Closest | None"


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """What was compared of a sentence, and what speaks against it."""

    text: str
    compared: Compared
    judged: bool | None
    """What the judge says; None where none was asked, or it gave no answer."""
    uncovered: tuple[Uncovered, ...]
    reasons: tuple[str, ...]
    """What else speaks against it, in words."""
    nowhere: tuple[str, ...]
    cites: bool

    @property
    def is_supported(self) -> bool:
        """Whether its sources are known to say it: by what was compared, or by the judge."""
        return not self.is_bad and (self.compared in PROVEN or self.judged is True)

    @property
    def is_bad(self) -> bool:
        """Whether something speaks against it, it cites nothing, or what is not there."""
        against = self.uncovered or self.reasons or self.judged is False
        return bool(against or self.nowhere or not self.cites)


def verify(
    answer: Answer,
    units: Mapping[str, str] | None = None,
    *,
    catalogue: "Catalogue | None" = None,
    judge: SupportJudge | None = None,
) -> Answer:
    """`answer` with what was compared of each sentence, and what the judge says of it.

    Args:
        answer: An answer of any outcome.
        units: Texts of the units by `unit_id`, as they are in the index; None to take the words
            that the citations quote as they are.
        catalogue: The tables, to compute again what is cited as computed; without them the result
            that the citation keeps is compared.
        judge: Says of what is not proven by comparing whether its sources support it.
    """
    verdicts = verdicts_of(cited_sentences(answer, units, catalogue=catalogue), judge=judge)
    sentences = (
        replace(sentence, compared=verdict.compared, judged=verdict.judged)
        for sentence, verdict in zip(answer.sentences, verdicts, strict=True)
    )
    return replace(answer, sentences=tuple(sentences))


def cited_sentences(
    answer: Answer, units: Mapping[str, str] | None, *, catalogue: "Catalogue | None" = None
) -> list[CitedSentence]:
    """The sentences of an answer of ours with what they cite."""
    return [_cited(sentence, units, catalogue) for sentence in answer.sentences]


def verdicts_of(
    sentences: Sequence[CitedSentence], *, judge: SupportJudge | None = None
) -> list[SentenceVerdict]:
    """A verdict for each sentence."""
    return [_verdict(sentence, judge) for sentence in sentences]


def _cited(
    sentence: Sentence, units: Mapping[str, str] | None, catalogue: "Catalogue | None"
) -> CitedSentence:
    nowhere = tuple(each.name for each in sentence.citations if each.points_nowhere(units))
    is_our_own = not nowhere and is_told(sentence.text, sentence.citations)
    return CitedSentence(
        sentence.text,
        sources_of(sentence.citations, units),
        nowhere,
        checked=_told(sentence, catalogue) if is_our_own else None,
    )


def _told(sentence: Sentence, catalogue: "Catalogue | None") -> Checked:
    """What is compared of a sentence that says just what it cites."""
    from rag_assets.table_lookup.verifying import verify_again

    plans = [each for each in sentence.citations if isinstance(each, PlanCitation)]
    if not plans:
        return Checked("cell")
    if catalogue is None:
        return Checked("numbers and names")
    if all(verify_again(plan, catalogue) == "same" for plan in plans):
        return Checked("computed again")
    return Checked("nothing", faults=(CHANGED,))


def _verdict(sentence: CitedSentence, judge: SupportJudge | None) -> SentenceVerdict:
    checked = sentence.checked or check(sentence.text, sentence.sources)
    judged = None
    if judge is not None and checked.agrees and not checked.is_proven:
        judged = judge.judge(sentence.text, sentence.sources)
    uncovered = tuple(
        Uncovered(match.atom.kind, match.atom.text, closest_to(match.atom, sentence.sources))
        for match in checked.missing
    )
    return SentenceVerdict(
        text=sentence.text,
        compared=checked.compared,
        judged=judged,
        uncovered=uncovered,
        reasons=checked.faults if sentence.sources else (),
        nowhere=sentence.nowhere,
        cites=sentence.cites,
    )


@dataclass(frozen=True, slots=True)
class Closest:
    """The nearest thing to an atom in the sources."""

    text: str
    where: str
    """The sentence or cell that has it."""
    source: str
    """The name of its source."""


def closest_to(atom: Atom, sources: Sequence[Source]) -> Closest | None:
    """What is closest to `atom`; None where nothing is near."""
    places = places_of(sources)
    near = [*(_numbers(atom.number, places) if atom.number else _names(atom, places))]
    if not near:
        return None
    _, text, place = min(near, key=lambda each: each[0])
    heading = f"{place.heading.text}: " if place.heading else ""
    name = sources[place.source].name
    return Closest(text, f"{heading}{place.passage.text}", name)


def _numbers(
    stated: Number, places: Sequence[SourcePlace]
) -> Iterator[tuple[float, str, SourcePlace]]:
    """Numbers in like units, each with how far it is from the stated one."""
    for place in places:
        for number in place.numbers:
            one, other = number.measure, stated.measure
            if (one is None) != (other is None) or (one and other and not one.is_like(other)):
                continue
            own = one.in_base(number.values[0]) if one else float(number.values[0])
            value = other.in_base(stated.values[0]) if other else float(stated.values[0])
            yield abs(own - value) / max(abs(own), abs(value), 1e-300), number.text, place


def _names(atom: Atom, places: Sequence[SourcePlace]) -> Iterator[tuple[float, str, SourcePlace]]:
    """Words that look like the atom, each with how unlike they are."""
    for place in places:
        for term in place.passage.terms:
            likeness = SequenceMatcher(None, atom.key.casefold(), term.key).ratio()
            if likeness >= LIKE:
                yield 1 - likeness, term.text, place
