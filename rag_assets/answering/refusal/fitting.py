"""Fitting the rule of refusal on the user's own questions.

The questions of the split `dev` are asked in four ways (see `cases`). A curve gives each answer the
probability that it cites gold, by folds that share no document, and the threshold is chosen so that
the promise holds (see `promise`). With too few questions nothing is promised.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from rag_assets import identity, schemas
from rag_assets.answering import extracting
from rag_assets.answering.drafting import Drafter
from rag_assets.answering.lookup import arm
from rag_assets.answering.lookup.arm import arms_of
from rag_assets.answering.refusal.cases import (
    GoldQuestion,
    Sample,
    gold_questions,
    samples_of,
)
from rag_assets.answering.refusal.curve import fit_curve, known_names, matrix_of, out_of_fold
from rag_assets.answering.refusal.deciding import RefusalRule, file_of, validity
from rag_assets.answering.refusal.measures import (
    Measured,
    auroc,
    auroc_by_kind,
    choices,
    risk_curve,
)
from rag_assets.answering.refusal.promise import Answers, Promise, fewest_answers, promise_of
from rag_assets.change.data_versions import current_version
from rag_assets.columns.sql import quoted
from rag_assets.config import Answering, Config, RetrieverName
from rag_assets.evaluation.questions import Question, read_questions
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.complete_sets import CompleteSet, set_of_recipe

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

REVISION = 2
"""Raise it when the same questions should give another rule."""

SPLIT = "dev"
MOST_QUESTIONS = 500
"""Questions that are asked; of more, a fixed part is taken."""
FEWEST_QUESTIONS = 30
"""With fewer nothing is fitted."""
FLOOR = 0.05
"""Share of the questions with gold among their hits that may be told that nothing was found."""


def fit(
    store: Store,
    config: Config,
    variant: str,
    *,
    retriever: RetrieverName | None = None,
    log: Callable[[str], None] = lambda _line: None,
) -> RefusalRule:
    """The rule of refusal of `variant`; the one that is there if nothing changed since.

    Args:
        store: Holds the state.
        config: As it is now.
        variant: Its index is searched.
        retriever: The one that answers; that of the config unless given.
        log: Told of progress.

    Raises:
        MissingIndexError: The variant has no complete index.
    """
    from rag_assets.answering.lookup.catalogue import catalogue_of
    from rag_assets.retrieval.opening import open_index

    name = retriever or config.retrieval.retriever
    settings = config.retrieval.retrievers[name]
    with store.lock(f"refusal__{variant}", log=log):
        complete_set = set_of_recipe(store, config, variant)
        made_from = identity.fingerprint(
            REVISION,
            [extracting.REVISION, arm.REVISION, config.answering.sentences],
            validity(complete_set, settings, within=config.retrieval),
            [[pin.data_version, pin.files] for pin in complete_set.unit_pins],
            current_version(store, schemas.QUESTIONS_TABLE, key="question_id")
            if store.exists(schemas.QUESTIONS_TABLE)
            else "",
            [config.answering.risk, config.answering.confidence, config.answering.unanswerable],
        )
        known = RefusalRule.read(store, complete_set, settings, within=config.retrieval)
        if known is not None and known.made_from == made_from:
            return known
        index = open_index(
            store, config, variant, complete_set=complete_set, arms=arms_of(store, config)
        )
        asked = chosen(questions_with_gold(store, config, index, split=SPLIT))
        drafter = Drafter(
            store, complete_set, catalogue_of(store, complete_set), config.answering.sentences
        )
        samples = samples_of(index, asked, drafter=drafter, retriever=name, log=log)
        rule = fit_rule(samples, asked=config.answering, made_from=made_from)
        file = file_of(store, complete_set, settings, within=config.retrieval)
        write_atomically(file, rule.to_json())
        return rule


def chosen(questions: Sequence[GoldQuestion]) -> list[GoldQuestion]:
    """At most `MOST_QUESTIONS` of `questions`, the same ones every time."""

    def place(each: GoldQuestion) -> str:
        return hashlib.sha256(each.question.question_id.encode()).hexdigest()

    return sorted(questions, key=place)[:MOST_QUESTIONS]


def questions_with_gold(
    store: Store, config: Config, index: "VariantIndex", *, split: str | None
) -> list[GoldQuestion]:
    """The imported questions of a split, or of all, whose gold is in the index.

    Questions that ask for a superseded version of a document are left out.
    """
    from rag_assets.evaluation.indexed_gold import read_indexed_gold
    from rag_assets.evaluation.superseded_gold import told_apart

    every = [each for each in read_questions(store) if split in (None, each.split)]
    if not every:
        return []
    gold = [piece for each in every for piece in each.gold]
    joint = index.complete_set.joint
    indexed = read_indexed_gold(store, config, variant=index.variant, joint=joint, gold=gold)
    measured, _ = told_apart(index, every, indexed=indexed)
    return gold_questions(
        measured,
        indexed=indexed,
        answers=_answers(store, measured),
        units_of_table=cache(partial(_units_of_table, store, index.complete_set)),
        read_texts=lambda units: index.read(units, ["text"])["text"].to_pylist(),
    )


def fit_rule(samples: Sequence[Sample], *, asked: Answering, made_from: str) -> RefusalRule:
    """The rule that `samples` allow.

    Args:
        samples: Of questions that are kept for fitting.
        asked: The risk, the confidence, and the share of questions without an answer.
        made_from: See `RefusalRule`.
    """
    count = len({sample.question_id for sample in samples})
    answers = [sample for sample in samples if sample.is_answer]
    right = np.array([sample.is_right for sample in answers], dtype=bool)
    if count < FEWEST_QUESTIONS or right.all() or not right.any():
        needed = max(FEWEST_QUESTIONS, fewest_answers(asked.risk, confidence=asked.confidence))
        promise = Promise(asked.risk, asked.confidence, None, count, max(needed, count + 1))
        return RefusalRule(made_from, None, 0.0, promise, None)
    every_weight = weights_of(samples, unanswerable=asked.unanswerable)
    weights = every_weight[[sample.is_answer for sample in samples]]
    rows = [sample.features.values for sample in answers]
    clusters = [sample.cluster for sample in answers]
    names = known_names(rows)
    scores = out_of_fold(rows, right, weights=weights, names=names, clusters=clusters)
    promise = promise_of(
        Answers.ordered(
            scores,
            wrong=~right,
            weights=weights,
            clusters=clusters,
            ways=[sample.way for sample in answers],
        ),
        risk=asked.risk,
        confidence=asked.confidence,
        questions=count,
    )
    return RefusalRule(
        made_from=made_from,
        curve=fit_curve(rows, right, weights=weights, names=names),
        floor=_floor(answers, scores, promise),
        promise=promise,
        measured=_measured(samples, scores, weights=every_weight, threshold=promise.threshold),
    )


def weights_of(samples: Sequence[Sample], *, unanswerable: float) -> np.ndarray:
    """(samples,) what each counts: `unanswerable` is the share of questions without an answer.

    A question as it is counts 1. The ways in which it has no answer share what it stands for.
    """
    ways = Counter(each.question_id for each in samples if each.kind != "answerable")
    share = unanswerable / (1 - unanswerable)
    return np.array(
        [1.0 if each.kind == "answerable" else share / ways[each.question_id] for each in samples]
    )


def best_feature(
    samples: Sequence[Sample], right: np.ndarray, *, weights: np.ndarray
) -> tuple[str, float]:
    """The feature that tells right answers from wrong ones best by itself, and its AUROC."""
    rows = [sample.features.values for sample in samples]
    names = known_names(rows)
    columns = np.nan_to_num(matrix_of(rows, names)).T
    values = [auroc(column, right, weights=weights) or 0.0 for column in columns]
    best = int(np.argmax(values))
    return names[best], values[best]


def _floor(samples: Sequence[Sample], scores: np.ndarray, promise: Promise) -> float:
    found = scores[[sample.is_found for sample in samples]]
    floor = float(np.quantile(found, FLOOR)) if found.size else 0.0
    return floor if promise.threshold is None else min(floor, promise.threshold)


def _measured(
    samples: Sequence[Sample],
    scores: np.ndarray,
    *,
    weights: np.ndarray,
    threshold: float | None,
) -> Measured:
    """The measures of a rule.

    Args:
        samples: All of them; what is no answer is never given.
        scores: (answers,) of those that are answers.
        weights: (samples,) what each counts.
        threshold: Of the promise.
    """
    is_answer = np.array([sample.is_answer for sample in samples])
    answers = [sample for sample in samples if sample.is_answer]
    right = np.array([sample.is_right for sample in samples])
    kinds = [sample.kind for sample in answers]
    of_answers = weights[is_answer]
    points, aurc = risk_curve(scores, right[is_answer], weights=of_answers)
    name, value = best_feature(answers, right[is_answer], weights=of_answers)
    given = np.zeros(len(samples), dtype=bool)
    given[is_answer] = threshold is not None and scores >= threshold
    return Measured(
        kinds=Counter(sample.kind for sample in samples),
        right=float(right[[sample.kind == "answerable" for sample in samples]].mean()),
        choices=None if threshold is None else choices(given, right=right, weights=weights),
        auroc=auroc(scores, right[is_answer], weights=of_answers) or 0.0,
        by_kind=auroc_by_kind(scores, right[is_answer], weights=of_answers, kinds=kinds),
        best_feature=name,
        best_feature_auroc=value,
        curve=points,
        aurc=aurc,
    )


def _answers(store: Store, questions: Sequence[Question]) -> dict[str, str]:
    wanted = {question.question_id for question in questions}
    rows = store.read(schemas.QUESTIONS_TABLE, columns=["question_id", "answer"]).to_pylist()
    return {
        row["question_id"]: row["answer"]
        for row in rows
        if row["answer"] and row["question_id"] in wanted
    }


def _units_of_table(
    store: Store, complete_set: CompleteSet, source: str, table: str
) -> frozenset[str]:
    joint = complete_set.joint
    where = f"source = {quoted(source)} AND `table` = {quoted(table)}"
    found = store.read(joint.table, columns=["unit_id"], where=where, version=joint.version)
    return frozenset(found["unit_id"].to_pylist())
