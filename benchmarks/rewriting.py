"""Queries that are rewritten by rules or by a language model, against the query alone.

usage: rewriting.py [--state FOLDER]
       RAG_ASSETS_TEST_ENDPOINT=http://localhost:8000/v1 RAG_ASSETS_TEST_MODEL=NAME rewriting.py

Builds the index of materials_demo and asks its questions under the fixed budgets of paper P2: ten
units retrieved, reranked and kept for each query, over documents and rows together. Differences are
paired, with 95 % intervals (cluster bootstrap by source), on dev and on test.

With an endpoint the three strategies are measured with that model. Without one they are played by
a scripted server, which shows that everything holds together and says nothing of quality: how often
it is asked, what it is sent, and what becomes of a search when it is gone.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import get_args

from best_configuration import value
from bounds import Bound, at_most, dataset, equal, finish, not_worse, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.config import Config, RewritingStrategy
from rag_assets.evaluation.evaluate import depth_of, evaluate_variant
from rag_assets.evaluation.evaluation_wording import verdict
from rag_assets.evaluation.questions import read_questions
from rag_assets.evaluation.results import EvaluationResult
from rag_assets.evaluation.summary import summarize
from rag_assets.reports.text_tables import signed, with_interval
from rag_assets.retrieval.model_rewriter import request_of
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.rewriters import by_rules
from rag_assets.store import Store
from rag_assets.table_lookup.arm import arms_of
from rag_assets_testing.scripted_language_model import Behaviour, ScriptedServer, answers

DATASET = "materials_demo"
VARIANT = "default"
NONE, RULES = "none", "rules"
STRATEGIES: Sequence[RewritingStrategy] = get_args(RewritingStrategy)
BASELINE = {"signals": ["dense", "bm25"], "candidates": 10, "reranker": "late_interaction"}
ENDPOINT, MODEL = "RAG_ASSETS_TEST_ENDPOINT", "RAG_ASSETS_TEST_MODEL"
METRICS = ("hit_rate", "mrr")
TOP_K = 10
SAMPLES = 10_000
MARGIN = 0.02
FAILED = 0.05
"""Share of the questions that a real model may fail to rewrite."""
SEARCHED = 50
"""Questions that are searched while the server is gone."""
LONGEST = 3.0
"""Seconds that such a search may take: two attempts, and the pause between them."""
Entry = Mapping[str, str | int | bool]


def settings_of(config: Config, entry: Entry) -> Config:
    """`config` with the model, and with a retriever for each way of rewriting."""
    ways = {RULES: {"rewriter": "rules"}} | {
        strategy: {"rewriter": "model", "strategy": strategy, "model": "writer"}
        for strategy in STRATEGIES
    }
    retrievers = {NONE: BASELINE} | {
        name: BASELINE | {"query_fusion": fusion} for name, fusion in ways.items()
    }
    said = {
        "language_models": {"writer": entry},
        "retrieval": {"retriever": NONE, "retrievers": retrievers},
        "evaluation": {"retrievers": [*retrievers], "bootstrap_samples": SAMPLES},
    }
    made = Config.model_validate(said)
    return config.model_copy(update={name: getattr(made, name) for name in said})


def evaluated(store: Store, config: Config) -> EvaluationResult:
    """The evaluation, searched anew whatever lies there."""
    for known in (store.root / "reports").glob(VARIANT):
        shutil.rmtree(known)
    result = evaluate_variant(
        store, config, variant=VARIANT, arms=arms_of(store, config), log=print
    )
    if result is None:
        raise SystemExit(f"{DATASET} has no questions")
    return result


def show(result: EvaluationResult, *, config: Config, title: str) -> Bound:
    """Print means and paired differences; whether rules may lose more than the margin on test."""
    low = high = None
    for split in ("dev", "test"):
        summary, differences = summarize(
            result.scores.questions,
            cutoffs=[TOP_K],
            depth=depth_of(config),
            samples=SAMPLES,
            levels=["gold"],
            splits=[split],
        )
        print(f"\n{title}, {split} questions\n")
        print(f"{'retriever':13} {'n':>4}  {'hit_rate@10':23} mrr@10")
        for name in result.record.retrievers:
            hits, ranks = (value(summary, name, one, "combined") for one in METRICS)
            means = f"{with_interval(hits):23} {with_interval(ranks)}"
            print(f"{name:13} {hits['questions']:>4}  {means}")
        for name, metric in product(result.record.retrievers[1:], METRICS):
            row = value(differences, name, metric, "combined")
            says = f"{signed(row)}, {verdict(row, margin=MARGIN)}"
            print(f"{name} against {NONE}, {metric}@{TOP_K}: {says}")
            if (name, metric, split) == (RULES, "mrr", "test"):
                low, high = row["low"], row["high"]
    return not_worse(f"test: {RULES} - {NONE}, mrr@{TOP_K}", low, high, margin=MARGIN)


def played(body: Mapping) -> Behaviour:
    """An answer as a model gives it: the query's own keywords, in the opposite order."""
    query = body["messages"][-1]["content"].rpartition("The query:\n")[2]
    keywords, *_ = by_rules(query) or [query]
    return answers(json.dumps({"rewrites": [" ".join(reversed(keywords.split()))]}))


def protocol(store: Store, config: Config, server: ScriptedServer) -> Generator[Bound]:
    """How often the server was asked, what it was sent, and that it need not be asked again."""
    questions = {question.text for question in read_questions(store)}
    first = evaluated(store, config)
    yield equal(
        "calls of an evaluation, for each question and strategy", *_calls(server, questions)
    )
    allowed = {
        request_of(question, strategy=strategy).messages[0].content
        for question in questions
        for strategy in STRATEGIES
    }
    sent = [body["messages"] for body in server.requests]
    other = sum(len(one) != 1 or one[0]["content"] not in allowed for one in sent)
    yield equal("requests that hold anything but a prompt and a question", other, 0)
    yield show(first, config=config, title="scripted server: no measurement of quality")
    before = server.calls
    again = evaluated(store, config)
    yield equal("calls of a second evaluation", server.calls - before, 0)
    same = again.scores.questions.equals(first.scores.questions)
    yield equal("second evaluations with other scores", int(not same), 0)


def _calls(server: ScriptedServer, questions: set[str]) -> tuple[int, int]:
    return server.calls, len(STRATEGIES) * len(questions)


def gone(store: Store, config: Config) -> Generator[Bound]:
    """Searches and an evaluation while the server of another model is gone."""
    index = open_index(store, config, VARIANT)
    texts = [question.text for question in read_questions(store) if question.split == "dev"]
    differing, longest, untold = 0, 0.0, 0
    for text in texts[:SEARCHED]:
        alone = index.search(text, retriever=NONE)
        for strategy in STRATEGIES:
            started = time.monotonic()
            found = index.search(text, retriever=strategy)
            longest = max(longest, time.monotonic() - started)
            differing += [hit.unit_id for hit in found] != [hit.unit_id for hit in alone]
            untold += not (found.rewritten and found.rewritten.failure)
    count = min(SEARCHED, len(texts)) * len(STRATEGIES)
    yield equal(f"of {count} searches without the server, those with another ranking", differing, 0)
    yield equal("those that do not say so", untold, 0)
    yield at_most("the longest of them [s]", longest, LONGEST)
    result = evaluated(store, config)
    left = sum(strategy in result.record.unmeasured for strategy in STRATEGIES)
    yield equal("strategies that an evaluation leaves out and names", left, len(STRATEGIES))


def by_endpoint(store: Store, config: Config) -> Generator[Bound]:
    """The strategies with a real model."""
    first = evaluated(store, config)
    yield show(first, config=config, title=os.environ[MODEL])
    for strategy in STRATEGIES:
        print(f"{strategy}: {first.record.settings.get(f'rewriting of {strategy}')}")
    spent = first.spending["writer"]
    print(json.dumps({"writer": spent}))
    failed = sum(int(count) for name, count in spent.items() if name.startswith("calls "))
    every = len(STRATEGIES) * len({question.text for question in read_questions(store)})
    yield at_most("share of the questions that were not rewritten", failed / every, FAILED)
    again = evaluated(store, config)
    sent = again.spending["writer"]["language model calls"]
    yield equal("calls of a second evaluation", float(sent), 0)


@contextmanager
def opened(home: Path) -> Generator[tuple[Store, Config]]:
    file = write_config(dataset(DATASET), state=home)
    done = rag_assets("refresh", "--json", config=file)
    if done.code not in (0, 3):
        raise SystemExit(f"the refresh failed: {done.output}")
    config = configuration.load(file)
    yield Store.of(config), config


def measured(home: Path) -> Generator[Bound]:
    with opened(home) as (store, config):
        if endpoint := os.environ.get(ENDPOINT):
            entry = {"base_url": endpoint, "model": os.environ[MODEL]}
            yield from by_endpoint(store, settings_of(config, entry))
            return
        with ScriptedServer(played, model=f"scripted-{time.time_ns()}") as server:
            entry = {"base_url": server.url, "model": server.model}
            yield from protocol(store, settings_of(config, entry), server)
        unknown = {"base_url": server.url, "model": "gone", "attempts": 2}
        yield from gone(store, settings_of(config, unknown))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--state", type=Path, help="folder to keep the index in")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = (arguments.state or Path(temporary)).absolute() / DATASET
        finish("rewriting", [*measured(home)])


if __name__ == "__main__":
    main()
