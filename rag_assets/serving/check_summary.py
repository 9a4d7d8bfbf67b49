"""The last results of the checks, for `rag-assets refresh` and `rag-assets status`.

Errors come first, then warnings, then what drifted: one line for a variant, whatever number of
tables and measures a corpus that has grown moves.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path

from rag_assets import quality
from rag_assets.config import Config
from rag_assets.config.checks import entries
from rag_assets.operations.problems.current import named_results, names_of_tables
from rag_assets.quality.suites import DRIFT_REMEDY, DRIFT_TOTALS
from rag_assets.serving.replies import Json
from rag_assets.store import Store

HOW_MUCH = ((2, "a little more than is allowed"), (5, "clearly more than is allowed"))
VECTORS = ("mean_norm_change", "centroid_distance")
"""Measures of drift that are no shares."""
FOR_PEOPLE = ("lines", "drift")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedExpectation:
    """An expectation that does not hold."""

    asset: str
    table: str
    variant: str
    """The first variant that has the table; empty for a table that all share."""
    expectation: str
    severity: str
    since: datetime
    """Since when it does not hold; of drift, when it was judged."""
    found: str
    examples: Sequence[str]
    """Files, rows or units that break it, and what is wrong with each."""
    remedy: str
    lines: Sequence[str]
    """Everything about it as lines of text, for people."""
    drift: tuple[str, str, float] | None = None
    """What is measured, how far it moved, and how often that is what is allowed."""

    @property
    def record(self) -> dict[str, Json]:
        """The expectation for programs."""
        shown = {name: value for name, value in asdict(self).items() if name not in FOR_PEOPLE}
        return shown | {"since": self.since.isoformat()}


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """The last results of all tables."""

    expectations: int
    failed: Sequence[FailedExpectation]
    page: Path

    @property
    def record(self) -> dict[str, Json]:
        """The results for programs."""
        return {
            "expectations": self.expectations,
            "failed": [item.record for item in self.failed],
            "page": str(self.page),
        }

    @property
    def text(self) -> str:
        """The results for people, with the lines of each expectation that does not hold."""
        return self._told(self.failed)

    def text_of_run(self, variant: str, *, began: datetime) -> str:
        """The results of a run for `variant`: all errors, and the warnings new in it."""
        new = [
            item
            for item in self.failed
            if item.severity == "error"
            or (item.variant in ("", variant) and item.since >= began.replace(microsecond=0))
        ]
        others = len(self.failed) - len(new)
        rest = f"\n  and {others:,} that stood before or are of other variants: rag-assets status"
        return self._told(new) + (rest if others else "")

    def _told(self, failed: Sequence[FailedExpectation]) -> str:
        if not self.expectations:
            return "Checks: no table was judged yet"
        passed = self.expectations - len(self.failed)
        alike: defaultdict[tuple[str, ...], list[FailedExpectation]] = defaultdict(list)
        drifted: defaultdict[tuple[str, str], list[FailedExpectation]] = defaultdict(list)
        for item in sorted(failed, key=lambda each: each.severity):  # an error comes first
            if item.drift:
                drifted[item.severity, item.variant].append(item)
            else:
                alike[item.severity, *item.lines].append(item)
        single = (
            (f"{severity}: {item.asset}{_of(item.variant)}{_and(len(more))}: {first}", *others)
            for (severity, first, *others), (item, *more) in alike.items()
        )
        drifts = ([f"{severity}: {_drift(items)}"] for (severity, _), items in drifted.items())
        head = f"Checks: {passed} of {self.expectations} expectations hold: {self.page}"
        return "\n".join([head, *(f"  {line}" for line in chain(*single, *drifts))])


def check_summary(store: Store, config: Config) -> CheckSummary:
    """Read the stored results; nothing is checked now. Sources are problems of their own."""
    results, variants = named_results(store, config), names_of_tables(store, config)
    failed = [
        _failed(result, item, variant=variants.get(result.table, ""))
        for result in results
        for item in result.failed
    ]
    total = sum(len(result.expectations) for result in results)
    return CheckSummary(total, failed, quality.page_file(store))


def _failed(
    result: quality.Result, item: quality.Expectation, *, variant: str
) -> FailedExpectation:
    outcome = result.outcomes[item.name]
    is_drift = item.total in DRIFT_TOTALS
    since = None if is_drift else result.failing_since(item.name)
    return FailedExpectation(
        asset=result.asset,
        table=result.table,
        variant=variant,
        expectation=item.name,
        severity=item.severity,
        since=datetime.fromisoformat(since or result.at),
        found=outcome.summary,
        examples=[quality.example_line(example) for example in outcome.examples],
        remedy=result.remedy(item),
        lines=result.explain(item),
        drift=_moved(result.asset, item, outcome) if is_drift else None,
    )


def _moved(
    asset: str, item: quality.Expectation, outcome: quality.Outcome
) -> tuple[str, str, float]:
    """What a measure of drift is, how far it moved, and how often that is what is allowed."""
    measure = entries().drift[item.name.removeprefix("drift_")]
    moved, most = float(outcome.observed or 0), float(str(item.arguments["max_value"]))
    example = next(iter(outcome.examples), {})
    of = f"{example['of']} " if "of" in example else ""
    values = f"{of}{example['before']} -> {example['now']}, " if example else ""
    form = ".2g" if measure.of in VECTORS else ".0%"
    said = f"{moved:{form}} ({values}{most:{form}} allowed) in {asset}"
    return str(measure.about), said, moved / most


def _drift(items: Sequence[FailedExpectation]) -> str:
    """What drifted of a variant, in a line: of each measure the table where it moved most."""
    by_measure: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for what, moved, times in (item.drift for item in items if item.drift):
        by_measure[what].append((times, moved))
    worst = {what: max(found) for what, found in by_measure.items()}
    moved = "; ".join(
        f"{what} {said}{_and(len(by_measure[what]) - 1)}" for what, (_, said) in worst.items()
    )
    times = max(times for times, _ in worst.values())
    much = next((word for most, word in HOW_MUCH if times < most), "far more than is allowed")
    of = items[0].variant or "sources and tables of all variants"
    return f"drift, {of}: {much} since the last accepted run: {moved}; {DRIFT_REMEDY}"


def _and(more: int) -> str:
    return f" and {more:,} more" if more else ""


def _of(variant: str) -> str:
    return f" of {variant}" if variant else ""
