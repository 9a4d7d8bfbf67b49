"""An embedding model fine-tuned on questions, against the same model as shipped.

usage: fine_tuning.py [--state FOLDER] [--model minilm] [--seeds 0 1] [--epochs 3]
                      [--hard-negatives 1] [--weights FOLDER ...] [--only ottqa materials_demo]
                      [--learning-curve]
       fine_tuning.py --pairs FILE --start FOLDER --out FOLDER [--seeds 0] [--epochs 3]

`ottqa_train` is built with the model as shipped, its pairs are made and a retriever is trained for
each seed by `rag-assets training run`. Then `ottqa` is built and evaluated with all of them. On
its test questions dense search has to gain mrr@10, with a paired 95 % interval (cluster bootstrap)
above 0 for each seed. Fused with BM25 by `fast` and `reranked`, the better of the two on dev
questions, a loss of more than 0.02 against the best configuration without training has to be ruled
out, by the lower end.
The same holds for the people's test questions of `materials_demo` after training on questions that
a program made. With --state indexes, pairs and weights are kept and found again.

With --pairs nothing but the training itself is done, on the pairs of `pairs.parquet` in the folder
of a corpus, for a machine with a GPU that has only PyTorch and sentence-transformers; --weights
takes the folders that come of it, one for each seed, instead of training here. --learning-curve
trains on a quarter and a half of the questions as well.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if TYPE_CHECKING:
    import pyarrow as pa
    from bounds import Bound

MODELS: Mapping[str, Mapping[str, Any]] = {
    "minilm": {},
    "e5": {"query_prefix": "query: ", "passage_prefix": "passage: "},
}
TRAINED_ON, MEASURED = "ottqa_train", "ottqa"
MADE = "materials_demo"
RETRIEVERS = ("baseline", "bm25", "hybrid", "fast", "reranked")
FUSED = ("fast", "reranked")
DOMAINS = ("document", "table", "combined")
SPLIT, CHOSEN_ON = "test", "dev"
TOP_K, SAMPLES = 10, 10_000
MOST_LOST = 0.02
QUESTIONS = {"from_documents": 600, "per_document": 4, "from_tables": 0, "train": 0.5}
"""Made of `materials_demo`: all of its tables are measured, so none is trained on."""
SHARES = (0.25, 0.5)


class Corpus:
    """A corpus with its state, and the models that it is built with."""

    def __init__(
        self, name: str, *, root: Path, model: str, models: Mapping[str, Path], **sections: object
    ) -> None:
        from bounds import dataset
        from retrieval import write_config

        self.folder = root / name
        self.name, self.models = name, [model, *models]
        self.config = write_config(dataset(name), state=self.folder)
        entries = {each: {"path": str(path), **MODELS[model]} for each, path in models.items()}
        settings = {
            "DEFAULTS": 3,
            "STATE_DIR": str(self.folder / "state"),
            "VARIANTS": {each: {"model": each} for each in self.models},
            "EVALUATION__RETRIEVERS": RETRIEVERS,
            "EXPERIMENTS": {},
            **({"MODELS": entries} if entries else {}),
            **sections,
        }
        self._environment = {
            f"RAG_ASSETS__{key}": each if isinstance(each, str) else json.dumps(each)
            for key, each in settings.items()
        }

    def run(self, *arguments: str) -> dict:
        """The reply of a command."""
        from bounds import rag_assets

        done = rag_assets(*arguments, "--json", config=self.config, environment=self._environment)
        if done.code not in (0, 3):
            raise SystemExit(f"{' '.join(arguments)} failed on {self.name}: {done.output}")
        return done.json

    def scores(self) -> "pa.Table":
        """Each question's scores, with the model before the name of the retriever."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        tables = []
        for model in self.models:
            self.run("refresh", "--variant", model)
            file = self.folder / "state" / "reports" / model / "questions.parquet"
            rows = pq.read_table(file).filter(pc.field("level") == "gold")
            place = rows.schema.get_field_index("retriever")
            named = pc.binary_join_element_wise(model, rows["retriever"], " ")
            tables.append(rows.set_column(place, "retriever", named))
        return pa.concat_tables(tables, promote_options="permissive")


def trained(root: Path, arguments: argparse.Namespace) -> dict[str, Path]:
    """The weights of each seed, trained on `ottqa_train` where that is not done yet."""
    names = [f"seed{seed}" for seed in arguments.seeds]
    if arguments.weights:
        return dict(zip(names, arguments.weights, strict=True))
    recipes = {
        name: {
            "model": arguments.model,
            "seed": seed,
            "epochs": arguments.epochs,
            "hard_negatives": arguments.hard_negatives,
        }
        for name, seed in zip(names, arguments.seeds, strict=True)
    }
    return _trained_on(TRAINED_ON, root, arguments.model, recipes)


def _trained_on(
    name: str, root: Path, model: str, recipes: Mapping[str, Mapping], **sections: object
) -> dict[str, Path]:
    training = {"variant": model, "retrievers": recipes}
    corpus = Corpus(name, root=root, model=model, models={}, TRAINING=training, **sections)
    corpus.run("refresh", "--variant", model)
    if "QUESTIONS" in sections:
        print(corpus.run("questions", "make")["questions"])
    found = corpus.run("training", "run")["models"]
    for row in found:
        print({key: row[key] for key in ("name", "metric", "before", "after", "minutes")})
    _keep_pairs(corpus)
    return {row["name"]: Path(row["weights"]) for row in found}


def _keep_pairs(corpus: Corpus) -> None:
    """Write the pairs to a file, for another machine."""
    import pyarrow.parquet as pq

    from rag_assets.laboratory.training.trainers import read_pairs
    from rag_assets.store import Store

    pairs = read_pairs(Store(corpus.folder / "state"))
    pq.write_table(pairs, corpus.folder / "pairs.parquet")
    print(f"{corpus.name}: {len(pairs):,} pairs")


def compared(
    scores: "pa.Table", arms: Sequence[str], *, split: str
) -> Iterator[tuple[str, str, Mapping, Mapping]]:
    """Each arm but the first against it: the domain, the arm, its mean and the difference."""
    import pyarrow.compute as pc
    from best_configuration import value
    from measured_corpora import DEPTH

    from rag_assets.evaluation.summary import summarize

    rows = scores.filter(pc.field("retriever").isin(list(arms)))
    order = {arm: place for place, arm in enumerate(arms)}
    places = [order[name] for name in rows["retriever"].to_pylist()]
    rows = rows.take(pc.array_sort_indices(places)).filter(pc.field("split") == split)
    summary, differences = summarize(
        rows, cutoffs=[TOP_K], depth=DEPTH, samples=SAMPLES, levels=["gold"], splits=[split]
    )
    for domain in DOMAINS:
        if domain in summary["domain"].to_pylist():
            for arm in arms[1:]:
                yield (
                    domain,
                    arm,
                    value(summary, arm, "mrr", domain),
                    value(differences, arm, "mrr", domain),
                )


def mean(scores: "pa.Table", arm: str, *, split: str) -> float:
    """The mean of mrr@10 of an arm over all questions of a split."""
    import pyarrow.compute as pc

    rows = scores.filter((pc.field("retriever") == arm) & (pc.field("split") == split))
    return pc.mean(rows["mrr@10"]).as_py()


def bounds_of(name: str, scores: "pa.Table", models: Sequence[str], *, gains: bool) -> Iterator:
    """What a corpus has to show for each trained model, the first of `models` being as shipped."""
    from bounds import at_least, not_worse

    from rag_assets.reports.text_tables import signed, with_interval

    shipped, *tuned = models

    def best_of(model: str, among: Sequence[str]) -> str:
        return max(
            (f"{model} {each}" for each in among),
            key=lambda arm: mean(scores, arm, split=CHOSEN_ON),
        )

    before = best_of(shipped, RETRIEVERS)
    print(f"\n{name}, {SPLIT} questions, mrr@{TOP_K}; best without training on dev: {before}\n")
    for model in tuned:
        for what, reference, arm in (
            ("dense", f"{shipped} baseline", f"{model} baseline"),
            ("fused", before, best_of(model, FUSED)),
        ):
            for domain, _, row, difference in compared(scores, [reference, arm], split=SPLIT):
                print(
                    f"{domain:9} {row['questions']:>4}  {reference} -> {arm}: "
                    f"{with_interval(row)}  {signed(difference)}"
                )
                if domain != "combined":
                    continue
                place = f"{name}, {what}, {arm} - {reference}"
                if what == "dense" and gains:
                    yield at_least(f"{place}: lower end", difference["low"], 0.0001)
                elif what == "fused" or not gains:
                    ends = (difference["low"], difference["high"])
                    yield not_worse(place, *ends, margin=MOST_LOST)


def of_ottqa(root: Path, arguments: argparse.Namespace) -> Iterator:
    """Train on one set of human questions, and measure on the other."""
    models = trained(root, arguments)
    measured = Corpus(MEASURED, root=root, model=arguments.model, models=models)
    yield from bounds_of(MEASURED, measured.scores(), measured.models, gains=True)
    if arguments.learning_curve:
        curve = {share: _with_share(root, share, arguments) for share in SHARES}
        for share, folder in curve.items():
            name = f"share{int(100 * share)}"
            part = Corpus(MEASURED, root=root, model=arguments.model, models={name: folder})
            list(
                bounds_of(
                    f"{MEASURED}, {share:.0%} of the pairs", part.scores(), part.models, gains=True
                )
            )


def _with_share(root: Path, share: float, arguments: argparse.Namespace) -> Path:
    """Weights that were trained on a share of the pairs."""
    import pyarrow.parquet as pq

    from rag_assets.config import resolve_package_path
    from rag_assets.config.models import DEFAULT_MODELS
    from rag_assets.identity import fingerprint

    pairs = pq.read_table(root / TRAINED_ON / "pairs.parquet")
    kept = [
        part == "validation" or int(fingerprint("share", question)[:8], 16) < share * 16**8
        for question, part in zip(
            pairs["question_id"].to_pylist(), pairs["part"].to_pylist(), strict=True
        )
    ]
    file = root / f"pairs{int(100 * share)}.parquet"
    pq.write_table(pairs.filter(kept), file)
    out = root / f"share{int(100 * share)}"
    if not out.exists():
        start = resolve_package_path(DEFAULT_MODELS[arguments.model].path)
        train_only(file, start=start, out=out, seed=0, arguments=arguments)
    return out


def of_materials(root: Path, arguments: argparse.Namespace) -> Iterator:
    """Train on questions that a program made of the same documents, and measure with people's."""
    recipe = {"model": arguments.model, "epochs": arguments.epochs}
    sections = {"QUESTIONS": QUESTIONS}
    models = _trained_on(MADE, root, arguments.model, {"made": recipe}, **sections)
    measured = Corpus(MADE, root=root, model=arguments.model, models=models, **sections)
    scores = measured.scores()
    import pyarrow.compute as pc

    people = scores.filter(pc.starts_with(scores["question_id"], "questions/"))
    yield from bounds_of(MADE, people, measured.models, gains=False)


def train_only(
    pairs: Path, *, start: Path, out: Path, seed: int, arguments: argparse.Namespace
) -> None:
    """Train on a file of pairs, with nothing of the project but its trainer."""
    import pyarrow.parquet as pq

    from rag_assets.config.training import RetrieverTraining
    from rag_assets.laboratory.training.retriever import Recipe, train_retriever

    settings = RetrieverTraining(
        epochs=arguments.epochs,
        seed=seed,
        hard_negatives=arguments.hard_negatives,
        batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
    )
    recipe = Recipe.of(settings, **MODELS[arguments.model])
    started = time.monotonic()
    done = train_retriever(
        pq.read_table(pairs),
        start=start,
        recipe=recipe,
        checkpoints=out.with_name(f"{out.name}.checkpoints"),
        out=out,
        log=print,
    )
    print(f"seed {seed}: {done} after {time.monotonic() - started:.0f} s, in {out}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, help="folder to keep indexes, pairs and weights in")
    parser.add_argument("--model", default="minilm", choices=tuple(MODELS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--hard-negatives", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=2e-5)
    parser.add_argument("--weights", type=Path, nargs="+", help="trained elsewhere, one a seed")
    parser.add_argument("--only", nargs="+", default=[MEASURED, MADE], choices=(MEASURED, MADE))
    parser.add_argument("--learning-curve", action="store_true")
    parser.add_argument("--pairs", type=Path, help="train on this file alone")
    parser.add_argument("--start", type=Path, help="with --pairs: the weights to start from")
    parser.add_argument("--out", type=Path, help="with --pairs: folder of the weights")
    arguments = parser.parse_args()
    if arguments.pairs:
        for seed in arguments.seeds:
            out = arguments.out / f"seed{seed}"
            train_only(
                arguments.pairs, start=arguments.start, out=out, seed=seed, arguments=arguments
            )
        return
    from bounds import finish

    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        bounds: list[Bound] = []
        for name, measure in ((MEASURED, of_ottqa), (MADE, of_materials)):
            if name in arguments.only:
                bounds += measure(root, arguments)
    finish("fine_tuning", bounds)


if __name__ == "__main__":
    main()
