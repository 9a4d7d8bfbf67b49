"""The runs of experiments that are kept: their records, and how all but the laboratory read them.

The laboratory runs experiments. What they say of a question set, of the retriever that serves and
of the room that they take is read here: by `smoke_tests`, `doctor`, clean-up and purge.

Each run has a folder of its own, named by its id: a fingerprint of all that it was made from. The
record is written last; without it a run does not count as done. The results of arms, which several
runs may share, lie beside those of the experiments:

    experiments/NAME/ID/report.html  report.md  figures/N.svg  record.json
                        scores.parquet  summary.parquet  differences.parquet
    experiments/arms/KEY/arm.json  scores.parquet  extras.parquet

Runs and arms that were not used for a long time are removed as part of the clean-up. A run is used
when it is made, found again or replayed; an arm when it is run or found by an experiment. The
newest run of each experiment of the config always stays, and so do all arms of runs that stay: when
an experiment is run again, only changed arms are run. A running experiment is waited for.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
from pydantic import TypeAdapter

from rag_assets.columns.arrow_sql import where
from rag_assets.config import Config
from rag_assets.config.questions import KNOWN_ITEMS
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.intervals import FEWEST_CLUSTERS
from rag_assets.evaluation.summary import ALL_QUESTIONS
from rag_assets.store import Store
from rag_assets.store.atomic import remove_folder

RECORD = "record.json"
ARMS = "arms"
"""Folder of all arms, next to those of the experiments."""
ARM_RECORD = "arm.json"
TOP_N = 10
"""Units that an arm returns in the end (P0, 4.4.6)."""
CHANCE = 0.05
"""Share of random orders that may agree as much."""


@dataclass(frozen=True, slots=True)
class ArmRecord:
    """How an arm was run: its speed and its cost."""

    key: str
    """Fingerprint of everything that its result depends on."""
    milliseconds: Mapping[str, float]
    """Median time of each stage, measured as `latency`."""
    latency: float
    """Median milliseconds of a question asked alone: see `evaluation.latency`."""
    probed: int
    """Number of questions behind the medians."""
    cost: Mapping[str, float]
    """Lists searched and pairs scored, for one question."""
    seconds: float
    """Time that the run took."""
    p95: float
    """95th percentile of the same."""


@dataclass(frozen=True, slots=True)
class SetOrder:
    """How a generated question set orders arms, and how the questions of people do."""

    question_set: str
    questions: int
    of_people: int
    """Questions of people."""
    means: Mapping[str, float]
    """Mean MRR@10 of each arm."""
    means_of_people: Mapping[str, float]
    tau: float
    low: float | None
    """Lower end of the 95 % interval; None where there are too few questions for one."""
    high: float | None
    chance: float
    """Share of random orders of the arms that agree as much."""
    loss: float
    """How much less the arm that the set puts first has on people's questions than their best."""
    margin: float
    """A smaller loss does not matter."""

    @property
    def is_shown(self) -> bool:
        """Whether the set is shown to order the arms as people's questions do."""
        is_alike = self.low is not None and self.low > 0 and self.chance <= CHANCE
        return is_alike and self.loss <= self.margin and self.question_set != KNOWN_ITEMS

    @property
    def says(self) -> str:
        """The verdict in words."""
        if self.low is None:
            return f"smoke test: fewer than {FEWEST_CLUSTERS} documents, pages or rows are asked"
        if self.is_shown:
            return "orders them as people's questions do: it may gate"
        if self.question_set == KNOWN_ITEMS:
            return "smoke test: sentences of the index favour search by words"
        if self.low <= 0:
            return "smoke test: not shown to order them as people's questions do"
        if self.chance > CHANCE:
            return f"smoke test: {self.chance:.0%} of random orders of these arms agree as much"
        return f"smoke test: what it puts first loses {self.loss:.3f} on people's questions"


@dataclass(frozen=True, slots=True)
class RecordedArm:
    """An arm, in the record of a run."""

    variant: str
    factors: Mapping[str, str | int | float]
    """What tells arms apart: the values of settings."""
    retriever: Mapping[str, object]
    """Its settings, without those that are defaults."""
    run: ArmRecord


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What was compared and how, with the versions of code and data."""

    id: str
    made_from: str
    name: str
    title: str
    source: str
    evaluated_at: str
    """ISO 8601, UTC."""
    split: str
    """The questions of the report: test; if there are none, dev, else the first by name."""
    level: str
    criterion: str
    questions: Mapping[str, int]
    """Number of dev, of test, and of reported questions."""
    reference: str
    chosen: Mapping[str, str]
    """The arm of each group that was best on dev; empty if nothing is chosen."""
    finalists: Sequence[str]
    """The arms that are compared on `split`, the reference first."""
    margin: float
    notes: Sequence[str]
    settings: Mapping[str, object]
    versions: Mapping[str, str]
    variants: Mapping[str, Mapping[str, str | int]]
    arms: Mapping[str, RecordedArm]
    flaws: Sequence[Flaw] = ()
    """What makes its numbers say less than they seem to."""
    orders: Sequence[SetOrder] = ()
    """How generated question sets order the arms, where the design compares that."""
    smoke_tests: Sequence[str] = ()
    """Its question sets that decide nothing: see `evaluation.smoke_tests`."""


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

    def scores(self) -> pa.Table:
        """What each arm scored on each question, at each level."""
        return _read(self.folder, "scores")

    def questions(self) -> set[str]:
        """Ids of the reported questions."""
        rows = where(self.scores(), split=self.record.split)
        return set(rows["question_id"].to_pylist())

    def asked(self) -> set[tuple[str, str]]:
        """Id and text of all questions."""
        rows = self.scores()
        return {
            *zip(*(rows[name].to_pylist() for name in ("question_id", "question")), strict=True)
        }

    def differences(self) -> pa.Table:
        """Paired differences of the finalists to the reference."""
        return _read(self.folder, "differences")


def root_of(store: Store) -> Path:
    """The folder of all experiments."""
    return store.root / "experiments"


def lock_of(name: str) -> str:
    """Name of the lock for running the experiment called `name`: see `Store.lock`."""
    return f"experiment__{name}"


def runs_of(store: Store, name: str) -> list[Run]:
    """All complete runs of an experiment, the newest first."""
    folders = (root_of(store) / name).glob("[!.]*/")
    found = [run for folder in folders if (run := run_in(folder)) is not None]
    return sorted(found, key=lambda run: run.record.evaluated_at, reverse=True)


def run_in(folder: Path) -> Run | None:
    """The run in `folder`; None if there is none, or it is not complete or of another release."""
    try:
        record = TypeAdapter(RunRecord).validate_json((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    return Run(folder, record)


def _read(folder: Path, table: str) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(folder / f"{table}.parquet")


@dataclass(frozen=True, slots=True)
class RemovedRuns:
    """What was removed."""

    runs: int
    arms: int
    bytes_freed: int


def remove_unused(store: Store, config: Config, *, log: Callable[[str], None]) -> RemovedRuns:
    """Remove the runs and arms unused for `clean_up.keep_records_days` that need not stay.

    `log` receives a line if a running experiment must be waited for.
    """
    root, configured = root_of(store), config.experiments
    names = {folder.name for folder in root.glob("[!.]*/")}
    oldest = time.time() - timedelta(days=config.clean_up.keep_records_days).total_seconds()
    with store.lock(*map(lock_of, names.union(configured)), log=log):
        kept = [
            run
            for name in names
            for place, run in enumerate(runs_of(store, name))
            if (place == 0 and name in configured) or _last_use(run.folder) >= oldest
        ]
        old_runs = _old(root, RECORD, kept={run.folder for run in kept}, oldest=oldest)
        compared = set(_compared(kept, root=root))
        old_arms = _old(root, ARM_RECORD, kept=compared, oldest=oldest)
        unfinished = [folder for folder in root.glob("*/.*/") if _last_use(folder) < oldest]
        freed = sum(map(remove_folder, [*old_runs, *old_arms, *unfinished]))
        for name in names:
            if not any((root / name).iterdir()):
                (root / name).rmdir()
    return RemovedRuns(len(old_runs), len(old_arms), freed)


def _compared(kept: Collection[Run], *, root: Path) -> Iterator[Path]:
    """Folders of the arms of the runs `kept`."""
    for run in kept:
        for arm in run.record.arms.values():
            yield root / ARMS / arm.run.key


def _old(root: Path, record: str, *, kept: Collection[Path], oldest: float) -> list[Path]:
    """Folders with a file called `record` that are not `kept`, in order."""
    found = (file.parent for file in sorted(root.glob(f"*/[!.]*/{record}")))
    return [folder for folder in found if folder not in kept and _last_use(folder) < oldest]


def _last_use(folder: Path) -> float:
    return folder.stat().st_mtime
