"""The best configuration, chosen on dev questions alone, against three plain retrievers on test.

usage: best_configuration.py [--datasets materials_demo ottqa] [--state FOLDER]
                             [--experiments retrieval_methods signal_domain_fusion]

Runs these experiments (the second one holds what is compared with) on each dataset, takes of all
their arms the one with the highest mrr@10 over all dev questions, and reports hit_rate@10 and
mrr@10 on test beside baseline, BM25 and plain hybrid. It must not be inferior to any of the three
in mrr@10 over all test questions: the 95 % interval of the paired difference (cluster bootstrap)
must not reach below -0.02. Give --state the folder of `experiments.py` to reuse what it built.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bounds import Bound, dataset, finish, rag_assets
from experiments import DESIGNS, write_experiments

from rag_assets.evaluation.evaluation_wording import verdict
from rag_assets.evaluation.summary import summarize
from rag_assets.laboratory.experiments.design import CUTOFFS
from rag_assets.reports.text_tables import signed, with_interval

SEARCHED = ("retrieval_methods", "signal_domain_fusion")
PLAIN = {"baseline": "dense; joint", "BM25": "bm25; joint"}
HYBRID = "dense + bm25 + reciprocal_rank; joint"
MARGIN = 0.02
DEPTH = 50
SAMPLES = 10_000
DOMAINS = ("document", "table", "combined")


def scores_of(name: str, *, state: Path, experiments: Sequence[str]) -> pa.Table:
    """The per-question scores of all arms at the gold's own level."""
    config = write_experiments(dataset(name), state=state, names=DESIGNS)
    done = rag_assets("experiment", *experiments, "--json", config=config)
    if done.code != 0:
        raise SystemExit(f"the experiments failed: {done.output}")
    found = json.loads(done.output.splitlines()[-1])["experiments"]
    tables = [pq.read_table(Path(one["report"]).with_name("scores.parquet")) for one in found]
    every = pa.concat_tables(tables)
    return every.filter(pc.equal(every["level"], "gold"))


def chosen_on_dev(scores: pa.Table) -> str:
    """The arm with the highest mean on dev questions; of equal ones the first by name."""
    dev = scores.filter(pc.equal(scores["split"], "dev"))
    means = dev.group_by("retriever").aggregate([("mrr@10", "mean")])
    ordered = means.sort_by([("mrr@10_mean", "descending"), ("retriever", "ascending")])
    return ordered["retriever"][0].as_py()


def compare(name: str, *, state: Path, experiments: Sequence[str]) -> Iterator[Bound]:
    scores = scores_of(name, state=state, experiments=experiments)
    best = chosen_on_dev(scores)
    arms = {"best": best, **PLAIN, "hybrid": HYBRID}
    print(f"\n{name}: {best} was chosen on dev, of {len(scores['retriever'].unique())} arms\n")
    plain = [_named(scores, arm, label) for label, arm in arms.items()]
    summary, _ = summarized(pa.concat_tables(plain))
    print(f"{'questions':10} {'retriever':10} {'n':>4}  {'hit_rate@10':24} mrr@10")
    for domain in DOMAINS:
        for label in arms:
            cells = {
                metric: value(summary, label, metric, domain) for metric in ("hit_rate", "mrr")
            }
            shown = [with_interval(cell) for cell in cells.values()]
            count = cells["mrr"]["questions"]
            print(f"{domain:10} {label:10} {count:>4}  {shown[0]:24} {shown[1]}")
    for place, label in enumerate(arms):
        if label == "best":
            continue
        _, differences = summarized(pa.concat_tables([plain[place], plain[0]]))
        row = value(differences, "best", "mrr", "combined")
        print(f"best against {label}, mrr@10: {signed(row)}, {verdict(row, margin=MARGIN)}")
        yield Bound(
            what=f"{name}: lower end of best - {label}, mrr@10 of all test questions",
            value=round(row["low"], 4),
            bound=f">= {-MARGIN}",
            ok=row["low"] >= -MARGIN,
        )


def _named(scores: pa.Table, arm: str, label: str) -> pa.Table:
    rows = scores.filter(pc.equal(scores["retriever"], arm))
    place = rows.schema.get_field_index("retriever")
    return rows.set_column(place, "retriever", pa.array([label] * rows.num_rows, pa.string()))


def summarized(scores: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Means on test, and paired differences to the first retriever."""
    return summarize(
        scores, cutoffs=CUTOFFS, depth=DEPTH, samples=SAMPLES, levels=["gold"], splits=["test"]
    )


def value(rows: pa.Table, retriever: str, metric: str, domain: str) -> Mapping:
    """One row of a summary, or of differences, at 10."""
    wanted = {"retriever": retriever, "metric": metric, "domain": domain, "cutoff": 10}
    for column, needed in wanted.items():
        rows = rows.filter(pc.equal(rows[column], needed))
    return rows.to_pylist()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["materials_demo", "ottqa"])
    parser.add_argument("--state", type=Path, help="folder that `experiments.py --state` kept")
    parser.add_argument("--experiments", nargs="+", default=SEARCHED, choices=SEARCHED)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        bounds = [
            bound
            for name in arguments.datasets
            for bound in compare(name, state=root / name, experiments=arguments.experiments)
        ]
    finish("best_configuration", bounds)


if __name__ == "__main__":
    main()
