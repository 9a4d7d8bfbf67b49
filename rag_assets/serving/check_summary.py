"""The last results of the checks, for `rag-assets refresh` and `rag-assets status`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_assets import quality
from rag_assets.config import Config
from rag_assets.operations.problems.current import named_results
from rag_assets.serving.replies import Json
from rag_assets.sources import readability
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class FailedExpectation:
    """An expectation that does not hold."""

    asset: str
    table: str
    expectation: str
    severity: str
    found: str
    examples: Sequence[str]
    """Files, rows or units that break it, and what is wrong with each."""
    remedy: str
    lines: Sequence[str]
    """All of this as lines of text, for people."""

    @property
    def record(self) -> dict[str, Json]:
        """The expectation for programs."""
        return {
            "asset": self.asset,
            "table": self.table,
            "expectation": self.expectation,
            "severity": self.severity,
            "found": self.found,
            "examples": self.examples,
            "remedy": self.remedy,
        }


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
        if not self.expectations:
            return "Checks: no table was judged yet"
        passed = self.expectations - len(self.failed)
        alike: defaultdict[tuple[str, ...], list[FailedExpectation]] = defaultdict(list)
        for item in self.failed:
            alike[item.severity, *item.lines].append(item)
        lines = [
            f"  {line}"
            for (severity, first, *others), (item, *more) in alike.items()
            for line in (f"{severity}: {item.asset}{_and(len(more))}: {first}", *others)
        ]
        head = f"Checks: {passed} of {self.expectations} expectations hold: {self.page}"
        return "\n".join([head, *lines])


def check_summary(store: Store, config: Config) -> CheckSummary:
    """Read the stored results, and how each source was last read; nothing is checked now."""
    results = named_results(store, config)
    failed = [
        FailedExpectation(
            asset=result.asset,
            table=result.table,
            expectation=item.name,
            severity=item.severity,
            found=result.outcomes[item.name].summary,
            examples=[
                quality.example_line(example) for example in result.outcomes[item.name].examples
            ],
            remedy=result.remedy(item),
            lines=result.explain(item),
        )
        for result in results
        for item in result.failed
    ]
    total = sum(len(result.expectations) for result in results)
    if total:
        by_asset = readability.outages_of_assets(store, config)
        total += len(by_asset)
        failed += _unreadable(by_asset, fails_after=config.checks.sources.fails_after)
    return CheckSummary(total, failed, quality.page_file(store))


def _unreadable(
    by_asset: Mapping[str, Sequence[readability.Outage]], *, fails_after: int
) -> Iterator[FailedExpectation]:
    """The check `source_readable` of each asset, where it does not hold."""
    for asset, outages in by_asset.items():
        if not outages:
            continue
        severities = {each.severity(fails_after=fails_after) for each in outages}
        sentences = [each.sentence for each in outages]
        yield FailedExpectation(
            asset=asset,
            table=asset,
            expectation=readability.CHECK,
            severity="error" if "error" in severities else "warning",
            found="; ".join(sentences),
            examples=[each.subject for each in outages],
            remedy=readability.REMEDY,
            lines=[  # why, and what to do, is told where sources are
                f"{readability.CHECK}: {'; '.join(each.headline for each in outages)}"
            ],
        )


def _and(more: int) -> str:
    return f" and {more:,} more" if more else ""
