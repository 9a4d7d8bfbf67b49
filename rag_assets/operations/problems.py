"""What is wrong now: found out in one place, and shown by everyone who tells a person.

`state_problems` reads the state itself: nothing is checked, read or looked at again for it.
`rag-assets status`, the alerts and the checks in the UI all show these.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from rag_assets import quality
from rag_assets.change.steps import shared_steps, variant_steps
from rag_assets.config import Config, ProblemKind
from rag_assets.store import Store
from rag_assets.store.damage import DamagedTablesError


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong until somebody or something mends it."""

    kind: ProblemKind
    subject: str
    """The source, table, asset or run that it is about, as a person writes it."""
    since: datetime
    """When it was first seen, or began (UTC)."""
    reason: str
    """What happened, one sentence or a few lines."""
    remedy: str
    """What to do about it."""
    assets: tuple[str, ...] = ()
    """Keys of the assets that are not brought up to date because of it, as a person writes them."""
    run_id: str = ""
    """The run of Dagster that it is about, if it is about one."""

    @property
    def key(self) -> str:
        """What stays the same while the problem lasts, and no other problem has."""
        return f"{self.kind}:{self.subject}"


def state_problems(store: Store, config: Config) -> list[Problem]:
    """What the state tells: sources, tables, checks, units and the index that serves.

    Args:
        store: The state.
        config: What it does not name (a source that was removed, say) is no problem.
    """
    return [*_damaged_tables(store, config), *_failed_checks(store)]


def damaged_tables(store: Store, config: Config) -> Mapping[str, str]:
    """What is wrong with each damaged table that `config` names, by its folder."""
    shared = {step.table for step in shared_steps().values()}
    steps = [step for name in config.variants for step in variant_steps(config, name).values()]
    damaged: dict[str, str] = {}
    for name in sorted(shared.union(*(step.tables for step in steps))):
        try:
            if store.exists(name):
                store.check(name)
                store.count(name)
        except DamagedTablesError as error:
            damaged |= {folder: str(wrong) for folder, wrong in error.errors.items()}
    return damaged


def _damaged_tables(store: Store, config: Config) -> Iterator[Problem]:
    for folder, wrong in damaged_tables(store, config).items():
        yield Problem(
            "table_damaged",
            folder,
            since=datetime.now(UTC),
            reason=wrong.splitlines()[0],
            remedy=f"delete the folder {folder}.lance below lance/ in the state folder, refresh",
        )


def _failed_checks(store: Store) -> Iterator[Problem]:
    """Expectations whose failure stops what comes after."""
    for result in quality.results_in(store):
        for item in result.failed:
            if item.severity == "error":
                yield Problem(
                    "check_failed",
                    f"{result.asset}: {item.name}",
                    since=datetime.fromisoformat(result.at),
                    reason="\n".join(result.explain(item)[:-1]),
                    remedy=result.remedy(item),
                    assets=(result.asset,),
                )
