"""The last results of the checks, for `rag-assets refresh` and `rag-assets status`.

Errors come first, then warnings, then what drifted: one line for a variant, whatever number of
tables and measures a corpus that has grown moves.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path

from pydantic import TypeAdapter

from rag_assets import quality
from rag_assets.config import Config
from rag_assets.findings.telling import Told
from rag_assets.operations.problems.failed_checks import FailedCheck, failed_checks, named_results
from rag_assets.quality.suites import DRIFT_REMEDY
from rag_assets.serving.replies import Json
from rag_assets.store import Store

HOW_MUCH = ((2, "a little more than is allowed"), (5, "clearly more than is allowed"))


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """The last results of all tables."""

    expectations: int
    failed: Sequence[Told[FailedCheck]]
    page: Path

    @property
    def record(self) -> dict[str, Json]:
        """The results for programs."""
        return TypeAdapter(CheckSummary).dump_python(self, mode="json")

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
            or (item.variant in ("", variant) and _is_since(item, began.replace(microsecond=0)))
        ]
        others = len(self.failed) - len(new)
        rest = f"\n  and {others:,} that stood before or are of other variants: rag-assets status"
        return self._told(new) + (rest if others else "")

    def _told(self, failed: Sequence[FailedCheck]) -> str:
        if not self.expectations:
            return "Checks: no table was judged yet"
        passed = self.expectations - len(self.failed)
        alike: defaultdict[tuple[str, ...], list[FailedCheck]] = defaultdict(list)
        drifted: defaultdict[tuple[str, str], list[FailedCheck]] = defaultdict(list)
        for item in sorted(failed, key=lambda each: str(each.severity)):  # an error comes first
            if item.drift:
                drifted[str(item.severity), item.variant].append(item)
            else:
                examples = (f"  {each}" for each in item.examples[: quality.EXAMPLES_EXPLAINED])
                lines = (item.reason, *examples, f"  what to do: {item.remedy}")
                alike[str(item.severity), *lines].append(item)
        single = (
            (f"{severity}: {item.asset}{_of(item.variant)}{_and(len(more))}: {first}", *others)
            for (severity, first, *others), (item, *more) in alike.items()
        )
        drifts = ([f"{severity}: {_drift(items)}"] for (severity, _), items in drifted.items())
        head = f"Checks: {passed} of {self.expectations} expectations hold: {self.page}"
        return "\n".join([head, *(f"  {line}" for line in chain(*single, *drifts))])


def check_summary(store: Store, config: Config) -> CheckSummary:
    """Read the stored results; nothing is checked now."""
    results = named_results(store, config)
    total = sum(len(result.expectations) for result in results)
    return CheckSummary(total, failed_checks(store, config, results), quality.page_file(store))


def _drift(items: Sequence[FailedCheck]) -> str:
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


def _is_since(item: FailedCheck, began: datetime) -> bool:
    """Whether it began to fail then; of drift, whether it was judged then."""
    return (item.judged_at if item.drift else item.since) >= began


def _and(more: int) -> str:
    return f" and {more:,} more" if more else ""


def _of(variant: str) -> str:
    return f" of {variant}" if variant else ""
