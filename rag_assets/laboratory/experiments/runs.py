"""Writes a run of an experiment when it is done, and finds it again.

What lies in its folder is told in `evaluation.experiment_runs`.
"""

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.arrow_sql import where
from rag_assets.config import ConfigError
from rag_assets.evaluation.experiment_runs import RECORD, Run, RunRecord, root_of, run_in, runs_of
from rag_assets.identity import id_that_begins
from rag_assets.laboratory.experiments.arms import mark_used
from rag_assets.laboratory.experiments.report import figures, markdown, render
from rag_assets.laboratory.experiments.results import ExperimentResult
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

TABLES = ("scores", "summary", "differences")
KEYS = ("retriever", "level", "question_id")


def folder_of(store: Store, name: str, run_id: str) -> Path:
    """The folder of a run."""
    return root_of(store) / name / run_id


def load(store: Store, name: str, *, made_from: str) -> Run | None:
    """The complete run with the fingerprint `made_from`; None if there is none."""
    run = run_in(folder_of(store, name, made_from[:12]))
    if run is None or run.record.made_from != made_from or not run.report.is_file():
        return None
    mark_used(run.folder)
    return run


def recorded(store: Store, name: str, *, run_id: str) -> tuple[RunRecord, pa.Table]:
    """The record and the scores of the run whose id is, or begins with, `run_id`.

    Raises:
        UnknownIdError: There is none, or more than one.
    """
    runs = {run.record.id: run for run in runs_of(store, name)}
    there = f"there are {', '.join(runs) or 'none yet'}"
    run = runs[id_that_begins(run_id, lambda _: runs, what=f"run of {name}", see=there)]
    mark_used(run.folder)
    return run.record, run.scores()


def save(store: Store, result: ExperimentResult, *, seconds: float) -> Run:
    """Write all files; the record comes last."""
    import pyarrow.parquet as pq

    folder = folder_of(store, result.record.name, result.record.id)
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / "figures").mkdir(parents=True)
    for name in TABLES:
        pq.write_table(getattr(result, name), fresh / f"{name}.parquet", compression="zstd")
    for number, figure in enumerate(figures(result), start=1):
        write_atomically(fresh / "figures" / f"{number}.svg", figure)
    write_atomically(fresh / "report.html", render(result))
    write_atomically(fresh / "report.md", markdown(result))
    write_atomically(fresh / RECORD, json.dumps(asdict(result.record), indent=1))
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    return Run(folder, result.record, is_new=True, seconds=seconds)


def differences_of(before: pa.Table, after: pa.Table) -> tuple[dict[str, int], float]:
    """For each arm the number of questions with another score; the largest difference of a mean."""
    metrics = [name for name in before.column_names if "@" in name]
    one, other = (
        table.select([*KEYS, *metrics]).sort_by([(key, "ascending") for key in KEYS])
        for table in (before, after)
    )
    if one.select(list(KEYS)) != other.select(list(KEYS)):
        raise ConfigError("the files of this run were changed: they name other questions or arms")
    differing: dict[str, int] = {}
    largest = 0.0
    for name in dict.fromkeys(one["retriever"].to_pylist()):
        rows = [where(table, retriever=name) for table in (one, other)]
        values = [
            list(zip(*(part[metric].to_pylist() for metric in metrics), strict=True))
            for part in rows
        ]
        ids = rows[0]["question_id"].to_pylist()
        differing[name] = len({key for key, a, b in zip(ids, *values, strict=True) if a != b})
        for metric in metrics:
            means = [pc.mean(part[metric]).as_py() or 0.0 for part in rows]
            largest = max(largest, abs(means[0] - means[1]))
    return differing, largest
