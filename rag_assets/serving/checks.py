"""How the checks stand, for `rag-assets refresh` and `rag-assets status`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True, slots=True)
class Standing:
    """How the tables were last judged."""

    expectations: int
    failed: Sequence[Failed]
    page: Path
    has_drifted: bool
    """Whether an expectation about drift is among them."""

    @property
    def record(self) -> dict[str, Json]:
        """For programs."""
        return {
            "expectations": self.expectations,
            "failed": [asdict(item) for item in self.failed],
            "page": str(self.page),
        }

    @property
    def text(self) -> str:
        """For people, with a line for each expectation that does not hold."""
        if not self.expectations:
            return "Checks: no table was judged yet"
        held = self.expectations - len(self.failed)
        lines = [
            f"  {item.severity}: {item.asset}: {item.expectation}: {item.found}"
            for item in self.failed
        ]
        head = f"Checks: {held} of {self.expectations} expectations hold: {self.page}"
        accept = ["  drift that is right: rag-assets refresh --accept-drift"]
        return "\n".join([head, *lines, *(accept if self.has_drifted else ())])


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
        )
        for result in results
        for item in result.failed
    ]
    total = sum(len(result.expectations) for result in results)
    has_drifted = any(result.drifted for result in results)
    return Standing(total, failed, quality.page_file(store), has_drifted)
