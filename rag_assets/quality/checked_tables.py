"""Checking a table: once for each state of its data, whose result is then stored."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from rag_assets.change.data_versions import current_version
from rag_assets.change.steps import Step, StepKind
from rag_assets.config import Config
from rag_assets.config.checks import StageChecks
from rag_assets.identity import Canonical, fingerprint
from rag_assets.quality import page
from rag_assets.quality.drift import FEWEST_ROWS, Distances, distances
from rag_assets.quality.measuring import table_states
from rag_assets.quality.results import Result, ResultFiles, delete_others, now
from rag_assets.quality.suites import DRIFT_TOTALS, expectations_of, suite
from rag_assets.quality.validation import evaluate
from rag_assets.quality.values import Expectation, Outcome, Profile, TableMeasures
from rag_assets.store import Store

VERSION = 5
"""Raised when the meaning of a stored result changes."""

FIRST = "nothing to compare with: no run was accepted before"
SMALL = f"not compared: fewer than {FEWEST_ROWS} rows, or nothing of the kind, before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An asset whose table is checked, and what must hold of the table."""

    asset: str
    """The key of the asset, in the form that people write."""
    stage: str
    """Name of its section under `checks` in the config."""
    settings: StageChecks
    expectations: Sequence[Expectation]
    """Expectations about totals of `measure`; the config sets their severity and bounds."""
    table: Callable[[str | None], str]
    """Name of the table of a variant."""
    version: Callable[[Store, str | None], str]
    """Data version of the table."""
    state: Callable[[Store, str | None], Canonical]
    """Everything that the measures depend on; it may read data versions only, no rows."""
    measure: Callable[[Store, str | None], TableMeasures]
    read: Callable[[Store, str | None, Sequence[str]], pa.Table]
    """Reads columns of the table; the first one names a row."""
    has_variants: bool = True

    @property
    def suite(self) -> list[Expectation]:
        """The expectations, with the severities and bounds of the config."""
        return suite(self.settings, *self.expectations)


def of_step(
    config: Config,
    kind: StepKind,
    *,
    stage: str,
    measure: Callable[[Store, Step, str | None], TableMeasures],
    expectations: Sequence[Expectation] | None = None,
    against: Collection[str] | None = None,
    also_made_from: Callable[[Store], Canonical] = lambda _: None,
) -> Subject:
    """The subject of a derived table in the store.

    Args:
        config: Names the variants, each of which has a step of its own.
        kind: The step that keeps the table.
        stage: Name of its section under `checks` in the config.
        measure: Reads the table of a step and its variant, once, in batches.
        expectations: About totals of `measure`; those of the stage unless given.
        against: Assets of the inputs that it is compared with; all of them unless given.
        also_made_from: What else the measures depend on.
    """

    def step(variant: str | None) -> Step:
        return kind.step(config, config.variant(variant or next(iter(config.variants))))

    def version(store: Store, variant: str | None) -> str:
        here = step(variant)
        return current_version(store, here.table, key=here.key)

    def state(store: Store, variant: str | None) -> Canonical:
        here = step(variant)
        inputs = [each for each in here.inputs if against is None or each.asset in against]
        tables = [(each.table, each.key) for each in (*inputs, here)]
        return [table_states(store, *tables), also_made_from(store)]

    def read(store: Store, variant: str | None, columns: Sequence[str]) -> pa.Table:
        here = step(variant)
        return store.read(here.table, columns=list(dict.fromkeys([here.key, *columns])))

    return Subject(
        asset=kind.name,
        stage=stage,
        settings=config.checks.of(stage),
        expectations=expectations_of(stage) if expectations is None else expectations,
        table=lambda variant: step(variant).table,
        version=version,
        state=state,
        measure=lambda store, variant: measure(store, step(variant), variant),
        read=read,
        has_variants=kind.has_variants,
    )


def result_of(
    subject: Subject,
    *,
    store: Store,
    log: Callable[[str], None],
    partition: str | None = None,
    accept_drift: bool = False,
) -> Result:
    """The result of a table's checks; the stored one if nothing has changed.

    While another run is writing the table, this waits and writes a line to `log`: between two
    commits a table is not complete. With `accept_drift` the table is not compared with the accepted
    profile, and its own profile becomes the accepted one.
    """
    expectations = subject.suite
    table = subject.table(partition)
    files = ResultFiles(store, asset=subject.asset, table=table)

    def state() -> str:
        suite = [asdict(item) for item in expectations]
        return fingerprint(VERSION, suite, subject.state(store, partition))

    def stored(state: str) -> Result | None:
        result = files.result()
        is_valid = result and result.state == state and not (accept_drift and result.drifted)
        return result if is_valid else None

    if result := stored(state()):
        return result
    with store.lock(table, log=log):
        found = state()
        result = stored(found) or _measured(  # the run that wrote the table may have checked it
            subject, store, partition, state=found, files=files, accept_drift=accept_drift
        )
    page.write(store)
    return result


def _measured(
    subject: Subject,
    store: Store,
    partition: str | None,
    *,
    state: str,
    files: ResultFiles,
    accept_drift: bool,
) -> Result:
    """Measure a table that is locked against writing, and store the result."""
    expectations = subject.suite
    measures = subject.measure(store, partition)
    version = subject.version(store, partition)
    accepted = None if accept_drift else files.accepted()
    before = accepted.baseline(version) if accepted else None
    outcomes = _judged(
        expectations,
        measures=measures,
        before=before,
        read=lambda columns: subject.read(store, partition, columns),
    )
    at, last = now(), files.result()
    result = Result(
        state=state,
        at=at,
        stage=subject.stage,
        asset=subject.asset,
        table=subject.table(partition),
        rows=measures.rows,
        expectations=expectations,
        outcomes=outcomes,
        failing={
            name: (last.failing_since(name) if last else None) or at
            for name, outcome in outcomes.items()
            if not outcome.passed
        },
    )
    if not result.blocks:
        files.accept(measures.profile, version=version, before=before)
    files.keep(result)
    return result


def delete_unused_results(
    subject: Subject, *, store: Store, besides: Collection[str | None]
) -> None:
    """Delete stored results of the asset's tables that belong to no partition of `besides`.

    Variants share tables. A variant that changes leaves its old table behind, which is not checked
    again.
    """
    tables = {subject.table(partition) for partition in besides}
    if delete_others(store, asset=subject.asset, besides=tables):
        page.write(store)


def _judged(
    expectations: Sequence[Expectation],
    *,
    measures: TableMeasures,
    before: Profile | None,
    read: Callable[[Sequence[str]], pa.Table],
) -> dict[str, Outcome]:
    drift = distances(measures.profile, before=before) if before else Distances({}, {})
    known = TableMeasures(
        totals={**measures.totals, **drift.totals},
        examples={**measures.examples, **drift.examples},
        profile=measures.profile,
    )
    unknown = DRIFT_TOTALS - drift.totals.keys()
    outcomes = evaluate(
        [item for item in expectations if item.total not in unknown], measures=known, read=read
    )
    return outcomes | {
        item.name: Outcome(passed=True, measured=measures.rows, note=SMALL if before else FIRST)
        for item in expectations
        if item.total in unknown
    }
