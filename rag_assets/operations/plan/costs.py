"""What a plan takes: seconds by this machine's own throughput, and money where a model has a price.

A step's time is that of the largest pass that this state remembers (`change.throughput`), scaled to
what is planned. What was never done here is told by what it takes on two cores of a laptop, from a
third of that to three times as much; a model that nobody measured there has no time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from rag_assets.change.throughput import Throughput, kind_of, throughput
from rag_assets.config import Config, LanguageModelSettings
from rag_assets.config.base import read_data
from rag_assets.graph import STEPS
from rag_assets.index import encoders
from rag_assets.knowledge.found_names import ANSWER_TOKENS, entities_prompt
from rag_assets.knowledge.steps import UNIT_LINKS
from rag_assets.models.language.client import CHARACTERS_PER_TOKEN
from rag_assets.operations.plan.amounts import Amount, Embedding
from rag_assets.operations.plan.figures import money_of, most_money
from rag_assets.operations.plan.planning import AssetPlan, VariantPlan
from rag_assets.sources.steps import EXPORTS
from rag_assets.store import Store

A_MILLION = 1_000_000
LAPTOP = TypeAdapter(dict[str, float]).validate_python(
    read_data(Path(__file__).with_name("laptop.yaml"))
)
"""The seconds for an item of each kind, or a token of a model by its path, on two cores of a
laptop."""
UNSURE = (3.0, 1.0, 1 / 3)
"""What a guess is divided by for little, the usual and much time."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the work on one asset takes."""

    seconds: Amount | None = None
    """The time; None where such work was not measured here yet, or nobody knows how much there
    is."""
    money: Amount | None = None
    """The price; None for a model without one, and where the work can only be estimated."""
    currency: str = ""
    """The currency of the price; empty for a model without one."""


def costs_of(store: Store, config: Config, plan: VariantPlan) -> Mapping[str, Cost]:
    """For each asset what it takes."""
    known = throughput(store)
    steps = STEPS.of_variant(config, plan.variant)
    kinds = {name: kind_of(step.table) for name, step in steps.items()}
    found = {}
    for each in plan.assets:
        kind = EXPORTS if each.asset.startswith(EXPORTS) else kinds.get(each.asset, each.asset)
        found[each.asset] = (
            _of_embedding(config, each, each.embedding, _speed_of(store, config, each.model, known))
            if each.embedding
            else _cost(config, plan.variant, each, kind, known.get(kind))
        )
    return found


def _speed_of(
    store: Store, config: Config, model: str | None, known: Mapping[str, Throughput]
) -> Throughput | None:
    """How fast a model is here, or another entry of the config with the same weights."""
    path = config.models[model].path if model else None
    alike = [name for name, each in config.models.items() if each.path == path and name != model]
    for name in (model, *alike) if model else ():
        encoder = encoders.known_encoder(store, config, model=name)
        if encoder and encoder.encoder_id in known:
            return known[encoder.encoder_id]
    return None


def _cost(
    config: Config, variant: str, asset: AssetPlan, kind: str, known: Throughput | None
) -> Cost:
    seconds = _seconds(asset.changes.added + asset.changes.changed, known, kind)
    asked, read = config.describing_model, config.linking_model
    if asset.calls is None:
        return Cost(seconds)
    if asset.asset == UNIT_LINKS.name and read:
        price, money = read[1].price, _money_of_texts(config, variant, asset.calls, read[1])
    elif asked:
        price, money = asked.settings.price, money_of(asset.calls, asked)
    else:
        return Cost(seconds)
    return Cost(seconds, money, price.currency if price else "")


def _money_of_texts(
    config: Config, variant: str, calls: Amount, settings: LanguageModelSettings
) -> Amount | None:
    """What it may cost that names are found in so many chunks; None without prices."""
    size = config.chunkings[config.variant(variant).chunking].size
    read = len(entities_prompt().text) + CHARACTERS_PER_TOKEN * size
    written = min(ANSWER_TOKENS, settings.output_tokens)
    return most_money(calls, settings.price, read=read, written=written)


def _of_embedding(
    config: Config, asset: AssetPlan, embedding: Embedding, known: Throughput | None
) -> Cost:
    model = config.models[asset.model] if asset.model else None
    if model is None:
        return Cost()
    seconds = _seconds(embedding.tokens, known, model.path) if embedding.tokens else None
    price = model.endpoint.price if model.endpoint else None
    if price is None:
        return Cost(seconds)
    if embedding.tokens is None or embedding.tokens.is_estimate:
        return Cost(seconds, currency=price.currency)
    money = _scaled(embedding.tokens, price.per_million_tokens / A_MILLION)
    return Cost(seconds, money, price.currency)


def _seconds(items: Amount, known: Throughput | None, kind: str) -> Amount | None:
    """What `items` take here; a guess, where nothing of their kind was done yet."""
    if items.is_zero:
        return Amount.of(0)
    if not items.is_known:
        return None
    if known:
        return _scaled(items, known.seconds_an_item)
    return _scaled(items, LAPTOP[kind]).over(UNSURE) if kind in LAPTOP else None


def _scaled(amount: Amount, by: float) -> Amount:
    return Amount(amount.expected * by, amount.low * by, amount.high * by)
