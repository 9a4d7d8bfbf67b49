"""Data quality: what must hold of a table before others read it, and how much it has changed.

The checks of a stage measure its table in one pass (`Tally` and `Profiler` in `measuring`) and list
what must hold of the numbers (`suites`). `checked_tables` puts both together: read it first. It
measures a table only if something has changed since its last result. `validation` asks Great
Expectations for the verdicts, `drift` compares with an earlier profile, `results` stores results,
`page` shows them, `values` has the types. `languages` measures texts. `rag_assets.asset_checks`
turns all of it into Dagster's asset checks.

Expectations of this project are about the measured numbers; those that a user declares in the
config are about the columns themselves. For an unchanged table neither Great Expectations nor
pandas is imported. This is the only package where pandas may appear.

A table in which no text may be empty, and one is. Totals like this one are what must hold:

>>> import pyarrow as pa
>>> from rag_assets.quality import Profile, Tally, at_most, judged_by
>>> rows = pa.record_batch({"uri": ["a.md", "b.md"], "text": ["Salt spray", ""]})
>>> tally = Tally("empty_texts")
>>> tally.count("empty_texts", pa.array([False, True]), shown=rows)
>>> measures = tally.measures(Profile(rows=2))
>>> measures.totals, measures.examples
({'empty_texts': 1}, {'empty_texts': [{'uri': 'b.md', 'text': ''}]})
>>> judged_by(at_most("no_empty_text", of="empty_texts", description="No text is empty"))
'empty_texts at most 0'
"""

from rag_assets.quality.checked_tables import Subject, delete_unused_results, of_step, result_of
from rag_assets.quality.measuring import (
    Profiler,
    Tally,
    failed_inputs,
    inputs_of,
    lengths_of,
    missing_inputs,
    table_states,
)
from rag_assets.quality.page import judged_by, page_file
from rag_assets.quality.results import EXAMPLES_EXPLAINED, Result, results_in
from rag_assets.quality.suites import at_most, expectations_of, suite
from rag_assets.quality.validation import evaluate
from rag_assets.quality.values import (
    EXAMPLES_SHOWN,
    Example,
    Expectation,
    Outcome,
    Profile,
    Severity,
    TableMeasures,
    example_line,
)

__all__ = [
    "EXAMPLES_EXPLAINED",
    "EXAMPLES_SHOWN",
    "Example",
    "Expectation",
    "Outcome",
    "Profile",
    "Profiler",
    "Result",
    "Severity",
    "Subject",
    "TableMeasures",
    "Tally",
    "at_most",
    "delete_unused_results",
    "evaluate",
    "example_line",
    "expectations_of",
    "failed_inputs",
    "inputs_of",
    "judged_by",
    "lengths_of",
    "missing_inputs",
    "of_step",
    "page_file",
    "result_of",
    "results_in",
    "suite",
    "table_states",
]
