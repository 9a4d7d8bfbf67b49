"""The expectations of a stage: the project's own and those that the user declares.

The project's expectations are about totals that the checks of a stage measure; the config sets the
severity of each and its bound. Expectations that a user declares are about the table's own columns.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_assets.config.checks import Bound, Check, Declared, Drift, StageChecks
from rag_assets.quality.values import Expectation, Number

CONDITION = "row_condition"
"""Argument of Great Expectations: a condition on the rows to check."""
BETWEEN = "ExpectColumnValuesToBeBetween"

DRIFTS: Mapping[str, tuple[str, str]] = {
    "rows": ("row_count_change", "About as many rows as in the last accepted run."),
    "nulls": ("null_share_change", "No column lost or gained many of its values."),
    "lengths": ("mean_length_change", "The texts are about as long as in the last accepted run."),
    "languages": ("language_change", "The texts are in about the same languages."),
    "norms": ("mean_norm_change", "The vectors are about as long as in the last accepted run."),
    "centroid": ("centroid_distance", "The vectors point where those of the last run did."),
}
"""For each measure of drift in the config: the total that it bounds, and its description."""
DRIFT_TOTALS = frozenset(total for total, _ in DRIFTS.values())

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


def none(name: str, *, of: str, description: str, remedy: str = BROKEN_REMEDY) -> Expectation:
    """Expect the total `of`, a number of exceptions, to be 0."""
    return at_most(name, of=of, description=description, remedy=remedy)


def suite(settings: StageChecks, *expectations: Expectation) -> list[Expectation]:
    """`expectations`, those on drift and the declared ones, with the `settings` of a stage."""
    return [
        *_configured(settings, expectations),
        *_drifts(settings),
        *(
            _declared(item, known=settings.COLUMNS)
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
    for measure, (total, description) in DRIFTS.items():
        bound: float | None = getattr(drift, measure, None)
        if bound is not None:
            yield replace(
                at_most(f"drift_{measure}", of=total, description=description, most=bound),
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
