"""Great Expectations as Dagster asset checks: what must hold of a table before others read it.

A room says which expectations its table must meet and how to measure it; here they become checks.
A failed blocking check holds back everything downstream in the same run, and automation as long as
it fails; a warning only shows. A table that did not change keeps its last result: nothing is
measured, and neither Great Expectations nor pandas is imported. This is the only module where
pandas may appear, and it sees no more than the columns that are measured.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import sync
from rag_assets.atomic import write_atomically
from rag_assets.identity import Canonical, fingerprint
from rag_assets.store import Store

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.expectations import Expectation as GreatExpectation

VERSION = 1
"""Raised when the meaning of a stored result changes."""
EXAMPLES_SHOWN = 5
TEXT_LENGTH = pa.field("text_length", pa.int32())

Number: TypeAlias = int | float
Example: TypeAlias = dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that must hold, by the name of the Great Expectations class that tests it."""

    name: str
    """Name of the asset check."""
    description: str
    kind: str
    arguments: Mapping[str, Canonical]
    blocking: bool = True
    """Whether a failure is an error that blocks downstream, or a warning that shows."""


def unique(column: str, *, name: str, description: str) -> Expectation:
    """No two rows share a value of `column`."""
    return Expectation(name, description, "ExpectColumnValuesToBeUnique", {"column": column})


def within(
    column: str,
    *,
    name: str,
    description: str,
    low: Number | None = None,
    high: Number | None = None,
    blocking: bool = True,
) -> Expectation:
    """Every value of `column` lies between `low` and `high`, both included."""
    bounds = {"column": column, "min_value": low, "max_value": high}
    kind = "ExpectColumnValuesToBeBetween"
    return Expectation(name, description, kind, bounds, blocking=blocking)


@dataclass(frozen=True, slots=True)
class Measures:
    """What is looked at of a table: a few narrow columns, and numbers over the whole of it."""

    rows: pa.Table
    """One row for each unit; the first column names it."""
    totals: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one expectation went."""

    passed: bool
    unexpected: int
    """Values that do not meet the expectation."""
    measured: int
    """Values that were looked at."""
    examples: Sequence[Example] = ()
    observed: Number | None = None
    """The number itself, where the expectation is on a total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An asset and what must hold of it. The partition is None where there are no variants."""

    asset: dg.AssetKey
    expectations: Sequence[Expectation]
    state: Callable[[Store, str | None], Canonical]
    """Names everything that the measures depend on; reads no more than data versions."""
    measure: Callable[[Store, str | None], Measures]
    partitions: dg.PartitionsDefinition | None = None


def standing(store: Store, *tables: tuple[str, str]) -> list[Canonical]:
    """How tables stand, each named with its key column: data version and failed inputs."""
    return [
        [sync.current_version(store, name, key=key), failed_inputs(store, name)]
        for name, key in tables
    ]


def failed_inputs(store: Store, name: str) -> int:
    """How many inputs the table lacks because they failed."""
    finished = store.completion(name)
    return finished.failed if finished else len(sync.quarantined(store, name))


def text_lengths(store: Store, name: str, *, key: str, columns: Sequence[str] = ()) -> pa.Table:
    """`key`, `columns` and `text_length`, the characters of `text` without blanks around it."""
    kept = [key, *columns]
    lengths = (
        pa.Table.from_batches([batch.select(kept)]).append_column(
            TEXT_LENGTH, pc.utf8_length(pc.utf8_trim_whitespace(batch["text"]))
        )
        for batch in store.batches(name, columns=[*kept, "text"])
    )
    schema = pa.schema([store.schema(name).field(column) for column in kept])
    return sync.concatenated(lengths, schema.append(TEXT_LENGTH))


def checks(subject: Subject, *, store: Store) -> dg.AssetChecksDefinition:
    """One step that answers all checks of `subject`; each has its own line in the UI."""
    by_name = {expectation.name: expectation for expectation in subject.expectations}

    @dg.multi_asset_check(
        name=f"check_{subject.asset.to_python_identifier()}",
        specs=[
            dg.AssetCheckSpec(
                name,
                asset=subject.asset,
                description=expectation.description,
                blocking=expectation.blocking,
                partitions_def=subject.partitions,
            )
            for name, expectation in by_name.items()
        ],
        can_subset=True,
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        partition = context.partition_key if subject.partitions else None
        outcomes = outcomes_of(subject, store=store, partition=partition)
        for key in sorted(context.selected_asset_check_keys):
            yield _result(key, by_name[key.name], outcomes[key.name])

    return check


def outcomes_of(
    subject: Subject, *, store: Store, partition: str | None = None
) -> dict[str, Outcome]:
    """The outcome of each expectation by name; the stored one while nothing has changed."""
    recipe: list[Canonical] = [
        [item.name, item.kind, dict(item.arguments)] for item in subject.expectations
    ]
    state = fingerprint(VERSION, recipe, subject.state(store, partition))
    file = _results_file(store, subject.asset, partition)
    outcomes = _stored(file, state=state)
    if outcomes is None:
        outcomes = evaluate(subject.expectations, measures=subject.measure(store, partition))
        _keep(file, state=state, outcomes=outcomes)
    return outcomes


def evaluate(expectations: Sequence[Expectation], *, measures: Measures) -> dict[str, Outcome]:
    """Validate `measures` with Great Expectations.

    An expectation on a name of `measures.totals` is tested on that number, any other on the
    column of `measures.rows`.
    """
    totals = pa.table({name: [value] for name, value in measures.totals.items()})
    on_totals = [item for item in expectations if item.arguments["column"] in totals.column_names]
    on_rows = [item for item in expectations if item not in on_totals]
    outcomes = _validated(on_rows, table=measures.rows)
    for name, outcome in _validated(on_totals, table=totals).items():
        total = next(item.arguments["column"] for item in on_totals if item.name == name)
        outcomes[name] = replace(outcome, observed=measures.totals[str(total)])
    return outcomes


def _validated(expectations: Sequence[Expectation], *, table: pa.Table) -> dict[str, Outcome]:
    if not expectations:
        return {}
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read once, when it is imported
    import great_expectations as gx
    import pandas as pd
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("arrow").add_dataframe_asset("rows")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch(
        {"dataframe": table.to_pandas(types_mapper=pd.ArrowDtype)}
    )
    result = batch.validate(
        gx.ExpectationSuite(name="suite", expectations=[_built(item) for item in expectations]),
        result_format={
            "result_format": "SUMMARY",
            "unexpected_index_column_names": table.column_names[:1],
            "partial_unexpected_count": EXAMPLES_SHOWN,
        },
    )
    return dict(_read(result))


def _built(expectation: Expectation) -> "GreatExpectation":
    from great_expectations import expectations

    return getattr(expectations, expectation.kind)(
        **expectation.arguments, meta={"name": expectation.name}
    )


def _read(result: "ExpectationSuiteValidationResult") -> Iterator[tuple[str, Outcome]]:
    for entry in result.results:
        name = (entry.expectation_config or {})["meta"]["name"]
        counts = entry.result
        if "unexpected_count" not in counts:
            raise RuntimeError(f"the check {name} could not be evaluated: {entry.exception_info}")
        yield (
            name,
            Outcome(
                passed=bool(entry.success),
                unexpected=int(counts["unexpected_count"]),
                measured=int(counts["element_count"]),
                examples=[
                    {column: _plain(value) for column, value in example.items()}
                    for example in counts["partial_unexpected_index_list"][:EXAMPLES_SHOWN]
                ],
            ),
        )


def _plain(value: object) -> str | int | float | None:
    if value is None or isinstance(value, (str, int, float)):
        return value
    return str(value)


def _result(
    key: dg.AssetCheckKey, expectation: Expectation, outcome: Outcome
) -> dg.AssetCheckResult:
    severity = dg.AssetCheckSeverity.ERROR if expectation.blocking else dg.AssetCheckSeverity.WARN
    metadata: dict[str, dg.MetadataValue] = {
        "measured": dg.MetadataValue.int(outcome.measured),
        "unexpected": dg.MetadataValue.int(outcome.unexpected),
        "expectation": dg.MetadataValue.json({expectation.kind: dict(expectation.arguments)}),
    }
    if outcome.observed is not None:
        metadata["observed"] = dg.MetadataValue.float(float(outcome.observed))
    elif outcome.examples:
        metadata["examples"] = dg.MetadataValue.json(list(outcome.examples))
    return dg.AssetCheckResult(
        passed=outcome.passed,
        asset_key=key.asset_key,
        check_name=key.name,
        severity=severity,
        metadata=metadata,
    )


def _results_file(store: Store, asset: dg.AssetKey, partition: str | None) -> Path:
    folder = store.root / "checks" / asset.to_python_identifier()
    return folder / f"{partition or 'all'}.json"


def _stored(file: Path, *, state: str) -> dict[str, Outcome] | None:
    try:
        record = json.loads(file.read_text("utf-8"))
        if record["state"] == state:
            return {name: Outcome(**outcome) for name, outcome in record["outcomes"].items()}
    except (FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
        return None
    return None


def _keep(file: Path, *, state: str, outcomes: Mapping[str, Outcome]) -> None:
    record = {"state": state, "outcomes": {name: asdict(item) for name, item in outcomes.items()}}
    write_atomically(file, json.dumps(record, indent=1))
