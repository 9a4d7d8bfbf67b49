"""Questions with and without an answer, made from questions with gold.

Each question is asked as it is, and again where it has no answer, without another index:

- `source_gone`: the documents and tables of its gold are left out of the search;
- `value_gone`: its gold is left out, and what is about the same topic stays;
- `neighbour`: it asks for something that is not there (see `neighbours`).

From both of the first, whatever else holds the quote or the value of the answer is left out too. So
they are made only where the gold tells the value in the words of the answer: otherwise nobody could
say whether the rest tells it too.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from rag_assets.answering.drafting import Drafter
from rag_assets.answering.refusal.features import SHOWN, Features, features_of
from rag_assets.answering.refusal.neighbours import names_in, neighbour_of
from rag_assets.answering.refusal.terms import HeldTerms, coverage, terms_of
from rag_assets.config import Retriever, RetrieverName
from rag_assets.evaluation.gold import DocumentGold, RowGold
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.quotes import normalized
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.hits import Results

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

CaseKind: TypeAlias = Literal["answerable", "source_gone", "value_gone", "neighbour"]
KINDS: tuple[CaseKind, ...] = get_args(CaseKind)
UNANSWERABLE = KINDS[1:]

SHORTEST_VALUE = 5
"""Letters and digits from which the value of an answer is looked for: shorter ones stand
everywhere."""
LEAST_VALUE = 3.0
"""Weight of the terms of an answer from which they are looked for one by one."""
MOST_OF_VALUE = 0.75
"""Share of them that tells the value."""
MOST_GOLD = 40
"""Units of gold that are read for a question: it may be a whole document."""
ROUNDS = 6
"""Searches in which units that hold the value are left out, until no hit holds it."""
LOOKED_UP = 20
"""Units that are read to see whether the index holds a text."""


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question whose gold is in the index."""

    question: Question
    gold: frozenset[str]
    """Its units; any of them is enough."""
    source: frozenset[str]
    """All units of the documents and tables of the gold."""
    quotes: tuple[str, ...]
    """Of the gold, in letters and digits: see `normalized`."""
    answer: str
    """Empty where the question has none."""
    is_recognized: bool
    """Whether its gold tells the answer: see `tells`."""
    cluster: str
    """Document or row of its first gold: two questions of one are alike."""

    def is_told_by(self, text: str) -> bool:
        """Whether `text` holds a quote of the gold or tells the value."""
        plain = normalized(text)
        return any(quote in plain for quote in self.quotes) or tells(text, self.answer)


@dataclass(frozen=True, slots=True)
class Sample:
    """A question that was asked, and what came of it."""

    question_id: str
    kind: CaseKind
    cluster: str
    features: Features
    is_answer: bool
    """Whether an answer would be given, were none withheld."""
    is_right: bool
    """Whether it would cite gold; never where there is none."""
    is_found: bool
    """Whether gold is among the hits."""
    domain: str

    @property
    def way(self) -> str:
        """How its answer was made: looked up, or quoted."""
        return "lookup" if self.features.values.get("looked_up") else "extractive"


def gold_questions(
    questions: Sequence[Question],
    *,
    indexed: IndexedGold,
    answers: Mapping[str, str],
    units_of_table: Callable[[str, str], frozenset[str]],
    read_texts: Callable[[Sequence[str]], Sequence[str]],
) -> list[GoldQuestion]:
    """Those of `questions` whose gold is in the index.

    Args:
        questions: With their gold.
        indexed: Where that is in the index.
        answers: The answer of each question that has one, by `question_id`.
        units_of_table: All units of a source's table.
        read_texts: The texts of units.
    """
    found = []
    for question in questions:
        gold = frozenset(unit for piece in question.gold for unit in _units(piece, indexed))
        if not gold:
            continue
        answer = answers.get(question.question_id, "")
        quotes = [piece.quote for piece in question.gold if isinstance(piece, DocumentGold)]
        plain = [normalized(quote) for quote in quotes if quote]
        texts = read_texts(sorted(gold)[:MOST_GOLD])
        found.append(
            GoldQuestion(
                question=question,
                gold=gold,
                source=gold.union(*_sources(question, indexed, units_of_table)),
                quotes=tuple(dict.fromkeys(text for text in plain if text)),
                answer=answer,
                is_recognized=any(tells(text, answer) for text in texts),
                cluster=_cluster(question),
            )
        )
    return found


def samples_of(
    index: "VariantIndex",
    questions: Sequence[GoldQuestion],
    *,
    drafter: Drafter,
    retriever: RetrieverName | Retriever | None = None,
    log: Callable[[str], None] = lambda _line: None,
) -> list[Sample]:
    """What comes of each question, asked as it is and where it has no answer."""
    names = sorted({name for each in questions for name in names_in(each.question.text)})
    found: list[Sample] = []
    for number, each in enumerate(questions, start=1):
        for kind, text, filters, results in _searches(
            index, each, names=names, retriever=retriever
        ):
            looked = drafter.look_up(text, filters=filters)
            drafted = drafter.draft(text, results, looked=looked)
            has_gold = kind == "answerable"
            found.append(
                Sample(
                    question_id=each.question.question_id,
                    kind=kind,
                    cluster=each.cluster,
                    features=features_of(text, results, drafted),
                    is_answer=drafted.is_answer,
                    is_right=has_gold
                    and drafted.is_answer
                    and not each.gold.isdisjoint(drafted.units),
                    is_found=has_gold
                    and not each.gold.isdisjoint(hit.unit_id for hit in results.hits),
                    domain=each.question.domain,
                )
            )
        if number % 50 == 0:
            log(f"refusal: {number:,} of {len(questions):,} questions asked in four ways")
    return found


def tells(text: str, answer: str) -> bool:
    """Whether `text` holds `answer`, or most of its terms where these are not everyday words."""
    plain = normalized(answer)
    if len(plain) >= SHORTEST_VALUE and plain in normalized(text):
        return True
    terms = terms_of(answer)
    if sum(term.weight for term in terms) < LEAST_VALUE:
        return False
    return coverage(terms, [HeldTerms(text)]) >= MOST_OF_VALUE


def _searches(
    index: "VariantIndex",
    asked: GoldQuestion,
    *,
    names: Sequence[tuple[str, str]],
    retriever: RetrieverName | Retriever | None,
) -> Iterator[tuple[CaseKind, str, Filters | None, Results]]:
    """Each way to ask the question: kind, words, what is left out, and what is found then."""
    search = partial(index.search, retriever=retriever, top_k=SHOWN)
    text = asked.question.text
    yield "answerable", text, None, search(text)
    if asked.is_recognized:
        yield "source_gone", text, *_without_value(asked, asked.source, search)
        yield "value_gone", text, *_without_value(asked, asked.gold, search)
    other = neighbour_of(
        text,
        names=names,
        is_known=lambda expression: _is_known(index, expression),
        seed=asked.question.question_id,
    )
    if other is not None:
        yield "neighbour", other, None, search(other)


def _without_value(
    asked: GoldQuestion, left_out: frozenset[str], search: Callable[..., Results]
) -> tuple[Filters, Results]:
    """A filter that leaves out `left_out` and all hits that hold the value, and what it finds."""
    for _ in range(ROUNDS):
        filters = Filters(without=left_out)
        results = search(asked.question.text, filters=filters)
        holding = {hit.unit_id for hit in results.hits if asked.is_told_by(hit.text)}
        if not holding:
            break
        left_out = left_out | holding
    return filters, results


def _is_known(index: "VariantIndex", expression: str) -> bool:
    """Whether a unit that shares words with `expression` holds it as a whole."""
    found = index.search(expression, retriever=Retriever(signals=["bm25"]), top_k=LOOKED_UP)
    whole = re.compile(rf"(?<!\w){re.escape(expression)}(?!\w)", re.IGNORECASE)
    return any(whole.search(hit.text) for hit in found.hits)


def _units(piece: DocumentGold | RowGold, indexed: IndexedGold) -> Iterator[str]:
    """The units of a piece of gold at its own level: of its row, its page, or its document."""
    if isinstance(piece, RowGold):
        yield from indexed.rows.get((piece.table, piece.row_key), ())
        return
    for document in indexed.documents.get(piece.uri, ()):
        for unit, touched in indexed.pages.get(document, {}).items():
            if piece.page is None or not touched or piece.page in touched:
                yield unit


def _sources(
    question: Question,
    indexed: IndexedGold,
    units_of_table: Callable[[str, str], frozenset[str]],
) -> Iterator[frozenset[str]]:
    """The units of each document and each table that the gold lies in."""
    tables = set()
    for piece in question.gold:
        if isinstance(piece, RowGold):
            places = indexed.rows.get((piece.table, piece.row_key), {}).values()
            tables.update((source, table) for source, table, _ in places)
        else:
            for document in indexed.documents.get(piece.uri, ()):
                yield frozenset(indexed.pages.get(document, ()))
    for source, table in sorted(tables):
        yield units_of_table(source, table)


def _cluster(question: Question) -> str:
    first = question.gold[0]
    return first.label if isinstance(first, RowGold) else first.uri
