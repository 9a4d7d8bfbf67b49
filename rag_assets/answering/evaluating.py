"""Measuring answers of one variant on the imported questions, without a model that judges.

Five numbers, never one (see `checks.measures`), each with its interval over clusters of questions;
what was not answered is counted apart. Where index, questions and settings are those of the
evaluation that lies there, it is returned as it is; if a language model failed in some of its
answers, these alone are asked for again, as all other calls are kept.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import TypeAdapter

from rag_assets import identity, schemas
from rag_assets.answering import extracting
from rag_assets.answering.answer import Answer
from rag_assets.answering.asking import ask
from rag_assets.answering.assistants import open_assistants
from rag_assets.answering.citations import Cell, Span
from rag_assets.answering.generation.writing import Writer
from rag_assets.answering.gold_cited import GoldPlaces, cited_units
from rag_assets.answering.refusal.deciding import RefusalRule
from rag_assets.answering.refusal.fitting import fit
from rag_assets.change.data_versions import current_version
from rag_assets.config import Config
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation import results
from rag_assets.evaluation.evaluate import fingerprint_of
from rag_assets.evaluation.gold import DocumentGold, DocumentKey
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.intervals import cluster_bootstrap, clusters_of
from rag_assets.evaluation.questions import Question
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.complete_sets import CompleteSet, set_of_recipe

if TYPE_CHECKING:
    from rag_assets.answering.lookup.catalogue import Catalogue
    from rag_assets.answering.lookup.planner import Planner
    from rag_assets.retrieval.search import VariantIndex

REVISION = 2
"""Raise it when the same tables should give other answers or numbers."""
FILE = "answer_evaluation.json"
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
    mode: str | None
    numbers: Mapping[str, float | None]
    """`NUMBERS` and `UNITS`; empty where there is no answer."""


@dataclass(frozen=True, slots=True)
class AnswerNumber:
    """A mean over answers, with its 95 % interval."""

    mean: float
    low: float | None
    """None with fewer than two clusters; `high` likewise."""
    high: float | None


@dataclass(frozen=True, slots=True)
class AnswersOfDomain:
    """The answers to the questions of one domain."""

    domain: str
    questions: int
    outcomes: Mapping[str, int]
    """How many were answered, how many got the closest evidence, how many nothing."""
    clusters: int
    numbers: Mapping[str, AnswerNumber]
    """Of those that were answered."""


@dataclass(frozen=True, slots=True)
class AnswerEvaluation:
    """How well the questions were answered."""

    made_from: str
    """Fingerprint of index, questions and settings: while it is the same, nothing is done."""
    variant: str
    retriever: str
    evaluated_at: str
    """ISO 8601, UTC."""
    seconds: float
    domains: Sequence[AnswersOfDomain]
    answers: Sequence[MeasuredAnswer]
    failed: int = 0
    """Answers that a language model should have written: it failed, so the sources are quoted."""
    may_pass: int = 0
    """Answers behind which a call failed in a way that may pass: these are asked for again."""
    spending: Mapping[str, int | float | str] = field(default_factory=dict)
    """What the language model took: see `models.language.spending`; empty without one."""


def evaluate_answers(
    store: Store, config: Config, *, variant: str, log: Callable[[str], None]
) -> AnswerEvaluation | None:
    """Answer the imported questions by a variant and measure that; None if there are none.

    Raises:
        MissingIndexError: The variant has no complete index.
    """
    if not store.count(schemas.QUESTIONS_TABLE):
        return None
    rule = fitted_rule(store, config, variant=variant, log=log)
    with (
        store.lock(f"answer_evaluation__{variant}", log=log),
        open_assistants(config) as assistants,
    ):
        writer, planner = assistants.writer, assistants.planner
        complete_set = set_of_recipe(store, config, variant)
        made_from = _made_from(
            store,
            config,
            variant=variant,
            complete_set=complete_set,
            rule=rule,
            models=[
                *([writer.fingerprint] if writer else []),
                *([planner.identity] if planner else []),
            ],
        )
        file = file_of(store, variant)
        known = _read(file)
        if known and known.made_from == made_from and not known.may_pass:
            return known
        started = time.monotonic()
        bench = open_bench(store, config, variant, complete_set=complete_set)
        answers = bench.answers(writer, planner, log=log)
        measured = list(map(bench.measured, bench.questions, answers))
        found = AnswerEvaluation(
            made_from=made_from,
            variant=variant,
            retriever=config.retrieval.retriever,
            evaluated_at=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - started, 3),
            domains=_by_domain(measured, samples=config.evaluation.bootstrap_samples),
            answers=measured,
            failed=sum(map(is_failure, answers)),
            may_pass=sum(bool(each.generation and each.generation.may_pass) for each in answers),
            spending=writer.model.spending.record() if writer else {},
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(asdict(found), indent=1))
        return found


def fitted_rule(
    store: Store, config: Config, *, variant: str, log: Callable[[str], None]
) -> RefusalRule:
    """The rule of refusal for the answers of a variant; fitted where something changed.

    Raises:
        MissingIndexError: The variant has no complete index.
    """
    return fit(store, config, variant, log=log)


def file_of(store: Store, variant: str) -> Path:
    """Where the evaluation of a variant's answers is kept."""
    return results.folder_of(store, variant) / FILE


def _read(file: Path) -> AnswerEvaluation | None:
    """The evaluation in `file`; None if there is none, or it is of another release."""
    try:
        return TypeAdapter(AnswerEvaluation).validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None


def is_failure(answer: Answer) -> bool:
    """Whether a language model was asked and failed, so that the sources were quoted instead."""
    return answer.generation is not None and not answer.generation.is_written


def _made_from(
    store: Store,
    config: Config,
    *,
    variant: str,
    complete_set: CompleteSet,
    rule: RefusalRule,
    models: Sequence[str],
) -> str:
    searched = fingerprint_of(
        store,
        config,
        variant=variant,
        complete_set=complete_set,
        questions=current_version(store, schemas.QUESTIONS_TABLE, key="question_id"),
        retrievers=[config.retrieval.retriever],
    )
    return identity.fingerprint(
        REVISION,
        extracting.REVISION,
        searched,
        rule.made_from,
        config.answering.hits,
        config.answering.sentences,
        *models,
    )


@dataclass(frozen=True, slots=True)
class Bench:
    """An index with the imported questions, and what their answers are measured against."""

    store: Store
    config: Config
    index: "VariantIndex"
    catalogue: "Catalogue"
    questions: Sequence[Question]
    documents: Mapping[str, Sequence[DocumentKey]]
    """The documents that each URI of the gold stands for."""

    def answers(
        self, writer: Writer | None, planner: "Planner | None", *, log: Callable[[str], None]
    ) -> list[Answer]:
        """The answer to each question; several at once where a language model writes them."""
        at_once = writer.model.settings.concurrency if writer else 1
        found: list[Answer] = []
        for answer in asked_side_by_side(
            partial(self._answer, writer=writer, planner=planner), self.questions, at_once=at_once
        ):
            if len(found) % LOGGED_EVERY == 0:
                variant, last = self.index.variant, len(self.questions)
                log(f"{variant}: answering questions {len(found) + 1:,} to {last:,}")
            found.append(answer)
        return found

    def _answer(
        self, question: Question, *, writer: Writer | None, planner: "Planner | None"
    ) -> Answer:
        return ask(
            self.index,
            question.text,
            store=self.store,
            config=self.config,
            catalogue=self.catalogue,
            writer=writer,
            planner=planner,
        )

    def measured(self, question: Question, answer: Answer) -> MeasuredAnswer:
        """The answer to one question, measured."""
        return _of_one(question, answer, index=self.index, documents=self.documents)


def open_bench(store: Store, config: Config, variant: str, *, complete_set: CompleteSet) -> Bench:
    """The index of a variant with all imported questions.

    Raises:
        MissingIndexError: The variant has no complete index.
    """
    from rag_assets.answering.lookup.arm import LookupArm
    from rag_assets.retrieval.opening import open_index

    tables = LookupArm(store, config)
    index = open_index(store, config, variant, complete_set=complete_set, arms={"lookup": tables})
    questions = question_sets.read_questions(store)
    gold = read_indexed_gold(
        store,
        config,
        variant=variant,
        joint=complete_set.joint,
        gold=[piece for question in questions for piece in question.gold],
    )
    catalogue = tables.catalogue(complete_set)
    return Bench(store, config, index, catalogue, questions, gold.documents)


def _of_one(
    question: Question,
    answer: Answer,
    *,
    index: "VariantIndex",
    documents: Mapping[str, Sequence[DocumentKey]],
) -> MeasuredAnswer:
    first = question.gold[0]
    numbers: Mapping[str, float | None] = {}
    if answer.outcome == "answered":
        numbers = numbers_of(question, answer, texts=_texts(index, answer), documents=documents)
    return MeasuredAnswer(
        question_id=question.question_id,
        domain=question.domain,
        source=first.uri if isinstance(first, DocumentGold) else first.table,
        gold=first.label,
        outcome=answer.outcome,
        mode=answer.mode,
        numbers=numbers,
    )


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
    from rag_assets.answering.checks.measures import five_numbers

    cited = list(answer.citations)
    places = GoldPlaces(documents, texts)
    found = [places.cites(gold, cited) for gold in question.gold]
    five = replace(five_numbers([answer], units=texts), completeness=sum(found) / len(found))
    return {**asdict(five), UNITS: float(len(cited_units(cited)))}


def _texts(index: "VariantIndex", answer: Answer) -> dict[str, str]:
    cited = {
        each.unit_id
        for each in answer.citations
        if isinstance(each, Span | Cell) and each.unit_id is not None
    }
    rows = index.read(sorted(cited), ["text"]).to_pylist() if cited else []
    return {row["unit_id"]: row["text"] for row in rows}


def _by_domain(measured: Sequence[MeasuredAnswer], *, samples: int) -> list[AnswersOfDomain]:
    domains = sorted({each.domain for each in measured})
    return [
        _of_domain(domain, [each for each in measured if each.domain == domain], samples=samples)
        for domain in domains
    ]


def _of_domain(domain: str, measured: Sequence[MeasuredAnswer], *, samples: int) -> AnswersOfDomain:
    outcomes = [each.outcome for each in measured]
    answered = [each for each in measured if each.numbers]
    clusters = clusters_of([each.source for each in answered], [each.gold for each in answered])
    return AnswersOfDomain(
        domain=domain,
        questions=len(measured),
        outcomes={outcome: outcomes.count(outcome) for outcome in sorted({*outcomes})},
        clusters=clusters.count if answered else 0,
        numbers={
            name: number
            for name in (*NUMBERS, UNITS)
            if (number := _mean_of(name, answered, samples=samples)) is not None
        },
    )


def _mean_of(name: str, answered: Sequence[MeasuredAnswer], *, samples: int) -> AnswerNumber | None:
    """The mean of one number over the answers that have it; None if none has."""
    having = [(value, each) for each in answered if (value := each.numbers[name]) is not None]
    if not having:
        return None
    clusters = clusters_of([e.source for _, e in having], [e.gold for _, e in having])
    values = np.array([[value] for value, _ in having], float)
    found = cluster_bootstrap(values, clusters, samples=samples)
    low, high = float(found.low[0]), float(found.high[0])
    is_known = not np.isnan(low)
    return AnswerNumber(
        float(found.means[0]), low if is_known else None, high if is_known else None
    )
