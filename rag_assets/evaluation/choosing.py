"""Choosing a retriever for an index by the questions of its users.

The retriever that did best on some questions owes a part of that to luck, the more so the more were
compared. So the choice is nested: made on dev questions, and shown on test questions. Where the
questions have no such splits it is cross-validated: each fold of them shows in turn what the other
folds chose, and questions on one source, or on one piece of gold, are in one fold.

What is compared is searched and scored as `evaluate` does it with a retriever of the config. The
cache of searches sees to it that each signal searches, and a reranker reads a text, only once for
each question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, product
from typing import TYPE_CHECKING, get_args

import numpy as np
import pyarrow as pa

from rag_assets.columns.arrow_sql import where
from rag_assets.config import Config, DomainFusion, Fusion, Retriever, Signal
from rag_assets.evaluation.evaluate import PROBE, asked, depth_of, searched
from rag_assets.evaluation.evaluate import compared as evaluated_in
from rag_assets.evaluation.evaluation_wording import gains
from rag_assets.evaluation.intervals import clusters_of
from rag_assets.evaluation.latency import Latency, latencies
from rag_assets.evaluation.non_inferiority import SMALLEST_MARGIN
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.scores import gold_items_by_level, scored, units_of
from rag_assets.evaluation.summary import (
    ALL_QUESTIONS,
    ALL_SPLITS,
    MAIN_METRICS,
    USUAL_SPLITS,
    main_cutoff,
    summarize,
)
from rag_assets.media.json_lines import QuestionsError
from rag_assets.process.errors import UnanswerableError
from rag_assets.reports.text_tables import Row
from rag_assets.retrieval.arms import Arms
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of_recipe

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

CRITERION = "mrr"
MODES = ("reciprocal_rank", "distribution_based")
RERANKED = ("reranker", "rerank_fusion", "candidates", "first_of_each", "query_fusion")
"""Stages of a retriever that depend on whether it reranks."""
DENSE_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)
"""Weights of the signal `dense`; those that search by words share the rest."""
FOLDS = 5
CHOSEN = "chosen"
"""The name of a retriever that was chosen; with a number where the config has one of that name."""

Fold = tuple[np.ndarray, np.ndarray]
"""Places of the questions that choose, and of those that show the choice."""


@dataclass(frozen=True, slots=True)
class RetrieverChoice:
    """The retriever that was chosen, and what it is worth on questions that did not choose it."""

    serving: str
    """The retriever that answers searches."""
    best: str
    """The one with the highest mean where it was chosen; of equal ones the first."""
    called: str
    """What tables call the retriever that was chosen; in each fold that may be another one."""
    config: Mapping[str, object]
    """What the section `retrieval` of a config says to search with it."""
    protocol: str
    """The questions that chose it, and those that show the choice, in words."""
    cutoff: int
    means: Mapping[str, float]
    """Mean `CRITERION` of each retriever over the questions that chose."""
    summary: Sequence[Row]
    """Means of `serving` and of `called` where the choice is shown: see `summary.SUMMARY`."""
    differences: Sequence[Row]
    """Paired differences of `serving` and `called` in the main metrics: see
    `summary.DIFFERENCES`."""
    latency: Mapping[str, Latency]
    """The latency of `serving` and of `best`."""
    unmeasured: Mapping[str, str]
    """Retrievers that could not search, and why."""
    without_gold: int
    """Questions some of whose gold is not in the index: it counts as missed."""
    margin: float

    @property
    def criterion(self) -> str:
        """The metric that it was chosen by, at `cutoff`."""
        return CRITERION

    @property
    def better(self) -> Sequence[Row]:
        """What shows that `best` is better than `serving`: none if it is not shown."""
        return gains(self.differences, margin=self.margin) if self.best != self.serving else []


def choose_retriever(
    store: Store,
    config: Config,
    questions: Sequence[Question],
    *,
    variant: str,
    arms: Arms,
    log: Callable[[str], None],
) -> RetrieverChoice:
    """Choose a retriever for the index of `variant` by `questions`.

    `arms` are those that the retrievers ask.

    Raises:
        QuestionsError: There are too few to choose by some of them and to show it on others.
        MissingIndexError: The variant has no complete index.
    """
    among = set_of_recipe(store, config, variant)
    index, questions, _, indexed = asked(
        store, config, questions, among=among, variant=variant, arms=arms
    )
    folds, protocol = folds_of(questions)
    serving, depth = config.retrieval.retriever, depth_of(config)
    compared = {
        name: one
        for name, one in candidates(config, signals=_signals(index)).items()
        if name == serving or index.usable(one)
    }
    gold = gold_items_by_level(questions, indexed=indexed, levels=["gold"])
    cutoff, unmeasured = main_cutoff(config.evaluation.cutoffs), dict[str, str]()
    scores = {
        name: scored(
            units_of(rankings, count=len(questions)),
            questions,
            gold,
            retriever=name,
            cutoffs=[cutoff],
            depth=depth,
        )
        for name, rankings in searched(
            index,
            questions,
            compared,
            needed=serving,
            depth=depth,
            unmeasured=unmeasured,
            log=log,
        )
    }
    known = config.retrieval.retrievers
    called = next(name for name in _names_of_chosen() if name not in known)
    best, means, shown = _nested(
        scores, folds, serving=serving, called=called, by=f"{CRITERION}@{cutoff}"
    )
    summary, differences = (
        where(table, domain=ALL_QUESTIONS).to_pylist()
        for table in summarize(
            shown,
            cutoffs=[cutoff],
            depth=depth,
            samples=config.evaluation.bootstrap_samples,
            levels=["gold"],
            splits=[ALL_SPLITS],
        )
    )
    own = compared[best].model_dump(mode="json", exclude_defaults=True)
    return RetrieverChoice(
        serving=serving,
        best=best,
        called=called,
        config={"retriever": best}
        if best in known
        else {"retriever": called, "retrievers": {called: own}},
        protocol=protocol,
        cutoff=cutoff,
        means=means,
        summary=summary,
        differences=[row for row in differences if row["metric"] in MAIN_METRICS],
        latency=latencies(
            index,
            [question.text for question in questions],
            {name: compared[name] for name in (serving, best)},
            top_k=config.retrieval.top_k,
        ),
        unmeasured=unmeasured,
        without_gold=sum(map(bool, scores[serving]["missing"].to_pylist())),
        margin=SMALLEST_MARGIN,
    )


def _names_of_chosen() -> Iterator[str]:
    yield CHOSEN
    yield from (f"{CHOSEN}_{number}" for number in count(2))


def candidates(config: Config, *, signals: Sequence[Signal]) -> dict[str, Retriever]:
    """The retrievers that are compared, by name: what serves, others of the config, and a grid.

    One that asks a language model is only compared where the config has it evaluated, as that costs
    money; so is one with a signal that is not among `signals`. The grid leaves what serves as it is
    but for its signals, their fusion and the reranker, which is that of `reranked` where what
    serves has none.
    """
    known, evaluated = config.retrieval.retrievers, evaluated_in(config)
    named = {
        name: known[name]
        for name in (*evaluated, *known)
        if name in evaluated
        or (set(known[name].signals) <= {*signals} and not _asks_a_model(known[name]))
    }
    serving = known[config.retrieval.retriever]
    grid = _grid(
        serving, signals=signals, reranked=serving if serving.reranker else known["reranked"]
    )
    return named | {name: one for name, one in grid if one not in named.values()}


def _asks_a_model(retriever: Retriever) -> bool:
    fusion = retriever.query_fusion
    return fusion is not None and fusion.rewriter == "model"


def _grid(
    serving: Retriever, *, signals: Sequence[Signal], reranked: Retriever
) -> Iterator[tuple[str, Retriever]]:
    words = [signal for signal in signals if signal != "dense"]
    kept = " and ".join(serving.arms)
    own = f"with {kept}" if kept else "alone"  # with an arm it is another than the signal by itself
    mixes: dict[str, dict[str, object]] = {
        f"{signal} {own}": {"signals": [signal], "signal_fusion": Fusion()} for signal in signals
    }
    for mode, share in product(MODES, DENSE_SHARES) if words and words != [*signals] else ():
        rest = {signal: round((1 - share) / len(words), 3) for signal in words}
        mixes[f"dense {share:g} with {' and '.join([*words, *serving.arms])}, {mode}"] = {
            "signals": ["dense", *words],
            "signal_fusion": {"mode": mode, "weights": {"dense": share, **rest}},
        }
    fusion = serving.query_fusion and serving.query_fusion.model_copy(update={"anchor": None})
    plain = Retriever(query_fusion=fusion)
    orders: dict[str, dict[str, object]] = {"": {name: getattr(plain, name) for name in RERANKED}}
    if reranked.reranker:
        orders[", reranked"] = {name: getattr(reranked, name) for name in RERANKED[:-1]}
    for (order, stages), (name, mix) in product(orders.items(), mixes.items()):
        yield name + order, Retriever.model_validate({**dict(serving), **mix, **stages})


def _signals(index: "VariantIndex") -> list[Signal]:
    """The signals that can search the index."""
    found: list[Signal] = []
    for signal in get_args(Signal):
        with suppress(UnanswerableError):
            alone = Retriever(signals=[signal], domain_fusion=DomainFusion())
            index.without_cache().search_many([PROBE], retriever=alone)
            found.append(signal)
    return found


def folds_of(questions: Sequence[Question]) -> tuple[list[Fold], str]:
    """Which questions choose and which ones show the choice, and a sentence on that.

    Raises:
        QuestionsError: They are too few.
    """
    splits = np.array([question.split for question in questions])
    dev, test = (np.flatnonzero(splits == split) for split in USUAL_SPLITS)
    if len(dev) and len(test):
        shown = f"{len(test):,} test questions"
        return [(dev, test)], f"Chosen on {len(dev):,} dev questions, shown on {shown}"
    first = [question.gold[0] for question in questions]
    clusters = clusters_of([gold.holder for gold in first], [gold.label for gold in first])
    folds = min(FOLDS, clusters.count)
    if folds < 2:
        raise QuestionsError(
            "the gold of all questions lies in one place: to choose a retriever by some questions "
            "and to show it on others, bring questions on several documents or rows"
        )
    fold_of = np.empty(clusters.count, int)
    fold_of[np.argsort(-clusters.sizes, kind="stable")] = np.arange(clusters.count) % folds
    own = fold_of[clusters.codes]
    return [(np.flatnonzero(own != fold), np.flatnonzero(own == fold)) for fold in range(folds)], (
        f"The {len(questions):,} questions have no splits dev and test: cross-validated in {folds} "
        f"folds of {clusters.count:,} clusters by {clusters.by}"
    )


def _nested(
    scores: Mapping[str, pa.Table], folds: Sequence[Fold], *, serving: str, called: str, by: str
) -> tuple[str, dict[str, float], pa.Table]:
    """The retriever that all questions choose which choose at all, with the means of all.

    And the scores of `serving` and of what each fold chose, which is `called` so, on the questions
    that show it.
    """
    names = list(scores)
    values = np.stack([table[by].to_numpy() for table in scores.values()])

    def first(places: np.ndarray) -> tuple[str, dict[str, float]]:
        means = values[:, places].mean(axis=1).round(9)  # equal ones may differ in the last bit
        return names[means.argmax()], dict(zip(names, means.tolist(), strict=True))

    best, means = first(np.unique(np.concatenate([chosen_by for chosen_by, _ in folds])))
    chosen = pa.concat_tables(
        scores[first(chosen_by)[0]].take(shown_on) for chosen_by, shown_on in folds
    )
    shown = scores[serving].take(np.concatenate([shown_on for _, shown_on in folds]))
    place, field = chosen.schema.get_field_index("retriever"), chosen.schema.field("retriever")
    named = chosen.set_column(place, field, pa.array([called] * len(chosen), pa.string()))
    return best, means, pa.concat_tables([shown, named])
