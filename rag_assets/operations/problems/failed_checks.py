"""Checks that do not hold, as findings: of the last result of each table."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime

from rag_assets import quality
from rag_assets.config import Config, asset_path
from rag_assets.config.checks import entries
from rag_assets.findings.finding import Finding
from rag_assets.graph import STEPS
from rag_assets.operations.problems import skipped_inputs
from rag_assets.quality.suites import DRIFT_TOTALS
from rag_assets.store import Store, serving_pointer

VECTORS = ("mean_norm_change", "centroid_distance")
"""Measures of drift that are no shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheck(Finding):
    """An expectation that does not hold."""

    asset: str
    table: str
    variant: str
    """The first variant that has the table; empty for a table that all share."""
    expectation: str
    judged_at: datetime
    drift: tuple[str, str, float] | None = field(default=None, repr=False)
    """What is measured, how far it moved, and how often that is what is allowed."""

    @property
    def plain(self) -> Finding:
        """It as a finding like any other, which is what records of alerts keep."""
        return Finding(**{each.name: getattr(self, each.name) for each in fields(Finding)})


def failed_checks(
    store: Store, config: Config, results: Iterable[quality.Result]
) -> list[FailedCheck]:
    """What the `named_results` say; nothing is checked now. Sources are findings of their own."""
    variants = _names_of_tables(store, config)
    return [
        _failed(result, item, variant=variants.get(result.table, ""))
        for result in results
        for item in result.failed
    ]


def named_results(store: Store, config: Config) -> list[quality.Result]:
    """The last results of the checks, but for sources and tables that `config` no longer names.

    The assets of these are gone, and with them the checks that could ever hold again.
    """
    exports = {
        "/".join(asset_path(source, spec))
        for source in config.sources.tables
        for spec in source.tables
    }
    return [
        result
        for result in quality.results_in(store)
        if not result.asset.startswith(skipped_inputs.EXPORTS) or result.asset in exports
    ]


def _names_of_tables(store: Store, config: Config) -> dict[str, str]:
    """The variant that each table is named by for people; none where all variants share it."""
    by_rank = [serving_pointer.serving_variant(store, config), *config.variants]
    return {
        store.known_as(step.table): name
        for name in reversed(by_rank)  # of those that share a table, the first names it
        for step in STEPS.of_variant(config, name).values()
    }


def _failed(result: quality.Result, item: quality.Expectation, *, variant: str) -> FailedCheck:
    outcome = result.outcomes[item.name]
    whose = variant or ("" if result.table == result.asset else result.table)
    return FailedCheck(
        kind="check_failed",
        subject=f"{result.asset}{f' of {whose}' if whose else ''}: {item.name}",
        since=datetime.fromisoformat(result.failing_since(item.name) or result.at),
        reason=result.explain(item)[0],
        remedy=result.remedy(item),
        assets=(result.asset,),
        examples=[quality.example_line(example) for example in outcome.examples],
        severity=item.severity,
        asset=result.asset,
        table=result.table,
        variant=variant,
        expectation=item.name,
        judged_at=datetime.fromisoformat(result.at),
        drift=_moved(result.asset, item, outcome) if item.total in DRIFT_TOTALS else None,
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
