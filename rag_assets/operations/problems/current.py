"""What is wrong now: found out in one place, and shown by everyone who tells a person.

`state_problems` reads the state itself: no source is looked at for it, no table is judged again.
`rag-assets status` and the alerts show these problems.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from rag_assets import schemas
from rag_assets.change import embeddable
from rag_assets.change.data_versions import NO_TABLE, current_version
from rag_assets.change.reclaim import LEAST_FREE
from rag_assets.change.steps import Step, made_from
from rag_assets.columns.sql import is_one_of
from rag_assets.config import Config, TableSource
from rag_assets.config.questions import GENERATED_SETS
from rag_assets.findings.finding import Finding
from rag_assets.graph import STEPS
from rag_assets.operations.gate import blocked_candidate
from rag_assets.operations.gate.blocked_candidate import HeldBack
from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.operations.problems import skipped_inputs
from rag_assets.operations.problems.acknowledged import Failing, acknowledged, failing, how
from rag_assets.operations.problems.failed_checks import failed_checks, named_results
from rag_assets.sources import readability
from rag_assets.sources.readability import Outage, Readability, SourceReadability
from rag_assets.store import MissingTableError, Store, complete_sets, serving_pointer
from rag_assets.store.damage import DamagedTablesError
from rag_assets.store.serving_pointer import (
    GonePinsError,
    ServingPointer,
    ServingPointerError,
    content_of,
)

BETWEEN_STEPS = timedelta(minutes=5)
"""A run may hold no lock for so long between two of its steps: its index is not stale yet."""
LEAST_SHARE_FREE = 0.05
"""A disk with less room than this share of it, and than `LEAST_FREE`, is full."""
SERVING_INDEX, RECALL_NOTICES = "serving_index", "recall_notices"
"""The asset that moves the serving pointer."""


def state_problems(store: Store, config: Config) -> list[Finding]:
    """What the state tells: sources, tables, checks, the index that serves, and units.

    Args:
        store: The state.
        config: What it does not name (a source that was removed, say) is no problem.
    """
    damaged = damaged_tables(store, config)
    entries = [] if damaged else skipped_inputs.entries_of(store, config)
    entries = skipped_inputs.unknown(store, entries)
    failed = failed_checks(store, config, named_results(store, config))
    return [
        *source_problems(store, config),
        *_damaged_tables(store, damaged),
        *(each.plain for each in failed if each.severity == "error"),
        *([] if damaged else _stale_index(store, config)),
        *_serving_problems(store, config),
        *skipped_inputs.left_out(store, config, entries),
    ]


def acknowledgeable(store: Store, config: Config) -> dict[Failing, str]:
    """All that fails now and that a person may accept, or did, each with its reason."""
    entries = skipped_inputs.entries_of(store, config)
    found = {skipped_inputs.version_of(each): each.failure.reason for each in entries}
    for source in (*config.sources.documents, *config.sources.tables):
        known = readability.readability(store, source.name)
        found |= {part: each.reason for each in known.outages() for part in _parts(known, each)}
        found |= {_loss(known): "it lost much of what it held"} if known.whole.lost else {}
    return found


def full_disk(store: Store) -> Iterator[Finding]:
    """Too little room for a refresh: one that failed for it could not write that down.

    Alerts need not be told: where there is a channel, they keep room for what failed.
    """
    if not store.root.is_dir():
        return
    disk = shutil.disk_usage(store.root)
    if disk.free < min(LEAST_FREE, disk.total * LEAST_SHARE_FREE):
        yield Finding(
            "run_failed",
            "disk of the state",
            since=datetime.now(UTC),
            reason=f"{disk.free / 1_000_000:,.1f} MB are left below {store.root}: no refresh can "
            "end well, and one that failed for it may not be told here",
            remedy="make room (`rag-assets clean-up --keep-days 0` removes what answers nothing), "
            "then refresh",
        )


def damaged_tables(store: Store, config: Config) -> Mapping[str, str]:
    """What is wrong with each damaged table that `config` names, by its folder."""
    named = {name for step in STEPS.all_of(config) for name in step.tables}
    damaged: dict[str, str] = {}
    for name in sorted(named):
        try:
            if store.exists(name):
                store.check(name)
                store.count(name)
        except DamagedTablesError as error:
            damaged |= {folder: str(wrong) for folder, wrong in error.errors.items()}
    return damaged


def source_problems(store: Store, config: Config) -> Iterator[Finding]:
    """Sources that cannot be read, or lost much, unless somebody acknowledged that."""
    accepted = acknowledged(store)
    by_asset = readability.outages_of_assets(store, config)
    readers: defaultdict[str, list[str]] = defaultdict(list)
    for asset, outages in by_asset.items():
        for outage in outages:
            readers[outage.subject].append(asset)
    for source in (*config.sources.documents, *config.sources.tables):
        known = readability.readability(store, source.name)
        for outage in known.outages():
            if accepted.issuperset(_parts(known, outage)):
                continue
            yield Finding(
                "source_unreadable",
                outage.subject,
                since=outage.since,
                reason=outage.reason,
                remedy=readability.REMEDY,
                assets=tuple(readers[outage.subject]),
            )
        whole = known.whole
        if whole.lost_since and whole.lost:
            items = "rows" if isinstance(source, TableSource) else "documents"
            yield Finding(
                "source_shrank",
                source.name,
                since=whole.lost_since,
                reason=f"{whole.lost:,} of its {whole.lost_from:,} {items} left the index",
                remedy=f"bring them back and refresh; if it is right: {how(source.name)}",
            )


def _parts(known: SourceReadability, outage: Outage) -> list[Failing]:
    """What there is to acknowledge of an outage."""
    if not outage.parts:
        return [_away(known.source, known.whole)]
    return [_away(f"{known.source}/{part}", known.part(part)) for part in outage.parts]


def _away(name: str, known: Readability) -> Failing:
    """One outage for one reason: once it is over, the next one is another."""
    reason = failing(name, known.reason or "").version
    return Failing(name, f"{known.unreadable_since}: {reason}")


def _loss(known: SourceReadability) -> Failing:
    return Failing(known.source, f"lost since {known.whole.lost_since}")


def _damaged_tables(store: Store, damaged: Mapping[str, str]) -> Iterator[Finding]:
    for folder, wrong in damaged.items():
        yield Finding(
            "table_damaged",
            folder,
            since=store.ended_at(folder) or datetime.now(UTC),
            reason=wrong.splitlines()[0],
            remedy=f"delete the folder {folder}.lance (below lance/), and refresh",
        )


def _stale_index(store: Store, config: Config) -> Iterator[Finding]:
    """The index that serves lacks what its inputs hold, and nobody is working on it."""
    variant = serving_pointer.serving_variant(store, config)
    joint = STEPS.completing(config, variant)
    steps = STEPS.of_variant(config, variant).values()
    why = why_stale(store, [*steps]) or _why_unserved(store, config, variant)
    if why is None or _is_blocked(store, config, variant) or _is_at_work(store):
        return
    since = store.ended_at(joint.table)
    begun = [at for step in STEPS.shared(config).values() if (at := store.ended_at(step.table))]
    yield Finding(
        "index_stale",
        f"variant {variant}",
        since=since or min(begun, default=datetime.now(UTC)),
        reason=f"{why}: a refresh failed, was stopped before it got so far, or is still to come",
        remedy=f"run `rag-assets variants backfill {variant}`; if it fails, it says why",
        assets=(joint.asset,),
    )


def _why_unserved(store: Store, config: Config, variant: str) -> str | None:
    """A sentence if nobody has judged the newest index of what serves; else None."""
    if _held_back(store, config):
        return None
    with suppress(ServingPointerError, MissingTableError):
        pointer = serving_pointer.current(store)
        newest = complete_sets.set_of_recipe(store, config, variant)
        judged = [pointer, *serving_pointer.left_behind(store, pointer)] if pointer else []
        if judged and not any(
            content_of(newest, each.query_side) == each.content for each in judged
        ):
            return (
                f"the newest index does not serve yet: {SERVING_INDEX} was not brought up to date"
            )
    return None


def _held_back(store: Store, config: Config) -> HeldBack | None:
    """What the gate holds back, if `config` still has its variant."""
    back = blocked_candidate.read(store)
    return back if back and back.variant in config.variants else None


def _serving_problems(store: Store, config: Config) -> Iterator[Finding]:
    """What serves cannot be opened, or a newer index may not take its place."""
    now = datetime.now(UTC)
    try:
        pointer = serving_pointer.current(store)
        if pointer and not serving_pointer.is_held(store, pointer):
            pointer.query_side.within(config.retrieval)  # raises its own error
            raise GonePinsError(pointer.number, variant=pointer.variant)
    except ServingPointerError as error:
        reason, _, remedy = str(error).partition(": run ")
        yield Finding(
            "serving_lost", "serving pointer", since=now, reason=reason, remedy=f"run {remedy}"
        )
    else:
        if pointer and (why_not := embeddable.why_not(store, config, pointer)):
            yield Finding(
                "serving_lost",
                "queries",
                since=now,
                reason=f"every search by vectors is refused, for {why_not}",
                remedy="put its former files back; or have another model there and run "
                "`rag-assets refresh`, which embeds everything by it. If that is held back, "
                f'`rag-assets variants promote {pointer.variant} --override "REASON"` serves it',
            )
    if back := _held_back(store, config):
        yield Finding(
            "promotion_held",
            f"variant {back.variant}",
            since=datetime.fromisoformat(back.since),
            reason="\n".join((f"{back.outcome}: what served before still serves", *back.reasons)),
            remedy=back.remedy,
            assets=(SERVING_INDEX,),
        )


def are_questions_lost(store: Store, config: Config, pointer: ServingPointer | None) -> bool:
    """Whether what serves was judged with questions, and the sets of `config` hold none now."""
    name = schemas.QUESTIONS_TABLE
    if not (pointer and pointer.verdict and config.question_files and store.exists(name)):
        return False
    try:
        then = Verdict.from_json(pointer.verdict).basis.questions
    except ValueError:  # of another release
        return False
    now = current_version(store, name, key="question_id")
    of_files = f"NOT {is_one_of('question_set', GENERATED_SETS)}"
    return then not in (NO_TABLE, now) and store.count(name, where=of_files) == 0


def _is_blocked(store: Store, config: Config, variant: str) -> bool:
    """Whether a failed check holds the index back: that is told as the check."""
    tables = {store.known_as(step.table) for step in STEPS.all_of(config, variant)}
    return any(
        result.blocks and store.known_as(result.table) in tables
        for result in named_results(store, config)
    )


def why_stale(store: Store, steps: Sequence[Step]) -> str | None:
    """The first of `steps` that is not made from its inputs as they are now; None if all are."""
    inputs = [each for step in steps for each in step.inputs]
    if not any(store.exists(each.table) for each in inputs):
        return None  # nothing was ever refreshed
    for step in (*inputs, *steps):
        if store.ended(step.table) is None:
            return f"{step.asset} is not finished"
    for step in steps:
        ended = store.ended(step.table)
        parts = ended.parts if ended else None
        if parts and parts != made_from(store, step.inputs, recipe=parts.get("recipe", ""))():
            return f"{step.asset} was made from older inputs than there are now"
    return None


def _is_at_work(store: Store) -> bool:
    """Whether a run is going on, or was a moment ago."""
    if store.held_locks():
        return True
    now, ended = datetime.now(UTC), [store.ended_at(name) for name in store.names()]
    # a time in the future is that of a clock that was set back since
    return any(timedelta() <= now - at < BETWEEN_STEPS for at in ended if at)
