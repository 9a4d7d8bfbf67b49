"""What a refresh would ask of the model that describes figures, and what that may cost.

Figures that the parser has found are known. Those of documents that are still to be parsed are
estimated from what the parsed ones hold; where none was parsed yet, the bounds are wide.
"""

from dataclasses import dataclass

import pyarrow.compute as pc

from rag_assets.change.deciding import Plan, decide
from rag_assets.config import Config, DescribingModel, TokenPrices
from rag_assets.documents.figures import describe
from rag_assets.documents.figures.describe import LONGEST_CAPTION
from rag_assets.models.language.client import TOKENS_PER_PICTURE
from rag_assets.models.language.spending import cost_of
from rag_assets.operations.plan.amounts import Amount, Changes
from rag_assets.store import Store

FIGURES_A_DOCUMENT = (0, 1, 50)
"""The figures of a document, few, usual and many, where no document was parsed yet."""


@dataclass(frozen=True, slots=True)
class FiguresPlan:
    """What will become of the descriptions of figures."""

    plan: Plan | None
    """The plan as the elements stand; None where there are none yet."""
    changes: Changes
    model: str
    """The entry of `language_models` that describes them."""

    @property
    def calls(self) -> Amount:
        """How often the model is asked."""
        return self.changes.added + self.changes.changed


def figures_plan(
    store: Store, config: Config, *, variant: str, model: DescribingModel, to_parse: int
) -> FiguresPlan:
    """What a refresh of `variant` would have `model` describe; `to_parse` counts documents."""
    parser, elements = config.variant(variant).parser, config.tables_of(variant).elements
    plan, known = None, Changes()
    if store.exists(elements):
        plan = decide(describe.derivation(store, config, parser=parser, model=model))
        known = Changes.of(plan.added, plan.changed, len(plan.removed))
    found = Changes(added=_figures_of(store, elements, documents=to_parse))
    return FiguresPlan(plan, known + found, model.name)


def money_of(calls: Amount, model: DescribingModel) -> Amount | None:
    """What so many calls may cost; None without prices.

    At most as much as a budget reckons with: the prompt, a large picture and its words are read,
    and the longest description is written. How much less it is, only the server knows.
    """
    read = len(model.prompt) + LONGEST_CAPTION + TOKENS_PER_PICTURE
    return most_money(calls, model.settings.price, read=read, written=model.max_tokens)


def most_money(
    calls: Amount, price: TokenPrices | None, *, read: int, written: int
) -> Amount | None:
    """What calls may cost that read and write at most so many tokens; None without prices."""
    most = cost_of(price, prompt_tokens=read, completion_tokens=written)
    return None if most is None else Amount(calls.expected * most / 2, 0, calls.high * most)


def _figures_of(store: Store, elements: str, *, documents: int) -> Amount:
    """The figures of documents that are not parsed yet, by those that are."""
    if not documents:
        return Amount.of(0)
    few, usual, many = FIGURES_A_DOCUMENT
    if store.exists(elements) and (parsed := _documents(store, elements)):
        shown = "type = 'figure' AND image IS NOT NULL"
        held = store.read(elements, columns=["document_id"], where=shown)["document_id"]
        most = pc.max(held.value_counts().field("counts")).as_py() if len(held) else 0
        usual, many = len(held) / parsed, max(many, most)
    return Amount(documents * usual, documents * few, documents * many)


def _documents(store: Store, elements: str) -> int:
    return pc.count_distinct(store.read(elements, columns=["document_id"])["document_id"]).as_py()
