"""What people are asked to label, so that judges can be held against them.

Items come from kept answers and from the evaluation of what serves: sentences of a language model
with what they cite; the first unit that each retriever found for a question; the first units of two
retrievers, or two answers to one question, side by side. Nobody is told who wrote or found what.

An item is disputed where those who scored it before differ: the checks and the judge of answers,
the gold of a question and the retriever that put another unit first, two judges of an evaluation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pyarrow.compute as pc

from rag_assets.answering.checks.citing import sources_of
from rag_assets.answering.checks.judging import text_of as source_text
from rag_assets.answering.record.database import AnswersFile
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.answering.record.rows import select, text_of
from rag_assets.citations.cited_sources import Source
from rag_assets.evaluation import results
from rag_assets.evaluation.judges.labels import (
    FIRST,
    SECOND,
    SKIPPED,
    ItemLabel,
    LabelTask,
    is_swapped,
    keep,
    next_of,
    read_labels,
)
from rag_assets.evaluation.judges.verdicts import ItemKind, JudgedItem
from rag_assets.identity import fingerprint
from rag_assets.questions.from_answers import COLUMNS, unit_text
from rag_assets.questions.labelling import Label, Screen, ScreenItem, ToLabel
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store
from rag_assets.terms.words import folded

MOST_ANSWERS = 2_000
"""Kept answers that are looked at, the newest."""
CHECKS, JUDGE, GOLD, RETRIEVER = "the checks", "the judge of answers", "the gold", "a retriever"
SIDES = {FIRST: "left", SECOND: "right"}


@dataclass(frozen=True, slots=True)
class ToJudge:
    """An item, with what is known of it."""

    item: JudgedItem
    about: str
    """What stands for its question."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """What rules and judges said of it before, by who did."""
    cited: tuple[Source, ...] = ()
    """Of a sentence, what it cites."""

    @property
    def is_disputed(self) -> bool:
        """Whether these differ."""
        return len({*self.scores.values()}) > 1


def items_of(
    kind: ItemKind, file: AnswersFile, *, store: Store, index: VariantIndex | None
) -> dict[str, ToJudge]:
    """All items of a kind, by their ids.

    Args:
        kind: `sentence`, `hit` or `pair`.
        file: The kept answers.
        store: Has the evaluations.
        index: What serves; None where sentences alone are wanted.
    """
    found: list[ToJudge] = []
    kept = []
    if file.exists:
        with file.reading() as connection:
            kept = select(connection, where="true", values=[], limit=MOST_ANSWERS)
    if kind == "sentence":
        found += _sentences(kept)
    elif index is not None:
        first = _first_units(store, index)
        found += _hits(first) if kind == "hit" else [*_pairs(first), *_answers(kept)]
    return {each.item.item_id: each for each in found}


def _sentences(kept: Iterable[KeptAnswer]) -> Iterator[ToJudge]:
    """Sentences that a language model wrote, with the words that they cite."""
    for answer in (each.answer for each in kept if each.answer.outcome == "written"):
        for sentence in answer.sentences:
            if cited := sources_of(sentence.citations):
                source = "\n\n".join(map(source_text, cited))
                item = JudgedItem("sentence", {"source": source, "sentence": sentence.text})
                said = {CHECKS: float(sentence.compared != "nothing")}
                if sentence.judged is not None:
                    said[JUDGE] = float(sentence.judged)
                yield ToJudge(item, _about(answer.question), said, cited)


@dataclass(frozen=True, slots=True)
class _First:
    """What a retriever found first for a question."""

    question: str
    text: str
    is_gold: bool


def _first_units(store: Store, index: VariantIndex) -> list[list[_First]]:
    """For each question of the evaluation the first units of its retrievers."""
    folder = results.folder_of(store, index.variant)
    rankings = results.rankings_in(folder)
    if rankings is None:
        return []
    first = rankings.filter(pc.equal(rankings["rank"], 1)).select(
        ["question_id", "retriever", "unit_id"]
    )
    scores = results.questions_in(folder)
    scored = scores.filter(pc.equal(scores["level"], "gold")).select(
        ["question_id", "retriever", "question", "first_rank"]
    )
    rows = first.join(scored, ["question_id", "retriever"], join_type="inner")
    rows = rows.sort_by([("question_id", "ascending"), ("retriever", "ascending")]).to_pylist()
    units = index.read(sorted({row["unit_id"] for row in rows}), COLUMNS).to_pylist()
    texts = {unit["unit_id"]: unit_text(unit) for unit in units}
    found: dict[str, list[_First]] = {}
    for row in rows:
        if text := texts.get(row["unit_id"]):
            one = _First(row["question"], text, row["first_rank"] == 1)
            found.setdefault(row["question_id"], []).append(one)
    return [*found.values()]


def _hits(first: Iterable[Sequence[_First]]) -> Iterator[ToJudge]:
    for of_question in first:
        for each in of_question:
            item = JudgedItem("hit", {"question": each.question, "context": each.text})
            said = {RETRIEVER: 1.0, GOLD: float(each.is_gold)}
            yield ToJudge(item, _about(each.question), said)


def _pairs(first: Iterable[Sequence[_First]]) -> Iterator[ToJudge]:
    """The first units of two retrievers, where they differ."""
    for of_question in first:
        for one, other in pairwise(of_question):
            yield from _pair(one.question, one.text, other.text)


def _answers(kept: Iterable[KeptAnswer]) -> Iterator[ToJudge]:
    """Two answers to one question, one after the other, where they differ."""
    groups: dict[str, list[str]] = {}
    for answer in (each.answer for each in kept):
        groups.setdefault(answer.read_as or answer.question, []).append(text_of(answer))
    for question, texts in groups.items():
        for one, other in pairwise(dict.fromkeys(texts)):
            yield from _pair(question, one, other)


def _pair(question: str, one: str, other: str) -> Iterator[ToJudge]:
    if one != other and one and other:
        item = JudgedItem("pair", {"question": question, "answer": one, "other": other})
        yield ToJudge(item, _about(question))


def _about(question: str) -> str:
    return fingerprint(folded(question))[:16]
