"""Data quality: what must hold of a table before others read it, and how far it drifted.

A room measures its table in one pass (`Tally`, `Profiler`) and names what must hold of the numbers
(`suite`); `rag_assets.gates` turns that into asset checks. Great Expectations judges: the numbers
for the expectations of this project, the columns themselves for those that a user declares in the
config. A table that did not change keeps its last result: nothing is measured, and neither Great
Expectations nor pandas is imported. This is the only package where pandas may appear.
"""

from rag_assets.quality.measuring import (
    Profiler,
    Tally,
    failed_inputs,
    inputs_of,
    lengths_of,
    missing,
    standing,
)
from rag_assets.quality.page import judged_by, page_file
from rag_assets.quality.results import Result, results_in
from rag_assets.quality.subjects import Subject, forget, of_step, outcomes_of
from rag_assets.quality.suites import at_most, none, suite
from rag_assets.quality.validation import evaluate
from rag_assets.quality.values import (
    EXAMPLES_SHOWN,
    Example,
    Expectation,
    Measures,
    Outcome,
    Profile,
    Severity,
    told,
)

__all__ = [
    "EXAMPLES_SHOWN",
    "Example",
    "Expectation",
    "Measures",
    "Outcome",
    "Profile",
    "Profiler",
    "Result",
    "Severity",
    "Subject",
    "Tally",
    "at_most",
    "evaluate",
    "failed_inputs",
    "forget",
    "inputs_of",
    "judged_by",
    "lengths_of",
    "missing",
    "none",
    "of_step",
    "outcomes_of",
    "page_file",
    "results_in",
    "standing",
    "suite",
    "told",
]
