"""What people are asked to label, so that judges can be held against them.

Items come from kept answers and from the evaluation of what serves: sentences of a language model
with what they cite; the first unit that each retriever found for a question; the first units of two
retrievers, or two answers to one question, side by side; and whatever a judge was asked about.
Nobody is told who wrote or found what.

An item is disputed where those who scored it before differ: the checks and the judge of answers,
the gold of a question and the retriever that put another unit first, two judges of an evaluation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import pyarrow.compute as pc

from rag_assets.answering.answer import Answer
from rag_assets.answering.record.answer_rows import select, text_of
from rag_assets.answering.record.database import AnswersFile, answers_of
from rag_assets.citations.cited_sources import Source
from rag_assets.citations.cited_sources import text_of as source_text
from rag_assets.citations.citing import sources_of
from rag_assets.config import Config
from rag_assets.evaluation import results
from rag_assets.identity import fingerprint
from rag_assets.questions.from_answers import COLUMNS, unit_text
from rag_assets.questions.judging.kept_items import kept_items
from rag_assets.questions.judging.labels import (
    FIRST,
    SECOND,
    ItemLabel,
    LabelTask,
    is_swapped,
    keep,
    next_of,
    read_labels,
)
from rag_assets.questions.judging.verdicts import ANSWER, JudgedItem, pair_of
from rag_assets.questions.labelling import Label, Screen, ScreenItem, ToLabel
from rag_assets.questions.matching_labels import ToMatch, sentences_to_match
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store
from rag_assets.terms.words import folded

MOST_ANSWERS = 2_000
"""At most so many kept answers are looked at, the newest."""
CHECKS, JUDGE, GOLD, RETRIEVER = "the checks", "the judge of answers", "the gold", "a retriever"
HOLDS_ANSWER = 2.0
"""The highest score of a hit."""
LEFT, RIGHT = "left", "right"
HEADS = ("sentence", "question", "prompt")
"""The part of an item that is asked about, above the others."""


@dataclass(frozen=True, slots=True)
class ToJudge:
    """An item, with what is known of it."""

    item: JudgedItem
    about: str
    """What stands for its question."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """What rules and judges said of it before, by who did."""
    cited: tuple[Source, ...] = ()
    """The sources that a sentence cites."""

    @property
    def is_disputed(self) -> bool:
        """Whether these differ."""
        return len({*self.scores.values()}) > 1


@dataclass(frozen=True, slots=True)
class Labelling:
    """What one person labels: each item once, in the order of `labels.next_of`."""

    task: LabelTask
    items: Mapping[str, ToJudge]
    file: Path
    labeller: str

    def said(self) -> list[ItemLabel]:
        """What this person said until now."""
        return read_labels(self.file).on(self.task.of, self.labeller)

    def left(self, said: Iterable[ItemLabel]) -> int:
        """Items that are not labelled yet."""
        return len(self.items.keys() - {each.item for each in said})

    def next(self, said: Sequence[ItemLabel]) -> tuple[str, bool] | None:
        """Id of the item that is asked next, and whether it is drawn; None if all are labelled."""
        disputed = {name for name, each in self.items.items() if each.is_disputed}
        return next_of(self.items, said=said, disputed=disputed)

    def screens(self, said: list[ItemLabel]) -> Iterator[ToLabel]:
        """What is asked, one after the other; what is kept is added to `said`."""
        while found := self.next(said):
            item, drawn = found
            yield self.screen(item), partial(self._keep, item, drawn, said)

    def screen(self, item: str) -> Screen:
        """What is shown of an item; the sides of a pair change places by chance."""
        parts = self.items[item].item.parts
        head = next(name for name in HEADS if name in parts)
        answers = [text for name, text in parts.items() if name.startswith(ANSWER)]
        if is_swapped(item, self.labeller):
            answers.reverse()
        shown = [(name, parts[name]) for name in self.task.parts if parts.get(name)]
        shown += zip((LEFT, RIGHT), answers, strict=False)
        items = [ScreenItem(name, text, text) for name, text in shown if name != head]
        sides = {FIRST: LEFT, SECOND: RIGHT}
        choices = {key: sides.get(label, label) for key, label in self.task.choices.items()}
        return Screen(parts[head], items, choices, can_reword=False, note=self.task.asks)

    def keep(self, item: str, given: str, *, drawn: bool) -> ItemLabel:
        """Keep what was said of an item, as it is called on its screen.

        Raises:
            ValueError: There is no such label.
            KeyError: There is no such item.
        """
        sides = (SECOND, FIRST) if is_swapped(item, self.labeller) else (FIRST, SECOND)
        label = dict(zip((LEFT, RIGHT), sides, strict=True)).get(given, given)
        about = self.items[item].about
        return keep(
            self.file, self.task, item, label, labeller=self.labeller, about=about, drawn=drawn
        )

    def _keep(self, item: str, drawn: bool, said: list[ItemLabel], decision: Label) -> None:
        said.append(self.keep(item, decision.name, drawn=drawn))


@dataclass(frozen=True, slots=True)
class _First:
    """What a retriever found first for a question."""

    question: str
    text: str
    source: str
    is_gold: bool


@dataclass(frozen=True, slots=True)
class ItemSources:
    """Where items come from."""

    file: AnswersFile
    """The file of the kept answers."""
    store: Store
    """The store with the evaluations."""
    every_source: frozenset[str]
    """Names of all sources: what is not known to be from one may be from any."""
    index: Callable[[], VariantIndex]
    """Opens the index that serves."""

    @classmethod
    def of(cls, config: Config, index: Callable[[], VariantIndex]) -> "ItemSources":
        """The sources of items in the state that `config` names."""
        store = Store.of(config)
        return cls(answers_of(store), store, frozenset(config.source_names), index)

    def items(self, task: LabelTask) -> dict[str, ToJudge]:
        """All items that a task is about, by their ids."""
        kind = task.kind
        found = [ToJudge(item, _about(about)) for about, item in kept_items(self.store, kind)]
        if kind == "sentence":
            found += self._sentences()
        elif kind == "hit":
            found += self._hits()
        elif kind == "pair":
            found += [*self._pairs(), *self._answers()]
        return {each.item.item_id: each for each in found if task.applies_to(each.item)}

    def to_match(self) -> list[ToMatch]:
        """The sentences of kept answers, each with all units that its answer was written from."""
        written = [each for each in self._kept() if each.generation and each.shown]
        return [*sentences_to_match(written, self.index(), about=_about)] if written else []

    def _kept(self) -> list[Answer]:
        if not self.file.exists:
            return []
        with self.file.reading() as connection:
            kept = select(connection, where="recalls IS NULL", values=[], limit=MOST_ANSWERS)
        return [each.answer for each in kept]

    def _sentences(self) -> Iterator[ToJudge]:
        """Sentences that a language model wrote, with the words that they cite."""
        for answer in self._kept():
            for sentence in answer.sentences:
                cited = sources_of(sentence.citations) if sentence.is_written else ()
                if not cited:
                    continue
                origins = [{each.origin} if each.origin else self.every_source for each in cited]
                item = JudgedItem(
                    "sentence",
                    {"source": "\n\n".join(map(source_text, cited)), "sentence": sentence.text},
                    frozenset().union(*origins),
                    _writers(answer),
                )
                said = {CHECKS: float(sentence.compared != "nothing")}
                if sentence.judged is not None:
                    said[JUDGE] = float(sentence.judged)
                yield ToJudge(item, _about(answer), said, cited)

    def _hits(self) -> Iterator[ToJudge]:
        """What each retriever found first for each question."""
        for first in self._first_units():
            for each in first:
                parts = {"question": each.question, "context": each.text}
                item = JudgedItem("hit", parts, frozenset({each.source}))
                said = {RETRIEVER: HOLDS_ANSWER, GOLD: HOLDS_ANSWER * each.is_gold}
                yield ToJudge(item, _about(each.question), said)

    def _pairs(self) -> Iterator[ToJudge]:
        """The first units of two retrievers, where they differ."""
        for first in self._first_units():
            for one, other in pairwise(first):
                sources = frozenset({one.source, other.source})
                yield from _pair(one.question, one.text, other.text, sources)

    def _answers(self) -> Iterator[ToJudge]:
        """Two answers to one question, one after the other, where they differ."""
        groups: dict[str, dict[str, Answer]] = {}
        for answer in self._kept():
            texts = groups.setdefault(answer.read_as or answer.question, {})
            texts.setdefault(text_of(answer), answer)
        for question, texts in groups.items():
            for one, other in pairwise(texts):
                writers = _writers(texts[one]) | _writers(texts[other])
                yield from _pair(question, one, other, self.every_source, writers)

    def _first_units(self) -> Iterable[Sequence[_First]]:
        index = self.index()
        folder = results.folder_of(self.store, index.variant)
        rankings = results.rankings_in(folder)
        if rankings is None:
            return []
        keys = ["question_id", "retriever"]
        first = rankings.filter(pc.equal(rankings["rank"], 1)).select([*keys, "unit_id", "source"])
        scores = results.questions_in(folder)
        scored = scores.filter(pc.equal(scores["level"], "gold"))
        joined = first.join(
            scored.select([*keys, "question", "first_rank"]), keys, join_type="inner"
        )
        rows = joined.sort_by([(key, "ascending") for key in keys]).to_pylist()
        units = index.read(sorted({row["unit_id"] for row in rows}), COLUMNS).to_pylist()
        texts = {unit["unit_id"]: unit_text(unit) for unit in units}
        found: dict[str, list[_First]] = {}
        for row in rows:
            if text := texts.get(row["unit_id"]):
                one = _First(row["question"], text, row["source"], row["first_rank"] == 1)
                found.setdefault(row["question_id"], []).append(one)
        return found.values()


def _pair(
    question: str,
    one: str,
    other: str,
    sources: frozenset[str],
    writers: frozenset[str] = frozenset(),
) -> Iterator[ToJudge]:
    if one != other and one and other:
        parts = {"question": question, **pair_of(one, other)}
        yield ToJudge(JudgedItem("pair", parts, sources, writers), _about(question))


def _writers(answer: Answer) -> frozenset[str]:
    return frozenset({answer.generation.identity} if answer.generation else ())


def _about(question: str | Answer) -> str:
    """What stands for a question; case and blanks do not count."""
    text = question if isinstance(question, str) else question.question
    return fingerprint(folded(text))[:16]
