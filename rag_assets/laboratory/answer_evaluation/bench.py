"""The imported questions on one index, answered, and each answer measured by itself.

Five numbers are told of answers, never one. The citation recall and precision of ALCE (Gao et al.
2023) are not among them: by rule an answer without citations has the precision 0, and a sentence
that says `I do not know` lowers recall.

Which gold an answer cites is found out from places: a quote that it touches, a page, a document, a
row. Gold is anchored to the source, so a quote is looked for in the texts of the units that are
cited. Letters and digits alone are compared, as in `evaluation.quotes`; of a quote that runs over
the edge of a unit, at least `SHORTEST_PART` of them must be there.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Answer
from rag_assets.answering.assistant import Assistant
from rag_assets.answering.checks.support import check
from rag_assets.citations.citing import sources_of
from rag_assets.citations.kinds import Citation, PlanCitation, RowKeys, Rows, Span
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.gold import DocumentGold, DocumentKey, Gold, RowGold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.questions import Question
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.terms.words import normalized

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

SHORTEST_PART = 15
"""A part of a quote at the edge of a unit has at least so many letters and digits, which tell it
apart."""
NUMBERS = ("coverage", "validity", "support_recall", "support_precision", "completeness")
UNITS = "cited_units"
LOGGED_EVERY = 20


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

    cited = list(answer.citations)
    places = GoldPlaces(documents, texts)
    found = [places.cites(gold, cited) for gold in question.gold]
    five = replace(five_numbers([answer], units=texts), completeness=sum(found) / len(found))
    return {**asdict(five), UNITS: float(len(cited_units(cited)))}


def _texts(index: "VariantIndex", answer: Answer) -> dict[str, str]:
    cited = {each.cited_unit for each in answer.citations if each.cited_unit is not None}
    rows = index.read(sorted(cited), ["text"]).to_pylist() if cited else []
    return {row["unit_id"]: row["text"] for row in rows}


@dataclass(frozen=True, slots=True)
class GoldPlaces:
    """Where the gold of some questions lies."""

    documents: Mapping[str, Sequence[DocumentKey]]
    """The documents that each URI of the gold stands for: see `IndexedGold`."""
    texts: Mapping[str, str]
    """The text of each unit that may be cited."""

    def cites(self, gold: Gold, citations: Iterable[Citation]) -> bool:
        """Whether one of `citations` points to `gold`."""
        if isinstance(gold, RowGold):
            return any(_is_among(gold, citation.rows_cited) for citation in citations)
        return any(
            self._cites_document(gold, citation)
            for citation in citations
            if isinstance(citation, Span)
        )

    def _cites_document(self, gold: DocumentGold, citation: Span) -> bool:
        if (citation.source, citation.uri) not in self.documents.get(gold.uri, ()):
            return False
        if gold.quote is None:
            return gold.page is None or gold.page in citation.pages
        text = self.texts.get(citation.unit_id or "", citation.text)
        start, end = (citation.start, citation.end) if text is not citation.text else (0, len(text))
        return any(first < end and start < last for first, last in places_of(gold.quote, text))


def places_of(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """The places of `quote` in `text`, or of the part of it that is there at an edge."""
    wanted = normalized(quote)
    held, places = _with_places(text)
    if not wanted or not held:
        return
    at = held.find(wanted)
    while at >= 0:
        yield places[at], places[at + len(wanted) - 1] + 1
        at = held.find(wanted, at + 1)
    for length in range(min(len(wanted), len(held)) - 1, SHORTEST_PART - 1, -1):
        if held.endswith(wanted[:length]):
            yield places[len(held) - length], len(text)
            break
    for length in range(min(len(wanted), len(held)) - 1, SHORTEST_PART - 1, -1):
        if held.startswith(wanted[-length:]):
            yield 0, places[length - 1] + 1
            break


def cited_units(citations: Iterable[Citation]) -> set[str]:
    """What a reader has to look at: units, and the result or the absence of a lookup as one each.

    All rows of a plan are one where none of them is cited by itself.
    """
    listed = list(citations)
    units = {each.looked_at for each in listed if not isinstance(each, PlanCitation)}
    for each in listed:
        single = (
            {f"{each.table}|{key}" for key in each.row_keys} if isinstance(each, Rows) else set()
        )
        units |= single & units or {each.looked_at}
    return units


def _is_among(gold: RowGold, rows: RowKeys | None) -> bool:
    """Whether `gold`, whose table is `table` or `source/table`, is one of `rows`."""
    if rows is None or gold.row_key not in rows.keys:
        return False
    return gold.table in (rows.table, f"{rows.source}/{rows.table}")


def _with_places(text: str) -> tuple[str, list[int]]:
    """The letters and digits of `text` as `normalized` has them, and where each one stands."""
    kept: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKC", character).lower():
            if letter.isalnum():
                kept.append(letter)
                places.append(place)
    return "".join(kept), places


@dataclass(frozen=True, slots=True)
class FiveNumbers:
    """What is said of citations, each from 0 to 1; None where there is nothing to measure."""

    coverage: float | None
    """The share of sentences that cite something."""
    validity: float | None
    """The share of citations whose unit is there and was shown."""
    support_recall: float | None
    """The share of sentences that are supported: proven by comparing, or by the judge of the
    config."""
    support_precision: float | None
    """The share of citations that agree with their sentence by themselves."""
    completeness: float | None = None
    """The share of the gold that is cited; for whoever knows it."""


def five_numbers(
    answers: Sequence[Answer], *, units: Mapping[str, str] | None = None
) -> FiveNumbers:
    """The five numbers of answers.

    Args:
        answers: Those without sentences are left out.
        units: Texts of the units by `unit_id`; None to take citations by their word.
    """
    sentences = [sentence for answer in answers for sentence in answer.sentences]
    cited = [(each.text, citation) for each in sentences for citation in each.citations]
    valid = [
        _is_valid(citation, answer, units) for answer in answers for citation in answer.citations
    ]
    return FiveNumbers(
        coverage=_mean([bool(sentence.citations) for sentence in sentences]),
        validity=_mean(valid),
        support_recall=_mean([sentence.is_supported for sentence in sentences]),
        support_precision=_mean(
            [check(text, sources_of([citation], units)).agrees for text, citation in cited]
        ),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _is_valid(citation: Citation, answer: Answer, units: Mapping[str, str] | None) -> bool:
    if citation.cited_unit is None:
        return True
    shown = {each.unit_id for each in answer.shown}
    return not citation.points_nowhere(units) and (not shown or citation.cited_unit in shown)
