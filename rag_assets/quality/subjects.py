"""Judging a table: measured once for each state of its data, then remembered."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from rag_assets.change.data_versions import current_version
from rag_assets.change.steps import Step, step_of
from rag_assets.config import Config
from rag_assets.config.checks import StageChecks
from rag_assets.identity import Canonical, fingerprint
from rag_assets.quality import page
from rag_assets.quality.drift import FEWEST_ROWS, Distances, distances
from rag_assets.quality.measuring import standing
from rag_assets.quality.results import Ledger, Result, dropped, now
from rag_assets.quality.suites import DRIFT_TOTALS, suite
from rag_assets.quality.validation import evaluate
from rag_assets.quality.values import Expectation, Measures, Outcome, Profile
from rag_assets.store import Store

VERSION = 5
"""Raised when the meaning of a stored result changes."""

FIRST = "nothing to compare with: no run was accepted before"
SMALL = f"not compared: fewer than {FEWEST_ROWS} rows, or nothing of the kind, before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An asset and what must hold of its table."""

    asset: str
    """Its key, as a person writes it."""
    stage: str
    """Name of its section under `checks` in the config."""
    settings: StageChecks
    expectations: Sequence[Expectation]
    """On totals that `measure` gives; the config decides on severity and bounds."""
    table: Callable[[str | None], str]
    """Name of the table of a variant."""
    version: Callable[[Store, str | None], str]
    """Data version of the table."""
    state: Callable[[Store, str | None], Canonical]
    """Names everything that the measures depend on; reads no more than data versions."""
    measure: Callable[[Store, str | None], Measures]
    read: Callable[[Store, str | None, Sequence[str]], pa.Table]
    """Reads columns of the table, the one that names a row first."""
    has_variants: bool = True

    @property
    def suite(self) -> list[Expectation]:
        """What must hold, as the config has it."""
        return suite(self.settings, *self.expectations)


def of_step(
    config: Config,
    asset: str,
    *,
    stage: str,
    settings: StageChecks,
    measure: Callable[[Store, Step, str | None], Measures],
    expectations: Sequence[Expectation],
    against: Collection[str] | None = None,
    also_made_from: Callable[[Store], Canonical] = lambda _: None,
) -> Subject:
    """The subject of a derived table that lies in the store.

    Args:
        config: Names the variants, each of which has a step of its own.
        asset: Key of the asset that keeps the table.
        stage: Name of its section under `checks` in the config.
        settings: That section.
        measure: Reads the table of a step and its variant, once, in batches.
        expectations: On totals that `measure` gives.
        against: Assets of the inputs that it is measured against; all of them unless given.
        also_made_from: What else the measures depend on.
    """

    def step(variant: str | None) -> Step:
        return step_of(config, asset, variant=variant)

    def version(store: Store, variant: str | None) -> str:
        here = step(variant)
        return current_version(store, here.table, key=here.key)

    def state(store: Store, variant: str | None) -> Canonical:
        here = step(variant)
        inputs = [each for each in here.inputs if against is None or each.asset in against]
        tables = [(each.table, each.key) for each in (*inputs, here)]
        return [standing(store, *tables), also_made_from(store)]

    def read(store: Store, variant: str | None, columns: Sequence[str]) -> pa.Table:
        here = step(variant)
        return store.read(here.table, columns=list(dict.fromkeys([here.key, *columns])))

    return Subject(
        asset=asset,
        stage=stage,
        settings=settings,
        expectations=expectations,
        table=lambda variant: step(variant).table,
        version=version,
        state=state,
        measure=lambda store, variant: measure(store, step(variant), variant),
        read=read,
        has_variants=step(None).has_variants,
    )


def outcomes_of(
    subject: Subject,
    *,
    store: Store,
    log: Callable[[str], None],
    partition: str | None = None,
    accept_drift: bool = False,
) -> Result:
    """How the suite of a table went; the stored result while nothing has changed.

    A table that another run is writing is waited for, and `log` told: between two commits of a pass
    it is not complete. With `accept_drift` a table that drifted is taken for what the next ones are
    held against.
    """
    expectations = subject.suite
    table = subject.table(partition)
    ledger = Ledger(store, asset=subject.asset, table=table)

    def state() -> str:
        judged = [asdict(item) for item in expectations]
        return fingerprint(VERSION, judged, subject.state(store, partition))

    def remembered(state: str) -> Result | None:
        held = ledger.result()
        is_asked = held and held.state == state and not (accept_drift and held.drifted)
        return held if is_asked else None

    if result := remembered(state()):
        return result
    with store.lock(table, log=log):
        found = state()
        result = remembered(found) or _measured(  # whoever wrote the table may have judged it
            subject, store, partition, state=found, ledger=ledger, accept_drift=accept_drift
        )
    page.write(store)
    return result


def _measured(
    subject: Subject,
    store: Store,
    partition: str | None,
    *,
    state: str,
    ledger: Ledger,
    accept_drift: bool,
) -> Result:
    """The result for a table that nobody writes meanwhile, which is kept."""
    expectations = subject.suite
    measures = subject.measure(store, partition)
    version = subject.version(store, partition)
    accepted = None if accept_drift else ledger.accepted()
    before = accepted.baseline(version) if accepted else None
    result = Result(
        state=state,
        at=now(),
        stage=subject.stage,
        asset=subject.asset,
        table=subject.table(partition),
        rows=measures.rows,
        expectations=expectations,
        outcomes=_judged(
            expectations,
            measures=measures,
            before=before,
            read=lambda columns: subject.read(store, partition, columns),
        ),
    )
    if not result.blocks:
        ledger.accept(measures.profile, version=version, before=before)
    ledger.keep(result)
    return result


def forget(subject: Subject, *, store: Store, besides: Collection[str | None]) -> None:
    """Drop what is kept of tables of its asset that are those of no partition of `besides`.

    Variants share tables, and leave some behind when they change: nobody judges those again.
    """
    tables = {subject.table(partition) for partition in besides}
    if dropped(store, asset=subject.asset, besides=tables):
        page.write(store)


def _judged(
    expectations: Sequence[Expectation],
    *,
    measures: Measures,
    before: Profile | None,
    read: Callable[[Sequence[str]], pa.Table],
) -> dict[str, Outcome]:
    drift = distances(measures.profile, before=before) if before else Distances({}, {})
    known = Measures(
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
