"""The newest default embedding model against the one before, on each corpus and in each language.

usage: default_model.py [--corpora NAME ...] [--state FOLDER] [--split test]

Each corpus is built and evaluated by `rag-assets refresh` with both models, everything else equal.
They are compared by dense search alone (`baseline`), by reciprocal rank fusion with BM25 (`hybrid`)
and by the default retriever, with paired 95 % intervals (cluster bootstrap) of mrr@10 and
hit_rate@10. On each corpus a loss of more than 0.03 has to be ruled out, by the lower end.
Swedish and German questions of all corpora together have to gain by dense search, with an interval
above 0. With --state indexes are kept and found again.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from best_configuration import value
from bounds import Bound, at_least, finish, not_worse, rag_assets
from measured_corpora import CORPORA, DEPTH, SAMPLES, TOP_K, files_of, told_apart

from rag_assets.config.recipes import DEFAULT_CHUNKING, DEFAULT_MODEL
from rag_assets.evaluation.summary import ALL_SPLITS, summarize
from rag_assets.reports.text_tables import signed, with_interval

FORMER, NEW = "minilm", DEFAULT_MODEL
RETRIEVERS = ("baseline", "hybrid", "reranked")
METRICS = ("mrr", "hit_rate")
MOST_LOST = 0.03
TO_GAIN = ("sv", "de")
FEWEST = 20
"""Questions of a language that a corpus needs for a line of its own."""


def scores_of(name: str, *, folder: Path, split: str) -> pa.Table:
    """The per-question scores of both models, with the model as a column of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    config, _ = files_of(name, folder=folder)
    variants = {model: {"chunking": DEFAULT_CHUNKING, "model": model} for model in (FORMER, NEW)}
    environment = {
        "RAG_ASSETS__STATE_DIR": str(folder / "state"),
        "RAG_ASSETS__VARIANTS": json.dumps(variants),
        "RAG_ASSETS__EVALUATION__RETRIEVERS": json.dumps(RETRIEVERS),
        "RAG_ASSETS__EXPERIMENTS": "{}",
    }
    tables = []
    for model in variants:
        done = rag_assets(
            "refresh", "--variant", model, "--json", config=config, environment=environment
        )
        if done.code not in (0, 3):
            raise SystemExit(f"the refresh of {name} with {model} failed: {done.output}")
        found = pq.read_table(folder / "state" / "reports" / model / "questions.parquet")
        found = found.filter(pc.equal(found["level"], "gold"))
        if split != ALL_SPLITS:
            found = found.filter(pc.equal(found["split"], split))
        tables.append(found.append_column("model", pa.array([model] * len(found))))
    return told_apart(pa.concat_tables(tables), corpus=name)


def compared(scores: pa.Table, *, retriever: str, domain: str) -> Iterator[tuple[str, Mapping]]:
    """Print what both models reach by one retriever; for each metric the paired difference."""
    rows = scores.filter(pc.equal(scores["retriever"], retriever))
    place = rows.schema.get_field_index("retriever")
    rows = rows.set_column(place, "retriever", rows["model"])
    summary, differences = summarize(
        rows.drop_columns(["model"]),
        cutoffs=[TOP_K],
        depth=DEPTH,
        samples=SAMPLES,
        levels=["gold"],
        splits=[ALL_SPLITS],
    )
    if domain not in summary["domain"].to_pylist():
        return
    for metric in METRICS:
        former, new = (value(summary, model, metric, domain) for model in (FORMER, NEW))
        row = value(differences, NEW, metric, domain)
        print(
            f"{retriever:9} {domain:9} {former['questions']:>4}  {metric + '@10':12} "
            f"{with_interval(former):24} {with_interval(new):24} {signed(row)}"
        )
        yield metric, row


def compare(name: str, scores: pa.Table) -> Iterator[Bound]:
    """The bounds of one corpus: all of its questions, by each retriever and metric."""
    print(f"\n{name}: {FORMER} and {NEW}\n")
    for retriever in RETRIEVERS:
        for domain in ("document", "table", "combined"):
            for metric, row in compared(scores, retriever=retriever, domain=domain):
                if domain == "combined":
                    what = f"{name}, {retriever}, {metric}@10 of {NEW} - {FORMER}"
                    yield not_worse(what, row["low"], row["high"], margin=MOST_LOST)
    languages = scores["language"].combine_chunks().drop_null()
    for language in sorted(languages.unique().to_pylist()):
        rows = scores.filter(pc.equal(scores["language"], language))
        if len(rows["question_id"].unique()) >= FEWEST and len(rows) < len(scores):
            print(f"in {language}:")
            for retriever in RETRIEVERS:
                list(compared(rows, retriever=retriever, domain="combined"))


def gains(scores: pa.Table) -> Iterator[Bound]:
    """What the languages gain by dense search that the former model does not know."""
    for language in TO_GAIN:
        rows = scores.filter(pc.equal(scores["language"], language))
        if len(rows):
            print(f"\nall corpora, questions in {language}\n")
            found = dict(compared(rows, retriever="baseline", domain="combined"))
            yield at_least(f"{language}: lower end, dense mrr@10", found["mrr"]["low"], 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="+", default=CORPORA, choices=CORPORA)
    parser.add_argument("--state", type=Path, help="folder to keep indexes in")
    parser.add_argument("--split", default="test", choices=("test", "dev", ALL_SPLITS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        tables, bounds = [], []
        for name in arguments.corpora:
            tables.append(scores_of(name, folder=root / name, split=arguments.split))
            bounds += compare(name, tables[-1])
        bounds += gains(pa.concat_tables(tables, promote_options="permissive"))
    finish("default_model", bounds)


if __name__ == "__main__":
    main()
