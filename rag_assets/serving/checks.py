"""How the checks stand, for `rag-assets refresh` and `rag-assets status`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_assets import quality
from rag_assets.serving.command import Json
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class Failed:
    """An expectation that does not hold."""

    asset: str
    table: str
    expectation: str
    severity: str
    found: str
    examples: Sequence[str]
    """Files, rows or units behind it, and what is wrong with each."""
    remedy: str
    said: Sequence[str]
    """All of this in lines, for people."""

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
class Standing:
    """How the tables were last judged."""

    expectations: int
    failed: Sequence[Failed]
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
        """For people, with a line for each expectation that does not hold."""
        if not self.expectations:
            return "Checks: no table was judged yet"
        held = self.expectations - len(self.failed)
        lines = [
            f"  {line}"
            for item in self.failed
            for line in (f"{item.severity}: {item.asset}: {item.said[0]}", *item.said[1:])
        ]
        head = f"Checks: {held} of {self.expectations} expectations hold: {self.page}"
        return "\n".join([head, *lines])


def standing(store: Store) -> Standing:
    """Read the stored results; nothing is judged."""
    results = quality.results_in(store)
    failed = [
        Failed(
            asset=result.asset,
            table=result.table,
            expectation=item.name,
            severity=item.severity,
            found=result.outcomes[item.name].summary,
            examples=[quality.told(example) for example in result.outcomes[item.name].examples],
            remedy=result.remedy(item),
            said=result.said_of(item),
        )
        for result in results
        for item in result.failed
    ]
    total = sum(len(result.expectations) for result in results)
    return Standing(total, failed, quality.page_file(store))
