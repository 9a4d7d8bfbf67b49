"""The page of all checks: for each stage, the expectations and their last results."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rag_assets.quality.results import Result, accepted_profile, results_in
from rag_assets.quality.suites import BETWEEN
from rag_assets.quality.values import Expectation, Profile
from rag_assets.reports import pages
from rag_assets.reports.plots import sparkline
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

STAGES = ("documents", "elements", "chunks", "rows", "serializations", "vectors", "rankings")


def page_file(store: Store) -> Path:
    """The file of the page."""
    return store.root / "reports" / "checks.html"


def write(store: Store) -> None:
    """Write the page anew from the stored results."""
    with store.lock("checks_page", log=lambda _: None):
        write_atomically(page_file(store), render(store))


def render(store: Store) -> str:
    """The whole page as HTML."""
    results = results_in(store)
    failed = [(result, item) for result in results for item in result.failed]
    return pages.render(
        "quality/page.html",
        title="Data checks",
        results=results,
        failed=failed,
        errors=sum(item.severity == "error" for _, item in failed),
        judged_at=max((result.at for result in results), default="never"),
        total=sum(len(result.expectations) for result in results),
        stages={stage: [each for each in results if each.stage == stage] for stage in STAGES},
        compared_with=partial(_compared_with, store),
        judged_by=judged_by,
    )


def judged_by(expectation: Expectation) -> str:
    """The expectation in the form of Great Expectations; in short if it bounds a total."""
    arguments = dict(expectation.arguments)
    if expectation.total is not None and expectation.kind == BETWEEN:
        return f"{expectation.total} at most {arguments['max_value']}"
    given = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
    return f"{expectation.kind}({given})"


def _compared_with(store: Store, result: Result) -> Iterator[tuple[str, str]]:
    """The profile of what was accepted last, in words, and the rows of all that were, as a plot."""
    accepted = accepted_profile(store, result)
    if accepted is None:
        return
    rows = [float(entry["rows"]) for entry in accepted.history]
    title = f"Rows of {result.table} in the last {len(rows)} accepted runs"
    yield _profile(accepted.profile), sparkline(rows, title=title) if len(rows) > 1 else ""


def _profile(profile: Profile) -> str:
    """A profile in one line."""
    parts = [f"{profile.rows:,} rows"]
    if profile.mean_length is not None:
        parts.append(f"mean length {profile.mean_length:.1f}")
    parts += [f"{share:.0%} in {code}" for code, share in profile.languages.items()]
    if profile.mean_norm is not None:
        parts.append(f"mean norm {profile.mean_norm:.4f}")
    return ", ".join(parts)
