"""How a state stands, as `rag-assets status` tells it: gathered from the state, nothing is done."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pydantic import TypeAdapter, computed_field

from rag_assets.change.data_versions import current_version
from rag_assets.change.reclaim import bytes_to_free
from rag_assets.change.steps import Step, Steps
from rag_assets.config import Config
from rag_assets.documents.parsers.by_media_type import unavailable
from rag_assets.findings.finding import Finding
from rag_assets.findings.telling import Told
from rag_assets.graph import STEPS
from rag_assets.operations.alerts.dispatch import problems_of_runs
from rag_assets.operations.problems.current import full_disk, state_problems
from rag_assets.operations.problems.disk import DiskUse, disk_use
from rag_assets.operations.problems.skipped_inputs import entries_of, unknown
from rag_assets.operations.serving_index.status import ServingStatus, serving_status
from rag_assets.retrieval.access import Sight
from rag_assets.serving import alerting
from rag_assets.serving.check_summary import CheckSummary, check_summary
from rag_assets.serving.replies import Json, say
from rag_assets.sources.readability import Outage, Readability, readability
from rag_assets.store import Store, exports
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.locks import HeldLock
from rag_assets.store.serving_pointer import serving_variant

Tables: TypeAlias = Mapping[str, Mapping[str, Json]]
"""How the table of each step stands, by its asset."""


@dataclass(frozen=True, slots=True)
class SourceTableStatus:
    """A table of a source, as it was last exported."""

    table: str
    rows: int
    failed: int
    """The number of rows that were left out; 1 if the table could not be read."""
    complete: bool
    readability: Readability


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source, and how it was last read."""

    source: str
    readability: Readability
    outages: Sequence[Outage]
    """What cannot be read of it."""
    tables: Sequence[SourceTableStatus]
    """The tables of a table source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateStatus:
    """How a state stands."""

    serving: str
    """The variant that serves."""
    pointer: ServingStatus | None
    """The serving pointer; None if nothing was promoted yet, or it is damaged."""
    state_dir: str
    problems: Sequence[Told[Finding]]
    running: Sequence[HeldLock]
    sources: Sequence[SourceStatus]
    shared: Tables
    variants: Mapping[str, Tables]
    unavailable: Mapping[str, str]
    """Why the parser of a variant cannot be used here, by the variant."""
    acknowledged: int
    """How many entries of the quarantine were acknowledged."""
    checks: CheckSummary
    disk: DiskUse
    to_free: int | None
    """The bytes that a clean-up would free of tables; None where they lie in an object store."""

    def seen_by(self, sight: Sight) -> "StateStatus":
        """How the sources stand that may be seen, and what serves.

        Left out is all that names or counts what is hidden: problems, runs, tables, checks, sizes
        and verdicts, the sources of which nothing is seen, and tables of which not all is.
        """
        sources = [
            replace(
                each,
                outages=(),
                tables=[
                    table
                    for table in each.tables
                    if sight.rows_of(each.source, table.table) is None
                ],
            )
            for each in self.sources
            if sight.rules.has_any(each.source, sight.groups)
        ]
        pointer = self.pointer and replace(self.pointer, reason=None, verdict=None, stale=None)
        return replace(
            self,
            pointer=pointer,
            sources=sources,
            problems=(),
            running=(),
            shared={},
            variants={},
            unavailable={},
            acknowledged=0,
            checks=replace(self.checks, expectations=0, failed=()),
            disk=replace(self.disk, by_kind={}, shared=0),
            to_free=None,
        )

    @computed_field
    @property
    def damaged(self) -> Mapping[str, str]:
        """What is wrong with each damaged table, by its folder."""
        return {each.subject: each.reason for each in self.problems if each.kind == "table_damaged"}

    @property
    def record(self) -> dict[str, Json]:
        """The state for programs: as /v1/status has it."""
        return TypeAdapter(StateStatus).dump_python(self, mode="json")


def state_status(store: Store, config: Config, *, variants: Sequence[str]) -> StateStatus:
    """How the state stands, with the tables of some `variants`.

    The tables themselves are read: a shared table may change without an event for its variant.
    """
    with alerting.existing_records(config) as instance:
        of_runs = problems_of_runs(config, instance, log=say)
    problems = [*full_disk(store), *state_problems(store, config), *of_runs]
    entries = entries_of(store, config, variants=variants)
    failed = Counter(entry.target for entry in entries)
    return StateStatus(
        serving=serving_variant(store, config),
        pointer=serving_status(store, config),
        state_dir=str(config.state_dir),
        problems=problems,
        running=store.held_locks(),
        sources=_sources(store, config, failed),
        shared=_states(store, STEPS.shared(config), failed),
        variants={
            name: _states(store, STEPS.of_variant(config, name), failed) for name in variants
        },
        unavailable={name: why for name in variants if (why := _missing(config, name))},
        acknowledged=len(entries) - len(unknown(store, entries)),
        checks=check_summary(store, config),
        disk=disk_use(config.state_dir),
        to_free=None if config.tables_url else _to_free(store, config),
    )


def _missing(config: Config, variant: str) -> str | None:
    """Why the parser of a variant cannot be used here, and what to do."""
    parser = config.variant(variant).parser
    return unavailable(config.parsers[parser], name=parser)


def _states(store: Store, steps: Steps, failed: Mapping[str, int]) -> Tables:
    return {asset: _state(store, step, failed) for asset, step in steps.items()}


def _state(store: Store, step: Step, failed: Mapping[str, int]) -> dict[str, Json]:
    table = store.known_as(step.table)
    at = store.ended_at(step.table)
    state: dict[str, Json] = {
        "table": table,
        "failed": failed.get(table, 0),
        "brought_up_to_date": at.isoformat(timespec="seconds") if at else None,
    }
    try:
        if store.exists(step.table):
            store.check(step.table)
        return state | {
            "rows": store.count(step.table),
            "complete": store.completion(step.table) is not None,
            "data_version": current_version(store, step.table, key=step.key),
        }
    except DamagedTablesError as error:
        [damage] = map(str, error.errors.values())
        return state | {"complete": False, "damage": damage}


def _sources(store: Store, config: Config, failed: Mapping[str, int]) -> list[SourceStatus]:
    held = exports.all_exported(store)
    documents = [_source(store, source.name, []) for source in config.sources.documents]
    return documents + [
        _source(
            store,
            source.name,
            [
                SourceTableStatus(
                    each.about.table,
                    rows=each.rows,
                    failed=failed.get(f"exports/{each.about.name}", 0),
                    complete=store.completion(each.name) is not None,
                    readability=readability(store, source.name).part(each.about.table),
                )
                for each in held
                if each.about.source == source.name
            ],
        )
        for source in config.sources.tables
    ]


def _source(store: Store, name: str, tables: Sequence[SourceTableStatus]) -> SourceStatus:
    known = readability(store, name)
    return SourceStatus(name, known.whole, known.outages(), tables)


def _to_free(store: Store, config: Config) -> int:
    return bytes_to_free(store, config, STEPS, keep_days=config.clean_up.keep_days)
