"""The step of the room: from the units of a variant to the names in them."""

from rag_assets.change.steps import ShownContent, StepContext, StepKind, StepResult, StepTable
from rag_assets.change.work import Derivation
from rag_assets.config import Config, Variant
from rag_assets.knowledge.step_tables import unit_links_of
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet


class UnitLinks(StepKind):
    """The names that the units of a variant mention and are about."""

    name = "unit_links"
    room = "knowledge"
    about = "Names in each unit that lead to others: titles, keys, identifiers, formulas."
    counts = "units"
    labels = frozenset({"lancedb", "text"})
    is_optional = True
    fails_beyond_input = True
    would_change = "an edit of the unit, links.kinds, links.identifiers or links.language_model"

    def is_made(self, config: Config) -> bool:
        """Whether any kind of names is to be kept."""
        return bool(config.links.kinds)

    def labels_of(self, config: Config) -> frozenset[str]:
        """The labels of the kind, and that of a language model where one reads texts."""
        return self.labels | {"ai"} if config.linking_model else self.labels

    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The names in the recipe's units."""
        return unit_links_of(config, recipe)

    def refresh(self, work: StepContext) -> StepResult:
        """Read the names of new units, and record the set that the variant now has."""
        from rag_assets.change import completing
        from rag_assets.knowledge import asset_metadata
        from rag_assets.knowledge.unit_links import refresh_unit_links

        store, config = work.store, work.config
        report = refresh_unit_links(
            store, config, variant=work.variant, log=work.log, retry=work.retry
        )
        completing.record_all(store, config, work.steps)
        return StepResult(
            report=report,
            schema=self.table(config, work.recipe).schema,
            preview=asset_metadata.preview(store, report.target),
            content=ShownContent(
                asset_metadata.NAMES, lambda: asset_metadata.links(store, report.target)
            ),
            about=report.spending,
        )

    def derivation(self, work: StepContext) -> Derivation:
        """The names, made from the units."""
        from rag_assets.knowledge.unit_links import derivation

        return derivation(work.store, work.config, work.recipe)

    def held_in(self, complete_set: CompleteSet) -> str | None:
        """The table of names that it pins."""
        return name_of(complete_set.unit_links.table) if complete_set.unit_links else None


UNIT_LINKS = UnitLinks()
