"""The imported questions on one index, answered, and each answer measured by itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Answer
from rag_assets.answering.assistant import Assistant
from rag_assets.answering.measuring.gold_cited import GoldPlaces, cited_units
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.gold import DocumentGold, DocumentKey
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.questions import Question
from rag_assets.models.hosted import asked_side_by_side

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

NUMBERS = ("coverage", "validity", "support_recall", "support_precision", "completeness")
UNITS = "cited_units"
LOGGED_EVERY = 100


@dataclass(frozen=True, slots=True)
class MeasuredAnswer:
    """The answer to one question, measured."""

    question_id: str
    domain: str
    source: str
    """The document or table of its first gold: answers about one are not independent."""
    gold: str
    outcome: str
    numbers: Mapping[str, float | None]
    """`NUMBERS` and `UNITS`; empty where there is no answer."""


@dataclass(frozen=True, slots=True)
class Bench:
    """An index with the imported questions, and what their answers are measured against."""

    assistant: Assistant
    questions: Sequence[Question]
    documents: Mapping[str, Sequence[DocumentKey]]
    """The documents that each URI of the gold stands for."""

    def answers(self, *, log: Callable[[str], None]) -> list[Answer]:
        """The answer to each question; several at once where a language model writes them."""
        writer = self.assistant.models.writer
        at_once = writer.model.settings.concurrency if writer else 1
        found: list[Answer] = []
        for answer in asked_side_by_side(
            lambda question: self.assistant.ask(question.text), self.questions, at_once=at_once
        ):
            if len(found) % LOGGED_EVERY == 0:
                variant, last = self.assistant.index.variant, len(self.questions)
                log(f"{variant}: answering questions {len(found) + 1:,} to {last:,}")
            found.append(answer)
        return found

    def measured(self, question: Question, answer: Answer) -> MeasuredAnswer:
        """The answer to one question, measured."""
        return _of_one(question, answer, index=self.assistant.index, documents=self.documents)


def bench_of(assistant: Assistant) -> Bench:
    """All imported questions on the index of `assistant`.

    Raises:
        MissingIndexError: The variant has no complete index.
    """
    store, index = assistant.store, assistant.index
    questions = question_sets.brought(question_sets.read_questions(store), assistant.config)
    gold = read_indexed_gold(
        store,
        assistant.config,
        variant=index.variant,
        joint=index.complete_set.joint,
        gold=[piece for question in questions for piece in question.gold],
    )
    return Bench(assistant, questions, gold.documents)


def _of_one(
    question: Question,
    answer: Answer,
    *,
    index: "VariantIndex",
    documents: Mapping[str, Sequence[DocumentKey]],
) -> MeasuredAnswer:
    source, gold = place_of(question)
    numbers: Mapping[str, float | None] = {}
    if answer.outcome != "nothing":
        numbers = numbers_of(question, answer, texts=_texts(index, answer), documents=documents)
    return MeasuredAnswer(
        question_id=question.question_id,
        domain=question.domain,
        source=source,
        gold=gold,
        outcome=answer.outcome,
        numbers=numbers,
    )


def place_of(question: Question) -> tuple[str, str]:
    """The document or table of its first gold, and the page or row of that."""
    first = question.gold[0]
    return first.uri if isinstance(first, DocumentGold) else first.table, first.label


def numbers_of(
    question: Question,
    answer: Answer,
    *,
    texts: Mapping[str, str],
    documents: Mapping[str, Sequence[DocumentKey]],
) -> Mapping[str, float | None]:
    """`NUMBERS` and `UNITS` of one answer.

    Args:
        question: With its gold.
        answer: That was given.
        texts: The text of each unit that it cites.
        documents: What each URI of the gold stands for.
    """
    from rag_assets.answering.measuring.measures import five_numbers

    cited = list(answer.citations)
    places = GoldPlaces(documents, texts)
    found = [places.cites(gold, cited) for gold in question.gold]
    five = replace(five_numbers([answer], units=texts), completeness=sum(found) / len(found))
    return {**asdict(five), UNITS: float(len(cited_units(cited)))}


def _texts(index: "VariantIndex", answer: Answer) -> dict[str, str]:
    cited = {each.cited_unit for each in answer.citations if each.cited_unit is not None}
    rows = index.read(sorted(cited), ["text"]).to_pylist() if cited else []
    return {row["unit_id"]: row["text"] for row in rows}
