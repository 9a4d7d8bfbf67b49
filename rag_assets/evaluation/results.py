"""The folder of an evaluation: written when it is done, found again later.

A folder holds the report for people, the tables as Parquet for programs, and `evaluation.json`,
which is written last: without it the evaluation does not count as done.

    retrieval_evaluation.html  rankings.parquet  questions.parquet
    summary.parquet  differences.parquet  overall.parquet  agreement.parquet  evaluation.json
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pydantic import TypeAdapter

from rag_assets.change.sync import Failure
from rag_assets.columns.arrow_sql import where
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.latency import Latency
from rag_assets.evaluation.scores import Scores
from rag_assets.evaluation.summary import main_cutoff, shown_domains
from rag_assets.evaluation.superseded_gold import SupersededGold
from rag_assets.store import Store
from rag_assets.store.atomic import put, take_away, write_atomically

REPORT_FILE = "retrieval_evaluation.html"
RECORD_FILE = "evaluation.json"
RANKINGS_FILE = "rankings.parquet"
TABLES = tuple(field.name for field in fields(Scores))
"""The tables of `Scores`, each in a file of its own."""

Settings: TypeAlias = Mapping[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    """What was evaluated, when, and with which settings."""

    made_from: str
    """Fingerprint of index, questions and settings: while it is the same, nothing is computed."""
    variant: str
    evaluated_at: str
    """The time of the evaluation: ISO 8601, UTC."""
    questions: int
    retrievers: Sequence[str]
    cutoffs: Sequence[int]
    main_retriever: str
    """The one whose worst questions are shown: that which answers searches, if it was evaluated."""
    latency: Mapping[str, Latency]
    """The latency of each retriever."""
    settings: Settings
    """Variant, index, protocol and versions, under the names that the report shows."""
    margin: float
    """Smaller differences count as equivalent."""
    flaws: Sequence[Flaw] = ()
    """What makes its numbers say less than they seem to, as it showed when it was made: see
    `doctor.flaws_of`."""
    versions: str = "all"
    """Versions of documents that were searched: `current` or `all`."""
    superseded: Sequence[SupersededGold] = ()
    """Questions that were not measured, since their gold lies in a superseded document."""
    smoke_tests: Sequence[str] = ()
    """Question sets that a program made and that decide nothing: see `evaluation.smoke_tests`."""
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    """Retrievers that could not search, and why: the one that answers searches is none of them."""


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """An evaluation of one variant on one or more question sets."""

    folder: Path
    record: EvaluationRecord
    scores: Scores
    is_new: bool = field(default=False, kw_only=True)
    """Whether it was computed by this call; else it was found in the folder."""
    seconds: float = field(default=0.0, kw_only=True)
    failures: Sequence[Failure] = field(default=(), kw_only=True)
    """The lines of the question file that could not be used."""
    spending: Mapping[str, Mapping[str, int | float | str]] = field(
        default_factory=dict, kw_only=True
    )
    """What each language model was used for by this call: see `Spending.record`."""

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / REPORT_FILE

    @property
    def data_version(self) -> str:
        """A hash of index, questions and settings."""
        return self.record.made_from[:32]

    @property
    def main_cutoff(self) -> int:
        """10 where it was measured, else the largest cutoff."""
        return main_cutoff(self.record.cutoffs)

    def domains(self, *, level: str = "gold") -> list[str]:
        """The groups of questions; `combined` only if it is not equal to one of the others."""
        rows = self.summary_rows(level=level, split="all")
        return shown_domains({str(row["domain"]): row["questions"] for row in rows})

    def value(
        self,
        metric: str,
        *,
        retriever: str,
        domain: str,
        cutoff: int,
        level: str = "gold",
        split: str = "all",
    ) -> Mapping[str, float | int | str | None] | None:
        """One row of the summary (`scores.SUMMARY`); None if there are no such questions."""
        wanted = {
            "metric": metric,
            "retriever": retriever,
            "domain": domain,
            "cutoff": cutoff,
            "level": level,
            "split": split,
        }
        rows = self.summary_rows(**wanted)
        return rows[0] if rows else None

    def summary_rows(self, **wanted: str | int) -> list[dict[str, float | int | str | None]]:
        """Rows of the summary whose columns have the `wanted` values."""
        return where(self.scores.summary, **wanted).to_pylist()

    def difference_rows(self, **wanted: str | int) -> list[dict[str, float | int | str | None]]:
        """Rows of the paired differences whose columns have the `wanted` values."""
        return where(self.scores.differences, **wanted).to_pylist()

    def overall_rows(self, **wanted: str | int) -> list[dict[str, float | int | str | None]]:
        """Tests of all retrievers at once whose columns have the `wanted` values."""
        return where(self.scores.overall, **wanted).to_pylist()

    def agreement_rows(self, **wanted: str | int) -> list[dict[str, float | int | str | None]]:
        """Rows of the similarity of retrievers whose columns have the `wanted` values."""
        return where(self.scores.agreement, **wanted).to_pylist()

    def missing(self, *, level: str = "gold") -> list[dict[str, str]]:
        """Gold that is not in the index, with its question and the reason."""
        rows = self._questions(level=level, retriever=self.record.retrievers[0])
        return [
            {"question": row["question"], "id": row["question_id"], "gold": gold}
            for row in rows
            for gold in row["missing"]
        ]

    def worst(self, count: int) -> list[dict]:
        """The rows of the questions with the lowest scores of the main retriever, lowest first.

        Questions whose gold is not in the index come last: no retriever can find it.
        """
        rows = self._questions(level="gold", retriever=self.record.main_retriever)
        cutoff = max(self.record.cutoffs)
        rows.sort(key=lambda row: (bool(row["missing"]), row[f"ndcg@{cutoff}"], row["question_id"]))
        return [row for row in rows if row[f"ndcg@{cutoff}"] < 1][:count]

    def first_ranks(self, retriever: str) -> list[int | None]:
        """Rank of the first relevant item for each question, at the gold's own level."""
        rows = self._questions(level="gold", retriever=retriever)
        return [row["first_rank"] for row in rows]

    def _questions(self, **wanted: str) -> list[dict]:
        return where(self.scores.questions, **wanted).to_pylist()


def folder_of(store: Store, variant: str, *, name: str | None = None) -> Path:
    """The folder of the evaluation of a variant; `name` is that of a separate question file."""
    folder = store.root / "reports" / variant
    return folder / name if name else folder


def made_from(folder: Path) -> str | None:
    """The fingerprint `made_from` of the evaluation in `folder`; None if there is none."""
    record = _record(folder)
    return record.made_from if record else None


def rankings_in(folder: Path) -> pa.Table | None:
    """The rankings of the evaluation in `folder`, with retriever and question id."""
    import pyarrow.parquet as pq

    return None if made_from(folder) is None else pq.read_table(folder / RANKINGS_FILE)


def flaws_in(folder: Path) -> Sequence[Flaw]:
    """The flaws that the evaluation in `folder` was found to have; none if there is none."""
    record = _record(folder)
    return record.flaws if record else ()


def questions_in(folder: Path) -> pa.Table:
    """The per-question table of the evaluation in `folder`."""
    import pyarrow.parquet as pq

    return pq.read_table(folder / "questions.parquet")


def load(folder: Path, *, made_from: str) -> EvaluationResult | None:
    """The evaluation in `folder`, if it is complete and has the fingerprint `made_from`."""
    import pyarrow.parquet as pq

    record = _record(folder)
    if record is None or record.made_from != made_from or not (folder / REPORT_FILE).is_file():
        return None
    try:
        pq.read_metadata(folder / RANKINGS_FILE)  # the check of the rankings reads it
        tables = [pq.read_table(folder / f"{name}.parquet") for name in TABLES]
    except (OSError, pa.ArrowInvalid):
        return None
    return EvaluationResult(folder, record, Scores(*tables))


def save(result: EvaluationResult, *, rankings: pa.Table, report: str) -> None:
    """Write everything; the record comes last."""
    folder = result.folder
    folder.mkdir(parents=True, exist_ok=True)
    take_away(folder / RECORD_FILE)
    _write(rankings, folder / RANKINGS_FILE)
    for name in TABLES:
        _write(getattr(result.scores, name), folder / f"{name}.parquet")
    write_atomically(result.report, report)
    write_atomically(folder / RECORD_FILE, json.dumps(asdict(result.record), indent=1))


def _record(folder: Path) -> EvaluationRecord | None:
    """The record in `folder`; None if there is none, or it is of another release."""
    try:
        return TypeAdapter(EvaluationRecord).validate_json((folder / RECORD_FILE).read_bytes())
    except (OSError, ValueError):
        return None


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, fresh, compression="zstd")
    put(fresh, path)
