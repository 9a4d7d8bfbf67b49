"""Why a plan has something to do, in words: what changed since the last complete pass."""

from collections.abc import Iterator, Mapping, Sequence

from rag_assets.change.deciding import Plan
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.operations.plan.amounts import Changes
from rag_assets.operations.plan.planning import AssetPlan, VariantPlan
from rag_assets.sources.steps import DOCUMENT_FILES, EXPORTS
from rag_assets.store import PassRecord, Store
from rag_assets.store.complete_sets import CompleteSet, file_of
from rag_assets.tables.steps import TABLE_ROWS

NEW = "not built yet"
FOLLOWS = "follows from the step before"
RECIPE = "recipe"


def reasons_of(store: Store, config: Config, plan: VariantPlan) -> Mapping[str, Sequence[str]]:
    """For each asset with something to do, why that is so."""
    former = CompleteSet.read(file_of(store, plan.variant))
    reasons = _Reasons(store, config, plan, former)
    return {
        each.asset: tuple(dict.fromkeys(reasons.of(each))) or (FOLLOWS,)
        for each in plan.assets
        if not each.changes.is_nothing
    }


class _Reasons:
    """Holds what is planned against what the last passes were made from."""

    def __init__(
        self, store: Store, config: Config, plan: VariantPlan, former: CompleteSet | None
    ) -> None:
        self._store = store
        self._config = config
        self._plan = plan
        self._former = former

    def of(self, asset: AssetPlan) -> Iterator[str]:
        """Why an asset has something to do."""
        plan = asset.plan
        if plan is not None and self._store.exists(plan.target.name):
            yield from self._of_table(plan)
        elif plan is not None or asset.embedding:
            yield from self._of_new(asset)
        yield from self._of_sources(asset)

    def _of_table(self, plan: Plan) -> Iterator[str]:
        """Why a table that is there is to be changed, its inputs as they stand."""
        if plan.rebuild_reason:
            yield f"built again: {plan.rebuild_reason}"
        ended = self._store.ended(plan.target.name)
        if ended is None:
            yield "the last pass was not finished"
        elif RECIPE in plan.differs:
            yield from differences(ended, plan.recipe)
        if plan.entries.num_rows and not plan.is_up_to_date:
            yield f"{plan.entries.num_rows:,} in quarantine"

    def _of_new(self, asset: AssetPlan) -> Iterator[str]:
        """Why a table is to be made: its variant is new, or had another recipe."""
        table = self._table_before(asset.asset)
        ended = self._store.ended(table) if table else None
        if ended is None:
            yield NEW
            return
        if asset.plan is not None:
            yield from differences(ended, asset.plan.recipe)
        if asset.embedding and self._former and asset.model != self._former.model:
            yield f"model: {self._former.model} -> {asset.model}"

    def _table_before(self, asset: str) -> str | None:
        """The table that the variant had before, where it has another one now."""
        kind = STEPS.kind(asset)
        return kind.held_in(self._former) if kind and self._former else None

    def _of_sources(self, asset: AssetPlan) -> Iterator[str]:
        """What changed at the sources."""
        kind = STEPS.kind(asset.asset)
        if kind is None:
            yield from _said(asset.changes, "rows at the source")
        elif kind.domain == "document":
            yield from _said(self._plan.of(DOCUMENT_FILES.name).changes, "files")
        elif kind.domain == "table":
            yield from self._of_rows()
        else:
            for each in STEPS.in_order(self._config, self._plan.variant)[kind.name].inputs:
                made = STEPS.kind(each.asset)
                yield from _said(self._plan.of(each.asset).changes, made.holds if made else "units")

    def _of_rows(self) -> Iterator[str]:
        """What changed in tables, or that the config names some no longer."""
        exports = [each for each in self._plan.assets if each.asset.startswith(f"{EXPORTS}/")]
        moved = sum((each.changes for each in exports), Changes())
        yield from _said(moved, "rows")
        own = self._plan.of(TABLE_ROWS.name).plan
        if own is not None and moved.is_nothing and EXPORTS in own.differs and own.removed:
            yield f"{len(own.removed):,} rows are of tables that the config no longer names"


def differences(ended: PassRecord, recipe: Mapping[str, str]) -> Iterator[str]:
    """How a recipe differs from that of the pass that `ended`, part by part."""
    then = ended.recipe or {}
    for name in dict.fromkeys([*then, *recipe]):
        before, now = then.get(name, "none"), recipe.get(name, "none")
        if before != now:
            yield f"{name}: {before} -> {now}"


def _said(changes: Changes, what: str) -> Iterator[str]:
    counts = {
        "new": changes.added,
        "changed": changes.changed,
        "gone": changes.removed,
    }
    parts = [f"{count} {word}" for word, count in counts.items() if not count.is_zero]
    if parts:
        yield f"{what}: {', '.join(parts)}"
