"""What differs between two answers to one question: units, citations, sentences."""

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue, TypeAdapter

from rag_assets.answering.answer import Answer, Shown
from rag_assets.answering.record.kept import canonical
from rag_assets.citations.kinds import Citation
from rag_assets.identity import canonical_json

_CITATIONS: TypeAdapter[Citation] = TypeAdapter(Citation)


@dataclass(frozen=True, slots=True)
class UnitDifference:
    """A retrieved unit that is not at the same rank with the same text in both answers."""

    unit_id: str
    uri: str
    before: int | None
    """Rank from 1; None where it was not retrieved."""
    after: int | None
    is_changed: bool
    """Whether its text is another one."""


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """What a second answer has otherwise than the first."""

    is_equal: bool
    """Whether both are equal byte for byte: see `kept.canonical`."""
    outcomes: tuple[str, str]
    score: float
    """Largest difference between the scores of a unit in both answers."""
    units: tuple[UnitDifference, ...]
    citations_gone: tuple[str, ...]
    """The citations that only the first answer has, each in words."""
    citations_new: tuple[str, ...]
    sentences: tuple[str, ...]
    """All sentences, those of the first answer alone after `- `, of the second after `+ `."""

    @property
    def record(self) -> Mapping[str, JsonValue]:
        """The difference as JSON."""
        return {
            "equal": self.is_equal,
            "outcome": {"before": self.outcomes[0], "after": self.outcomes[1]},
            "largest_score_difference": self.score,
            "units": [
                {
                    "unit_id": each.unit_id,
                    "uri": each.uri,
                    "before": each.before,
                    "after": each.after,
                    "changed": each.is_changed,
                }
                for each in self.units
            ],
            "citations": {"gone": list(self.citations_gone), "new": list(self.citations_new)},
            "sentences": list(self.sentences),
        }


def difference_of(before: Answer, after: Answer) -> AnswerDifference:
    """What `after` has otherwise than `before`."""
    gone, new = _told_apart(_citations(before), _citations(after))
    return AnswerDifference(
        is_equal=canonical(before) == canonical(after),
        outcomes=(before.outcome, after.outcome),
        score=_score(before, after),
        units=tuple(_units(before, after)),
        citations_gone=gone,
        citations_new=new,
        sentences=tuple(_sentences(before, after)),
    )


def _citations(answer: Answer) -> dict[str, Citation]:
    """Each citation by its canonical JSON."""
    return {
        canonical_json(_CITATIONS.dump_python(each, mode="json")): each for each in answer.citations
    }


def _told_apart(
    first: Mapping[str, Citation], second: Mapping[str, Citation]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The citations that only the first has, and those that only the second has, in words.

    Where both cite the same words of different units, the units are named.
    """
    gone = [each for key, each in first.items() if key not in second]
    new = [each for key, each in second.items() if key not in first]
    both = {each.in_words for each in gone} & {each.in_words for each in new}
    gone_said, new_said = (tuple(_told(each, both) for each in part) for part in (gone, new))
    return gone_said, new_said


def _told(citation: Citation, ambiguous: Collection[str]) -> str:
    said = citation.in_words
    units = ", ".join(unit for unit, _ in citation.units)
    return f"{said} (unit {units})" if said in ambiguous and units else said


def _units(before: Answer, after: Answer) -> Iterator[UnitDifference]:
    first = {each.unit_id: each for each in before.shown}
    second = {each.unit_id: each for each in after.shown}
    for unit_id in dict.fromkeys([*second, *first]):
        one, other = first.get(unit_id), second.get(unit_id)
        if _place(one) != _place(other):
            yield UnitDifference(
                unit_id,
                uri=_uri(other) or _uri(one),
                before=one.rank if one else None,
                after=other.rank if other else None,
                is_changed=bool(one and other and one.text_hash != other.text_hash),
            )


def _score(before: Answer, after: Answer) -> float:
    first = {each.unit_id: each.score for each in before.shown}
    both = [each for each in after.shown if each.unit_id in first]
    return max((abs(each.score - first[each.unit_id]) for each in both), default=0.0)


def _place(shown: Shown | None) -> tuple[int, str] | None:
    return (shown.rank, shown.text_hash) if shown else None


def _uri(shown: Shown | None) -> str:
    return shown.uri if shown else ""


def _sentences(before: Answer, after: Answer) -> Iterator[str]:
    texts = [[sentence.text for sentence in answer.sentences] for answer in (before, after)]
    matcher = difflib.SequenceMatcher(a=texts[0], b=texts[1], autojunk=False)
    for kind, from_one, to_one, from_other, to_other in matcher.get_opcodes():
        if kind == "equal":
            yield from (f"  {text}" for text in texts[0][from_one:to_one])
        else:
            yield from (f"- {text}" for text in texts[0][from_one:to_one])
            yield from (f"+ {text}" for text in texts[1][from_other:to_other])
