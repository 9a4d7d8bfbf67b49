"""The expectations of a stage: the project's own and those that the user declares.

The project's expectations are about totals that the checks of a stage measure. `config/checks.yaml`
lists them; the config sets the severity of each and its bound. Expectations that a user declares
are about the table's own columns.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_assets.config.checks import Bound, Check, Declared, Drift, StageChecks, entries
from rag_assets.quality.values import Expectation, Number

CONDITION = "row_condition"
"""Argument of Great Expectations: a condition on the rows to check."""
BETWEEN = "ExpectColumnValuesToBeBetween"

DRIFT_TOTALS = frozenset(measure.of for measure in entries().drift.values())

BROKEN_REMEDY = (
    "no source can cause this, it is a defect or something else wrote to the table: delete its "
    "folder below lance/ and its record in completed/, refresh, and report it if it comes back"
)
"""Remedy if a table breaks a rule that every refresh keeps."""
DRIFT_REMEDY = (
    "if the change is right, rag-assets refresh --accept-drift (accept_drift in the launchpad)"
)
DECLARED_REMEDY = "see what the config declares, and mend the values or the expectation"


def at_most(
    name: str, *, of: str, description: str, most: Number = 0, remedy: str = BROKEN_REMEDY
) -> Expectation:
    """Expect the total `of` to be at most `most`; the config may set another bound, by `name`."""
    return Expectation(
        name=name,
        description=description,
        kind=BETWEEN,
        arguments={"column": of, "max_value": most},
        total=of,
        remedy=remedy,
    )


def expectations_of(stage: str) -> list[Expectation]:
    """The project's own expectations of a stage; the config may set their severities and bounds."""
    return [
        at_most(
            name,
            of=entry.of,
            description=entry.says,
            most=entry.most if entry.max is None else entry.max,
            remedy=entry.remedy or BROKEN_REMEDY,
        )
        for name, entry in entries().stages[stage].checks.items()
    ]


def suite(settings: StageChecks, *expectations: Expectation) -> list[Expectation]:
    """`expectations`, those on drift and the declared ones, with the `settings` of a stage."""
    return [
        *_configured(settings, expectations),
        *_drifts(settings),
        *(
            _declared(item, known=settings.columns)
            for item in settings.expectations
            if item.severity != "off"
        ),
    ]


def _configured(
    settings: StageChecks, expectations: tuple[Expectation, ...]
) -> Iterator[Expectation]:
    for expectation in expectations:
        check: Check = getattr(settings, expectation.name)
        if check.severity == "off":
            continue
        if isinstance(check, Bound):
            arguments = {**expectation.arguments, "max_value": check.max}
            expectation = replace(expectation, arguments=arguments)
        yield replace(expectation, severity=check.severity)


def _drifts(settings: StageChecks) -> Iterator[Expectation]:
    drift: Drift | None = getattr(settings, "drift", None)
    if drift is None or drift.severity == "off":
        return
    for measure, entry in entries().drift.items():
        bound: float | None = getattr(drift, measure, None)
        if bound is not None:
            yield replace(
                at_most(f"drift_{measure}", of=entry.of, description=entry.says, most=bound),
                severity=drift.severity,
                remedy=DRIFT_REMEDY,
            )


def _declared(declared: Declared, *, known: Sequence[str]) -> Expectation:
    assert declared.severity != "off", "left out by the caller"
    condition = str(declared.arguments.get(CONDITION, ""))
    named = [name for name in known if re.search(rf"\b{re.escape(name)}\b", condition)]
    return Expectation(
        name=declared.label,
        description=declared.description or "Declared in the config.",
        kind=declared.expect,
        arguments=declared.arguments | ({"column": declared.column} if declared.column else {}),
        severity=declared.severity,
        columns=list(dict.fromkeys([*declared.columns, *named])),
        remedy=DECLARED_REMEDY,
    )
