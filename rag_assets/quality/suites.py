"""What must hold of a stage: the project's own expectations and the user's, as the config has them.

The project's expectations are on totals that a room measures; the config says how badly each must
hold and how much is allowed. Expectations that a user declares are on the table's own columns.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_assets.config.checks import Bound, Check, Declared, Drift, StageChecks
from rag_assets.quality.values import Expectation, Number

CONDITION = "row_condition"
"""Argument of Great Expectations: which rows are looked at, by any of their columns."""
BETWEEN = "ExpectColumnValuesToBeBetween"

DRIFTS: Mapping[str, tuple[str, str]] = {
    "rows": ("row_count_change", "About as many rows as in the last accepted run."),
    "nulls": ("null_share_change", "No column lost or gained many of its values."),
    "lengths": ("mean_length_change", "The texts are about as long as in the last accepted run."),
    "languages": ("language_change", "The texts are in about the same languages."),
    "norms": ("mean_norm_change", "The vectors are about as long as in the last accepted run."),
    "centroid": ("centroid_distance", "The vectors point where those of the last run did."),
}
"""For each measure of drift in the config, the total that it bounds, and what it says."""
DRIFT_TOTALS = frozenset(total for total, _ in DRIFTS.values())


BROKEN = (
    "no source can cause this, it is a defect or something else wrote to the table: delete its "
    "folder below lance/ and its record in completed/, refresh, and report it if it comes back"
)
"""What to do where a table breaks a rule that the pass which writes it keeps."""
DRIFTED = (
    "if the change is right, rag-assets refresh --accept-drift (accept_drift in the launchpad)"
)
OWN = "see what the config declares, and mend the values or the expectation"


def at_most(
    name: str, *, of: str, description: str, most: Number = 0, remedy: str = BROKEN
) -> Expectation:
    """The total `of` is not above `most`; the config may set another bound under `name`."""
    return Expectation(
        name=name,
        description=description,
        kind=BETWEEN,
        arguments={"column": of, "max_value": most},
        total=of,
        remedy=remedy,
    )


def none(name: str, *, of: str, description: str, remedy: str = BROKEN) -> Expectation:
    """The total `of`, a number of exceptions, is 0."""
    return at_most(name, of=of, description=description, remedy=remedy)


def suite(settings: StageChecks, *expectations: Expectation) -> list[Expectation]:
    """`expectations`, drift and what the user declared, under the `settings` of a stage."""
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
                remedy=DRIFTED,
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
        remedy=OWN,
    )
