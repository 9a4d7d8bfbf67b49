"""Do generated questions choose the retriever that people's questions choose?

usage: question_origin.py [--state FOLDER] [--skip-new-project]

On materials_demo, questions are made from its documents and tables, without a language model, and
the experiment `question_origin` measures eight named retrievers by them and by the questions of
people. Each set chooses the retriever with the highest mrr@10 on its dev questions. On the test
questions of people, what a generated set chose must not be worse than what people's dev questions
chose by more than 0.02 mrr@10; or the set must be refused as a gate, since the experiment does not
show that it orders retrievers as they do. Both orders are printed, with Kendall's tau-b.

Then a new project is measured from nothing: `init`, `refresh`, `questions make` and `evaluate` on
the demo's documents and database. Each may print one screen of lines. With --state the index is
kept and found again.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bounds import REPOSITORY, Bound, at_most, finish, rag_assets
from measured_corpora import files_of

from rag_assets.config.questions import GENERATED_SETS
from rag_assets.evaluation.experiment_runs import SetOrder
from rag_assets.evaluation.intervals import DIFFERENCES, cluster_bootstrap, clusters_of

CORPUS = "materials_demo"
EXPERIMENT = "question_origin"
METRIC = "mrr@10"
MOST_LOST = 0.02
MADE = 200
"""Questions that are made from documents, and from tables, at most."""
SAMPLES = 10_000
SCREEN = 60
"""Lines of a screen."""


def measured(folder: Path) -> tuple[pa.Table, Sequence[Mapping]]:
    """The scores of each retriever on each question, and what the experiment says of each set."""
    folder.mkdir(parents=True, exist_ok=True)
    config, _ = files_of(CORPUS, folder=folder)
    made = {"folder": str(folder / "questions"), "from_documents": MADE, "from_tables": MADE}
    environment = {
        "RAG_ASSETS__STATE_DIR": str(folder / "state"),
        "RAG_ASSETS__VARIANTS": json.dumps({"default": {}}),
        "RAG_ASSETS__EVALUATION__RETRIEVERS": json.dumps(["bm25"]),
        "RAG_ASSETS__QUESTIONS": json.dumps(made),
        "RAG_ASSETS__EXPERIMENTS": json.dumps({EXPERIMENT: {}}),
    }
    for command in (["refresh"], ["questions", "make"], ["experiment", EXPERIMENT]):
        done = rag_assets(*command, "--json", config=config, environment=environment)
        if done.code not in (0, 3):
            raise SystemExit(f"{' '.join(command)} failed: {done.output}")
        print(f"{done.seconds:.0f} s")
    [found] = done.json["experiments"]
    run = Path(found["report"]).parent
    scores = pq.read_table(run / "scores.parquet", filters=[("level", "=", "gold")])
    names = pc.list_element(pc.split_pattern(scores["question_id"], "/", max_splits=1), 0)
    origin = pc.if_else(pc.is_in(names, pa.array(GENERATED_SETS)), names, "people")
    record = json.loads((run / "record.json").read_text("utf-8"))
    return scores.append_column("set", origin), record["orders"]


def of_set(scores: pa.Table, name: str, *, split: str) -> pa.Table:
    """The rows of the questions of a set in a split."""
    return scores.filter((pc.field("set") == name) & (pc.field("split") == split))


def chosen(scores: pa.Table, name: str) -> str:
    """The retriever with the highest mean on a set's dev questions; of equal ones the first."""
    dev = of_set(scores, name, split="dev").group_by("retriever", use_threads=False)
    means = dev.aggregate([(METRIC, "mean")])
    ordered = means.sort_by([(f"{METRIC}_mean", "descending")])
    return ordered["retriever"][0].as_py()


def lost(scores: pa.Table, *, chose: str, people_chose: str) -> tuple[float, float, float]:
    """What the first retriever has less than the second on test questions of people: mean, ends."""
    test = of_set(scores, "people", split="test").sort_by("question_id")
    by_people, own = (test.filter(pc.field("retriever") == one) for one in (people_chose, chose))
    differences = by_people[METRIC].to_numpy() - own[METRIC].to_numpy()
    clusters = clusters_of(*(own[name].to_pylist() for name in ("source_cluster", "gold_cluster")))
    found = cluster_bootstrap(differences[:, None], clusters, samples=SAMPLES, limits=DIFFERENCES)
    return float(found.means[0]), float(found.low[0]), float(found.high[0])


def usefulness(folder: Path) -> Iterator[Bound]:
    """Whether each generated set chooses well, or is refused as a gate."""
    scores, orders = measured(folder)
    people_chose = chosen(scores, "people")
    print(f"\nPeople's dev questions choose {people_chose}.")
    for order in orders:
        name = order["question_set"]
        for whose in ("means_of_people", "means"):
            means = sorted(order[whose].items(), key=lambda each: -each[1])
            shown = " > ".join(f"{retriever} {mean:.3f}" for retriever, mean in means)
            print(f"{'people' if whose == 'means_of_people' else name}: {shown}")
        is_gate = SetOrder(**order).is_shown
        chose = chosen(scores, name)
        mean, low, high = lost(scores, chose=chose, people_chose=people_chose)
        interval = "" if order["low"] is None else f" [{order['low']:+.2f}, {order['high']:+.2f}]"
        print(
            f"{name} ({order['questions']} questions, {order['of_people']} of people): tau-b "
            f"{order['tau']:+.2f}{interval}; it {'may gate' if is_gate else 'is refused as a gate'}"
            f"; its dev questions choose {chose}, which loses {mean:+.3f} [{low:+.3f}, {high:+.3f}]"
        )
        what = f"{name}: {METRIC} that its choice loses on test questions of people"
        bound = at_most(what, mean, MOST_LOST)
        refused = Bound(
            f"{what}, refused as a gate", bound.value, "none: it decides nothing", ok=True
        )
        yield bound if is_gate or bound.ok else refused


def new_project(folder: Path) -> Iterator[Bound]:
    """A project from nothing to its first evaluation."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(REPOSITORY / "data" / "documents", folder / "documents")
    shutil.copy(REPOSITORY / "data" / "materials.sqlite", folder)
    sources = ["--documents", str(folder / "documents")]
    sources += ["--database", f"sqlite:///{folder / 'materials.sqlite'}"]
    total = 0.0
    for command in (["init", *sources], ["refresh"], ["questions", "make"], ["evaluate"]):
        done = rag_assets(*command, config=folder / "rag_assets.yaml")
        if done.code not in (0, 3):
            raise SystemExit(f"{command[0]} failed: {done.output}")
        total += done.seconds
        name = " ".join(command[:2]) if command[0] == "questions" else command[0]
        lines = len(done.output.splitlines())
        print(f"{name}: {done.seconds:.1f} s, {lines} lines")
        yield at_most(f"new project, {name}: lines printed", lines, SCREEN)
    print(f"From init to the first evaluation: {total:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, help="keep the index here")
    parser.add_argument("--skip-new-project", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        state = (arguments.state or Path(temporary) / CORPUS).absolute()
        bounds = list(usefulness(state))
        if not arguments.skip_new_project:
            bounds += new_project(Path(temporary) / "new")
    finish("question_origin", bounds)


if __name__ == "__main__":
    main()
