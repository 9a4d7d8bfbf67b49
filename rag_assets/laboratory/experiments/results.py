"""What an experiment found: the record of its run and its tables, before they are written.

`report` lays them out, `runs` writes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from rag_assets.evaluation.experiment_runs import RunRecord
from rag_assets.laboratory.experiments.design import Appendix, Design


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
