"""What a plan takes: seconds by this machine's own throughput, and money where a model has a price.

A step's time is that of the largest pass that this state remembers (`change.throughput`), scaled to
what is planned. What was never done here has no time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rag_assets.change.throughput import Throughput, kind_of, throughput
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.index import encoders
from rag_assets.operations.plan.amounts import Amount
from rag_assets.operations.plan.figures import money_of
from rag_assets.operations.plan.planning import AssetPlan, VariantPlan
from rag_assets.sources.steps import EXPORTS
from rag_assets.store import Store

A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What the work on one asset takes."""

    seconds: Amount | None = None
    """None where such work was not measured here yet."""
    money: Amount | None = None
    """None for a model without a price."""
    currency: str = ""


def costs_of(store: Store, config: Config, plan: VariantPlan) -> Mapping[str, Cost]:
    """For each asset what it takes."""
    known = throughput(store)
    steps = STEPS.of_variant(config, plan.variant)
    kinds = {name: kind_of(step.table) for name, step in steps.items()}
    found = {}
    for each in plan.assets:
        kind = EXPORTS if each.asset.startswith(EXPORTS) else kinds.get(each.asset, each.asset)
        model = each.model if each.embedding else None
        encoder = encoders.known_encoder(store, config, model=model) if model else None
        of_model = known.get(encoder.encoder_id) if encoder else None
        found[each.asset] = _cost(config, each, known.get(kind), of_model)
    return found


def _cost(
    config: Config, asset: AssetPlan, of_kind: Throughput | None, of_model: Throughput | None
) -> Cost:
    if asset.embedding is None:
        seconds = _seconds(asset.changes.added + asset.changes.changed, of_kind)
        asked = config.describing_model if asset.calls else None
        price = asked.settings.price if asked else None
        if asset.calls is None or asked is None or price is None:
            return Cost(seconds)
        return Cost(seconds, money_of(asset.calls, asked), price.currency)
    tokens = asset.embedding.tokens
    if tokens is None:
        return Cost()
    endpoint = config.models[asset.model].endpoint if asset.model else None
    price = endpoint.price if endpoint else None
    if price is None:
        return Cost(_seconds(tokens, of_model))
    money = _scaled(tokens, price.per_million_tokens / A_MILLION)
    return Cost(_seconds(tokens, of_model), money, price.currency)


def _seconds(items: Amount, known: Throughput | None) -> Amount | None:
    if items.is_zero:
        return Amount.of(0)
    return _scaled(items, known.seconds_an_item) if known else None


def _scaled(amount: Amount, by: float) -> Amount:
    return Amount(amount.expected * by, amount.low * by, amount.high * by)
