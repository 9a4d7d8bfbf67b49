"""Which runs and arms a clean-up removes, and which it leaves."""

import json
import os
import shutil
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rag_assets.config import Config, Retriever
from rag_assets.evaluation.experiment_retention import RemovedRuns, remove_unused
from rag_assets.evaluation.experiment_runs import (
    ARM_RECORD,
    ARMS,
    RECORD,
    ArmRecord,
    RecordedArm,
    RunRecord,
    root_of,
    runs_of,
)
from rag_assets.laboratory.experiments import arms, runs
from rag_assets.laboratory.experiments.arms import ArmResult
from rag_assets.laboratory.experiments.design import ExperimentArm
from rag_assets.store import Store

KEEP = 30
EVALUATED = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """An experiment called `fusion`, and nothing else."""
    settings = {"fusion": {"design": "fusion_modes"}}
    clean_up = {"keep_records_days": KEEP}
    return Config.model_validate(
        {"state_dir": tmp_path, "experiments": settings, "clean_up": clean_up}
    )


def written(folder: Path, file: str, record: object, *, unused_days: float) -> Path:
    folder.mkdir(parents=True)
    (folder / "report.html").write_text("a report")
    (folder / file).write_text(json.dumps(record))
    used = time.time() - timedelta(days=unused_days).total_seconds()
    os.utime(folder, (used, used))
    return folder


def arm(store: Store, key: str, *, unused_days: float) -> Path:
    folder = root_of(store) / ARMS / key
    return written(folder, ARM_RECORD, asdict(arm_record(key)), unused_days=unused_days)


def arm_record(key: str) -> ArmRecord:
    return ArmRecord(key, milliseconds={}, latency=1.0, p95=1.0, probed=1, cost={}, seconds=1.0)


def run(store: Store, name: str, place: int, *, compares: str, unused_days: float) -> Path:
    """Run number `place` of an experiment, each made a day after the one before."""
    record = RunRecord(
        id=f"{name}{place}",
        made_from=f"{name}{place}",
        name=name,
        title=name,
        source="",
        evaluated_at=(EVALUATED + timedelta(days=place)).isoformat(),
        split="test",
        level="gold",
        criterion="mrr",
        questions={},
        reference="first",
        chosen={},
        finalists=[],
        margin=0.02,
        notes=[],
        settings={},
        versions={},
        variants={},
        arms={"first": RecordedArm("default", {}, {}, arm_record(compares))},
    )
    folder = runs.folder_of(store, name, record.id)
    return written(folder, RECORD, asdict(record), unused_days=unused_days)


def forget(store: Store, config: Config) -> RemovedRuns:
    return remove_unused(store, config, log=print)


def test_the_newest_run_of_a_configured_experiment_stays_with_its_arms(store, config):
    older = run(store, "fusion", 1, compares="before", unused_days=300)
    newest = run(store, "fusion", 2, compares="now", unused_days=200)
    before, now = (arm(store, key, unused_days=300) for key in ("before", "now"))

    forgotten = forget(store, config)

    assert (newest.is_dir(), now.is_dir()) == (True, True)
    assert (older.exists(), before.exists()) == (False, False)
    assert (forgotten.runs, forgotten.arms) == (1, 1)
    assert forgotten.bytes_freed > 0
    assert [one.folder for one in runs_of(store, "fusion")] == [newest]


def test_nothing_stays_for_good_of_an_experiment_that_the_config_dropped(store, config):
    newest = run(store, "dropped", 1, compares="its", unused_days=KEEP + 1)
    its = arm(store, "its", unused_days=KEEP + 1)

    assert forget(store, config).runs == 1
    assert not newest.parent.exists()
    assert not its.exists()


def test_what_is_younger_than_the_retention_stays_with_what_it_compared(store, config):
    run(store, "fusion", 1, compares="before", unused_days=KEEP - 1)
    run(store, "fusion", 2, compares="now", unused_days=0)
    run(store, "dropped", 1, compares="its", unused_days=KEEP - 1)
    for key in ("before", "now", "its"):
        arm(store, key, unused_days=300)
    arm(store, "of an experiment that still runs", unused_days=KEEP - 1)

    assert forget(store, config) == RemovedRuns(runs=0, arms=0, bytes_freed=0)


@pytest.mark.parametrize("use", ["found again", "replayed"])
def test_whoever_uses_a_run_keeps_it(store, config, use):
    older = run(store, "fusion", 1, compares="before", unused_days=300)
    run(store, "fusion", 2, compares="now", unused_days=300)
    add_scores(older)

    if use == "replayed":
        runs.recorded(store, "fusion", run_id="fusion1")
    else:
        assert runs.load(store, "fusion", made_from="fusion1")

    assert forget(store, config).runs == 0


def add_scores(folder: Path) -> None:
    used = folder.stat().st_mtime
    pq.write_table(pa.table({"score": [1.0]}), folder / "scores.parquet")
    os.utime(folder, (used, used))


def test_what_a_killed_run_left_and_records_nobody_can_read_go_in_time(store, config):
    old, young = (
        written(root_of(store) / "fusion" / name, "scores.json", {}, unused_days=days)
        for name, days in ((".fusion1.77", 300), (".fusion2.78", 0))
    )
    unreadable = written(root_of(store) / "fusion" / "fusion0", RECORD, {}, unused_days=300)

    forget(store, config)

    assert (old.exists(), young.exists(), unreadable.exists()) == (False, True, False)


def test_an_experiment_may_be_called_arms(store, config):
    named_arms = config.model_copy(update={"experiments": {"arms": config.experiments["fusion"]}})
    newest = run(store, "arms", 1, compares="now", unused_days=300)
    now, before = (arm(store, key, unused_days=300) for key in ("now", "before"))

    forgotten = forget(store, named_arms)

    assert (newest.exists(), now.exists(), before.exists()) == (True, True, False)
    assert (forgotten.runs, forgotten.arms) == (0, 1)


def test_a_state_without_experiments_has_nothing_to_forget(store, config):
    assert forget(store, config) == RemovedRuns(runs=0, arms=0, bytes_freed=0)


def test_an_arm_that_another_process_kept_first_stays(store: Store, monkeypatch) -> None:
    """It appears between the removal of what lay there and the new folder's taking its place."""
    folder = root_of(store) / ARMS / "same"
    found = ArmResult(
        ExperimentArm(name="any", variant="default", retriever=Retriever(), factors={}),
        arm_record("same"),
        scores=pa.table({"retriever": ["any"]}),
        extras=pa.table({"question_id": ["q"]}),
    )
    removed = shutil.rmtree

    def outrun(path: Path, **settings: bool) -> None:
        removed(path, **settings)
        if path == folder:
            arm(store, "same", unused_days=0)

    monkeypatch.setattr("rag_assets.laboratory.experiments.arms.shutil.rmtree", outrun)
    arms._store(found, folder)
    assert (folder / "report.html").is_file()
    assert [one.name for one in folder.parent.iterdir()] == ["same"]
