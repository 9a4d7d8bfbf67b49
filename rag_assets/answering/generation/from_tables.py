"""What a language model is told of the tables: what a lookup gave, the columns, and computations.

It may ask for a computation in words. These become a plan by the schema of
`table_lookup.by_model`, which only offers what there is; the plan is validated and run as data, and
its result is a source like any other. Nothing that a model writes is run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.citations.sentences import Sentence
from rag_assets.models.language.client import LanguageModelClient

if TYPE_CHECKING:
    from rag_assets.table_lookup.by_model.offering import OfferedColumn
    from rag_assets.table_lookup.looking_up import LookedUp
    from rag_assets.table_lookup.tables.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class FromTables:
    """The tables behind one question."""

    question: str
    catalogue: "Catalogue"
    looked: "LookedUp | None"
    """What the rules or a planner made of the question; None where no table may be asked."""
    model: LanguageModelClient

    @property
    def results(self) -> tuple[Sentence, ...]:
        """What the lookup says, if the model may see its tables."""
        looked = self.looked
        if looked is None or looked.plan is None or not self.model.may_see([looked.plan.source]):
            return ()
        return looked.sentences

    def described(self) -> tuple[tuple[str, ...], frozenset[str]]:
        """How the lookup read the question or why it refused it, and the columns that it may mean.

        One a line, and the names of the sources whose words stand there. Nothing where the model
        may see no table that has a word of the question.
        """
        from rag_assets.table_lookup.by_model.offering import offer_for

        may_see = self.model.may_see
        offer = offer_for(self.question, self.catalogue, may_see=lambda source: may_see([source]))
        every = frozenset(table.source for table in self.catalogue.tables)
        if offer is None:
            return (), frozenset()
        read = tuple(self._read()) if may_see(every) else ()
        columns = map(_described, offer.columns)
        return (*read, *columns), offer.sources | (every if read else frozenset())

    def _read(self) -> Iterator[str]:
        """A reason may have words of any table."""
        if self.looked is not None and self.looked.reason:
            was = "was" if self.looked.outcome == "answered" else "was not"
            left_out = ", ".join(self.looked.left_out)
            was = f"was, without its words {left_out}," if left_out else was
            yield f"The question {was} looked up: {self.looked.reason}"
            yield from (f"It can be read as: {reading}" for reading in self.looked.readings)

    def computed(self, asked: str) -> tuple[Sentence, ...] | str:
        """The result of a computation that the model asks for, or why there is none."""
        from rag_assets.table_lookup.by_model.model_planner import ModelPlanner
        from rag_assets.table_lookup.by_model.planner import Unplanned, plan_by
        from rag_assets.table_lookup.looking_up import answer_plan
        from rag_assets.table_lookup.words.phrases import language_of

        made = plan_by(ModelPlanner(self.model), asked, self.catalogue)
        if isinstance(made, Unplanned):
            return made.reason
        found = answer_plan(made.plan, self.catalogue, language=language_of(self.question))
        if found.outcome != "answered" or not found.row_ids:
            return found.reason or "no row is selected"
        return found.sentences


def _described(offered: "OfferedColumn") -> str:
    info = offered.column.info
    unit = f" in {info.unit}" if info.unit else ""
    holds = "numbers" if info.is_numeric else "texts"
    values = f", such as {'; '.join(offered.values)}" if offered.values else ""
    return f"{offered.table.info.title}, {info.heading}{unit}: {holds}{values}"
