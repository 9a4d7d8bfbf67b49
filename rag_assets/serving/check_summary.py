"""The last results of the checks, for `rag-assets refresh` and `rag-assets status`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_assets import quality
from rag_assets.serving.answers import Json
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
        """For programs."""
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
        """For programs."""
        return {
            "expectations": self.expectations,
            "failed": [item.record for item in self.failed],
            "page": str(self.page),
        }

    @property
    def text(self) -> str:
        """For people, with the lines of each expectation that does not hold."""
        if not self.expectations:
            return "Checks: no table was judged yet"
        passed = self.expectations - len(self.failed)
        lines = [
            f"  {line}"
            for item in self.failed
            for line in (f"{item.severity}: {item.asset}: {item.lines[0]}", *item.lines[1:])
        ]
        head = f"Checks: {passed} of {self.expectations} expectations hold: {self.page}"
        return "\n".join([head, *lines])


def check_summary(store: Store) -> CheckSummary:
    """Read the stored results; nothing is checked now."""
    results = quality.results_in(store)
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
    return CheckSummary(total, failed, quality.page_file(store))
