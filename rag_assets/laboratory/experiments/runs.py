"""The folder of each run of an experiment: written when it is done, found again later.

Each run has a folder of its own, named by its id: a fingerprint of all that it was made from. The
record is written last; without it a run does not count as done.

    experiments/NAME/ID/report.html  report.md  figures/N.svg  record.json
                        scores.parquet  summary.parquet  differences.parquet
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from rag_assets.config import ConfigError
from rag_assets.evaluation.summary import ALL_QUESTIONS, where
from rag_assets.identity import id_that_begins
from rag_assets.laboratory.experiments.arms import mark_used, root_of
from rag_assets.laboratory.experiments.design import TOP_N
from rag_assets.laboratory.experiments.report import figures, markdown, render
from rag_assets.laboratory.experiments.results import ExperimentResult, RunRecord
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

RECORD = "record.json"
TABLES = ("scores", "summary", "differences")
KEYS = ("retriever", "level", "question_id")


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run."""

    folder: Path
    record: RunRecord
    is_new: bool = field(default=False, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)
    spending: Mapping[str, Mapping[str, int | float | str]] = field(
        default_factory=dict, kw_only=True
    )
    """What each language model was used for, where it was run now."""

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / "report.html"

    @property
    def markdown(self) -> str:
        """The report in short."""
        return (self.folder / "report.md").read_text("utf-8")

    @property
    def figures(self) -> list[str]:
        """The plots as SVG."""
        files = (self.folder / "figures").glob("*.svg")
        ordered = sorted(files, key=lambda file: int(file.stem))
        return [file.read_text("utf-8") for file in ordered]

    def summary(self) -> pa.Table:
        """Means of all arms with intervals."""
        return _read(self.folder, "summary")

    @property
    def best(self) -> str | None:
        """The arm with the highest mean on the reported questions; None if there is none."""
        record = self.record
        rows = where(
            self.summary(),
            split=record.split,
            level=record.level,
            domain=ALL_QUESTIONS,
            metric=record.criterion,
            cutoff=TOP_N,
        )
        best = max(rows.to_pylist(), key=lambda row: row["value"], default=None)
        return best["retriever"] if best else None

    def questions(self) -> set[str]:
        """Ids of the reported questions."""
        rows = where(_read(self.folder, "scores"), split=self.record.split)
        return set(rows["question_id"].to_pylist())

    def asked(self) -> set[tuple[str, str]]:
        """Id and text of all questions."""
        rows = _read(self.folder, "scores")
        return {
            *zip(*(rows[name].to_pylist() for name in ("question_id", "question")), strict=True)
        }

    def differences(self) -> pa.Table:
        """Paired differences of the finalists to the reference."""
        return _read(self.folder, "differences")


def folder_of(store: Store, name: str, run_id: str) -> Path:
    """The folder of a run."""
    return root_of(store) / name / run_id


def lock_of(name: str) -> str:
    """Name of the lock for running the experiment called `name`: see `Store.lock`."""
    return f"experiment__{name}"


def load(store: Store, name: str, *, made_from: str) -> Run | None:
    """The complete run with the fingerprint `made_from`; None if there is none."""
    folder = folder_of(store, name, made_from[:12])
    record = _record(folder)
    if record is None or record.made_from != made_from or not (folder / "report.html").is_file():
        return None
    mark_used(folder)
    return Run(folder, record)


def runs_of(store: Store, name: str) -> list[Run]:
    """All complete runs of an experiment, the newest first."""
    folders = (root_of(store) / name).glob("[!.]*/")
    found = [Run(folder, record) for folder in folders if (record := _record(folder)) is not None]
    return sorted(found, key=lambda run: run.record.evaluated_at, reverse=True)


def recorded(store: Store, name: str, *, run_id: str) -> tuple[RunRecord, pa.Table]:
    """The record and the scores of the run whose id is, or begins with, `run_id`.

    Raises:
        UnknownIdError: There is none, or more than one.
    """
    runs = {run.record.id: run for run in runs_of(store, name)}
    there = f"there are {', '.join(runs) or 'none yet'}"
    run = runs[id_that_begins(run_id, lambda _: runs, what=f"run of {name}", see=there)]
    mark_used(run.folder)
    return run.record, _read(run.folder, "scores")


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


def _record(folder: Path) -> RunRecord | None:
    try:
        return TypeAdapter(RunRecord).validate_json((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None


def _read(folder: Path, table: str) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(folder / f"{table}.parquet")
