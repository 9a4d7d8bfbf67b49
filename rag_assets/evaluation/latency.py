"""How long a retriever takes for one question, whatever was asked before.

Each question is asked alone in a warm process: models are loaded, vectors and shown columns are in
memory. Nothing of the question is known: no result is read from the cache, and before each question
the models forget the queries and texts that they have seen. What a language model was asked before
is not asked again; the time that it took then is counted. So a time depends neither on the order
of retrievers nor on an earlier evaluation. Retrievers take turns, so that other work on the machine
falls on all of them alike; the turns are shuffled, since a slow retriever leaves the processor's
caches full of its own data to the next one.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from rag_assets.config import Retriever
from rag_assets.retrieval.filters import Filters

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

QUESTIONS = 20
"""Questions that are timed, spread evenly over those that there are."""
SECONDS = 5.0
WARM_UP = 2
"""Searches before the clock starts: units are kept in memory from the second one on."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds for one question."""

    p50: float
    """Median over the timed questions, all stages together."""
    p95: float
    stages: Mapping[str, float]
    """Median of each stage."""
    questions: int
    """The number of questions that were timed."""


def latencies(
    index: "VariantIndex",
    questions: Sequence[str],
    retrievers: Mapping[str, Retriever],
    *,
    top_k: int,
    filters: Filters | None = None,
    most: int = QUESTIONS,
) -> dict[str, Latency]:
    """The latency of each of `retrievers` on at most `most` of `questions`, at least one.

    A retriever that has taken `SECONDS` is timed on no further question.
    """
    plain = index.without_cache()
    step = max(len(questions) // most, 1)
    taken: defaultdict[str, list[dict[str, float]]] = defaultdict(list)

    def ask(name: str, question: str) -> dict[str, float]:
        retriever = retrievers[name]
        plain.forget(retriever)
        started = time.perf_counter()
        results = plain.search(question, retriever=retriever, top_k=top_k, filters=filters)
        spent = {**results.seconds, "": time.perf_counter() - started}
        if results.rewritten:
            for name in ("rewrite", ""):
                spent[name] += results.rewritten.kept_seconds
        return spent

    for name in retrievers:
        for _ in range(WARM_UP):
            ask(name, questions[0])
    turns, shuffle = sorted(retrievers), Random(0).shuffle
    for question in questions[::step][:most]:
        shuffle(turns)
        for name in turns:
            if sum(one[""] for one in taken[name]) < SECONDS:
                taken[name].append(ask(name, question))
    return {name: _summed_up(taken[name]) for name in retrievers}


def _summed_up(taken: Sequence[Mapping[str, float]]) -> Latency:
    stages = dict.fromkeys(stage for one in taken for stage in one if stage)
    whole = [1_000 * one[""] for one in taken]
    return Latency(
        p50=median(whole),
        p95=float(np.percentile(whole, 95)),
        stages={stage: 1_000 * median(one.get(stage, 0.0) for one in taken) for stage in stages},
        questions=len(taken),
    )
