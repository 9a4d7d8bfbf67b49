"""The adapter to Great Expectations 1.x: it evaluates expectations about totals and about columns.

All totals form a table of one row with a column for each, so that they cost the same for ten units
and for ten million. One context serves the whole process.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from rag_assets.quality.values import (
    EXAMPLES_SHOWN,
    Example,
    Expectation,
    Outcome,
    TableMeasures,
)
from rag_assets.reports.previews import shortened

if TYPE_CHECKING:
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.expectations import Expectation as GreatExpectation

Detail = Literal["BOOLEAN_ONLY", "SUMMARY"]


def evaluate(
    expectations: Sequence[Expectation],
    *,
    measures: TableMeasures,
    read: Callable[[Sequence[str]], pa.Table],
) -> dict[str, Outcome]:
    """The outcome of each expectation by its name.

    Args:
        expectations: About totals, or about columns of the table.
        measures: The totals, with examples.
        read: Reads some columns of the table, of which the first names a row; only called for
            expectations about columns.

    An expectation that cannot be evaluated fails, with the reason in its note.
    """
    outcomes: dict[str, Outcome] = {}
    on_totals = [item for item in expectations if item.total in measures.totals]
    totals = pa.table({name: [float(value)] for name, value in measures.totals.items()})
    for item, result in _judged(on_totals, table=totals):
        total = str(item.total)
        outcomes[item.name] = Outcome(
            passed=bool(result.success),
            observed=measures.totals[total],
            measured=measures.rows,
            examples=[] if result.success else list(measures.examples.get(total, [])),
        )
    on_columns = [item for item in expectations if item.total is None]
    if on_columns:
        outcomes |= _of_columns(on_columns, read=read)
    for item in expectations:
        if item.name not in outcomes:
            outcomes[item.name] = Outcome(passed=False, note=f"nothing measures {item.total}")
    return outcomes


def _of_columns(
    expectations: Sequence[Expectation], *, read: Callable[[Sequence[str]], pa.Table]
) -> dict[str, Outcome]:
    columns = dict.fromkeys(name for item in expectations for name in item.columns)
    table = read(list(columns))
    outcomes = {}
    for item, result in _judged(expectations, table=table, detail="SUMMARY"):
        outcomes[item.name] = _outcome(item, result, rows=table.num_rows)
    return outcomes


def _judged(
    expectations: Sequence[Expectation], *, table: pa.Table, detail: Detail = "BOOLEAN_ONLY"
) -> "Iterator[tuple[Expectation, ExpectationValidationResult]]":
    """Each expectation with its result; with wrong arguments the result is a failure."""
    if not expectations:
        return
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read once, when it is imported
    import great_expectations as gx
    import pandas as pd
    from great_expectations.core import ExpectationValidationResult

    by_name = {item.name: item for item in expectations}
    built = []
    for item in expectations:
        try:
            built.append(_built(item))
        except ValueError as error:  # pydantic says which argument is wrong
            problem = {"raised_exception": True, "exception_message": str(error)}
            yield item, ExpectationValidationResult(success=False, exception_info=problem)
    if not built:
        return
    batch = _frames().get_batch({"dataframe": table.to_pandas(types_mapper=pd.ArrowDtype)})
    result = batch.validate(
        gx.ExpectationSuite(name="suite", expectations=built),
        result_format={
            "result_format": detail,
            "unexpected_index_column_names": table.column_names[:1],
            "partial_unexpected_count": EXAMPLES_SHOWN,
        },
    )
    for entry in result.results:
        yield by_name[(entry.expectation_config or {})["meta"]["name"]], entry


@cache
def _frames() -> "BatchDefinition":
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("arrow").add_dataframe_asset("rows")
    return asset.add_batch_definition_whole_dataframe("all")


def _built(expectation: Expectation) -> "GreatExpectation":
    from great_expectations import expectations

    return getattr(expectations, expectation.kind)(
        **{**expectation.arguments, "meta": {"name": expectation.name}}
    )


def _outcome(
    expectation: Expectation, entry: "ExpectationValidationResult", *, rows: int
) -> Outcome:
    problem = _problem(entry.exception_info or {})
    if problem:
        note = f"could not be judged, see checks in the config: {expectation.kind}: {problem}"
        return Outcome(passed=False, measured=rows, note=note)
    found = entry.result
    if "unexpected_count" not in found:
        observed = shortened(found.get("observed_value"))
        return Outcome(passed=bool(entry.success), observed=observed, measured=rows)
    values = [{"value": value} for value in found.get("partial_unexpected_list", ())]
    examples: list[Example] = [
        {name: shortened(value) for name, value in example.items()}
        for example in found.get("partial_unexpected_index_list", values)
        if isinstance(example, Mapping)
    ]
    return Outcome(
        passed=bool(entry.success),
        unexpected=int(found["unexpected_count"]),
        measured=int(found.get("element_count", rows)),
        examples=examples[:EXAMPLES_SHOWN],
    )


def _problem(info: Mapping[str, object]) -> str | None:
    """The error of an evaluation: Great Expectations gives one, or one for each metric."""
    if "raised_exception" in info:
        return str(info.get("exception_message")) if info["raised_exception"] else None
    nested = (_problem(part) for part in info.values() if isinstance(part, Mapping))
    return next((found for found in nested if found), None)
