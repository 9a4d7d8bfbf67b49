"""The page of all checks: for each stage, the expectations and their last results."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from rag_assets.quality.results import Result, accepted_profile, results_in
from rag_assets.quality.suites import BETWEEN
from rag_assets.quality.values import Expectation, Outcome, Profile
from rag_assets.reports import pages
from rag_assets.reports.pages import Html
from rag_assets.reports.plots import sparkline
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

STAGES = ("documents", "elements", "chunks", "rows", "serializations", "vectors", "rankings")
COLUMNS = ("expectation", "result", "found", "judged by")
FAILS = {
    "error": Html('<span class="bad">fails</span>'),
    "warning": Html('<span class="warn">warns</span>'),
}
HOLDS = Html('<span class="good">holds</span>')


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
    parts = [
        "<h1>Data checks</h1>",
        f'<p class="about">{_verdict(results)}</p>',
        '<div class="tiles">',
        *_tiles(results),
        "</div>",
    ]
    failures = [line for result in results for line in _failures(result)]
    if failures:
        parts += pages.section("What does not hold", f"<ul>{''.join(failures)}</ul>")
    for stage in STAGES:
        of_stage = [result for result in results if result.stage == stage]
        if of_stage:
            tables = (part for result in of_stage for part in _table(store, result))
            parts += pages.section(stage.capitalize(), *tables)
    return pages.page("Data checks", parts)


def judged_by(expectation: Expectation) -> str:
    """The expectation in the form of Great Expectations; in short if it bounds a total."""
    arguments = dict(expectation.arguments)
    if expectation.total is not None and expectation.kind == BETWEEN:
        return f"{expectation.total} at most {arguments['max_value']}"
    given = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
    return f"{expectation.kind}({given})"


def _verdict(results: Sequence[Result]) -> str:
    last = max((result.at for result in results), default="never")
    failed = sum(len(result.failed) for result in results)
    total = sum(len(result.expectations) for result in results)
    return f"{total - failed} of {total} expectations hold · last judged {escape(last)}"


def _tiles(results: Sequence[Result]) -> Iterator[str]:
    failed = [item for result in results for item in result.failed]
    errors = sum(item.severity == "error" for item in failed)
    yield pages.tile(str(errors), "errors: nothing after them was built")
    yield pages.tile(str(len(failed) - errors), "warnings")
    yield pages.tile(f"{sum(result.rows for result in results):,}", "rows looked at")


def _failures(result: Result) -> Iterator[str]:
    """One line for each failed expectation, with a link to its table."""
    for item in result.failed:
        found = escape(result.outcomes[item.name].summary)
        yield (
            f'<li>{FAILS[item.severity]} <a href="#{escape(_anchor(result))}">'
            f"{escape(result.asset)}: {escape(item.name)}</a>: {found}</li>"
        )


def _table(store: Store, result: Result) -> Iterator[str]:
    accepted = accepted_profile(store, result)
    yield _heading(result)
    yield pages.note(f"{result.rows:,} rows, judged {result.at}")
    if accepted:
        yield pages.note(f"Compared with: {_profile(accepted.profile)}")
        rows = [float(entry["rows"]) for entry in accepted.history]
        if len(rows) > 1:
            title = f"Rows of {result.table} in the last {len(rows)} accepted runs"
            yield sparkline(rows, title=title)
    failed = result.failed
    ordered = sorted(result.expectations, key=lambda item: item not in failed)
    yield pages.table(COLUMNS, [_row(item, result) for item in ordered])


def _heading(result: Result) -> str:
    title = escape(f"{result.asset}: {result.table}")
    return f'<h3 id="{escape(_anchor(result))}">{title}</h3>'


def _anchor(result: Result) -> str:
    return f"{result.asset}.{result.table}".replace("/", "-")


def _profile(profile: Profile) -> str:
    """A profile in one line."""
    parts = [f"{profile.rows:,} rows"]
    if profile.mean_length is not None:
        parts.append(f"mean length {profile.mean_length:.1f}")
    parts += [f"{share:.0%} in {code}" for code, share in profile.languages.items()]
    if profile.mean_norm is not None:
        parts.append(f"mean norm {profile.mean_norm:.4f}")
    return ", ".join(parts)


def _row(expectation: Expectation, result: Result) -> dict[str, object]:
    outcome = result.outcomes[expectation.name]
    remedy = [] if outcome.passed else [_note(f"What to do: {result.remedy(expectation)}")]
    name, description = escape(expectation.name), escape(expectation.description)
    return {
        "expectation": Html(f"<b>{name}</b><br>{description}"),
        "result": HOLDS if outcome.passed else FAILS[expectation.severity],
        "found": Html("<br>".join([escape(outcome.summary), *_examples(outcome), *remedy])),
        "judged by": judged_by(expectation),
    }


def _examples(outcome: Outcome) -> Iterator[str]:
    for example in outcome.examples:
        yield _note(", ".join(f"{name}: {value}" for name, value in example.items()))


def _note(text: str) -> str:
    return f'<span class="note">{escape(text)}</span>'
