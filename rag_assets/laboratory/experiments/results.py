"""What an experiment found: the record of its run and its tables, before they are written.

`report` lays them out, `runs` writes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rag_assets.evaluation.flaws import Flaw
from rag_assets.laboratory.experiments.arms import ArmRecord
from rag_assets.laboratory.experiments.design import Appendix, Design, Factor
from rag_assets.laboratory.experiments.question_origin import SetOrder


@dataclass(frozen=True, slots=True)
class RecordedArm:
    """An arm, in the record of a run."""

    variant: str
    factors: Mapping[str, Factor]
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
class SliceResult:
    """The results of one slice of the questions."""

    name: str
    summary: pa.Table
    differences: pa.Table


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """All results of an experiment."""

    design: Design
    record: RunRecord
    scores: pa.Table
    """One row for each arm, level and question."""
    summary: pa.Table
    """Means of all arms with intervals (`summary.SUMMARY`), on dev and on the reported split."""
    differences: pa.Table
    """Paired differences of the finalists to the reference (`summary.DIFFERENCES`)."""
    all_differences: pa.Table
    """The same for all arms."""
    overall: pa.Table
    """Tests of all finalists at once (`summary.OVERALL`)."""
    extras: Mapping[str, pa.Table]
    """For each arm the table `arms.EXTRAS`."""
    slices: Sequence[SliceResult]
    appendices: Sequence[Appendix]
