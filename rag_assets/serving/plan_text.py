"""A plan as people and programs read it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from rag_assets.config import Config
from rag_assets.operations.plan.amounts import NOT_KNOWN, Amount, total
from rag_assets.operations.plan.costs import Cost
from rag_assets.operations.plan.planning import AssetPlan, VariantPlan
from rag_assets.reports.text_tables import table
from rag_assets.serving.replies import Json, Reply
from rag_assets.store import Store

Done: TypeAlias = Mapping[str, Mapping[str, float]]
"""Counts of each asset that was refreshed, by its key: see `refresh_run.RefreshOutcome.assets`."""

NOTHING_TO_BUILD_FROM = "is not built, and its sources hold nothing that can be read"
NOT_MEASURED = "not measured here yet"
ESTIMATED = "estimated"
SECONDS_A_MINUTE, SECONDS_AN_HOUR = 60, 3_600


def planned(
    store: Store, config: Config, *, variant: str, allow_shrink: bool = False
) -> tuple[VariantPlan, Reply]:
    """What a refresh of `variant` would do now, and that for people and programs.

    Raises:
        ParserUnavailableError, WeightsError: A parser or the weights of a model are missing.
    """
    from rag_assets.operations.plan.costs import costs_of
    from rag_assets.operations.plan.planning import plan_of
    from rag_assets.operations.plan.reasons import reasons_of

    plan = plan_of(store, config, variant=variant, allow_shrink=allow_shrink)
    costs, reasons = costs_of(store, config, plan), reasons_of(store, config, plan)
    record = record_of(plan, reasons=reasons, costs=costs)
    return plan, Reply(record, text_of(plan, reasons=reasons, costs=costs))


def record_of(
    plan: VariantPlan, *, reasons: Mapping[str, Sequence[str]], costs: Mapping[str, Cost]
) -> Mapping[str, Json]:
    """The plan for programs."""
    return {
        "variant": plan.variant,
        "nothing_to_do": plan.is_nothing,
        "assets": {
            each.asset: _asset(each, reasons.get(each.asset, ()), costs[each.asset])
            for each in plan.assets
        },
        "failures": list(plan.failures),
        "rows_read": plan.rows_read,
        "documents_estimated": plan.documents_estimated,
    }


def text_of(
    plan: VariantPlan, *, reasons: Mapping[str, Sequence[str]], costs: Mapping[str, Cost]
) -> str:
    """The plan for people."""
    return "\n\n".join(_paragraphs(plan, reasons, costs))


def short_text(plan: VariantPlan, costs: Mapping[str, Cost]) -> str:
    """What a plan takes, in a sentence."""
    if plan.is_nothing and not plan.is_built:
        return f"Variant {plan.variant} {NOTHING_TO_BUILD_FROM}."
    if plan.is_nothing:
        return f"Variant {plan.variant} is up to date: there is nothing to build."
    embedding, known = plan.embedding, [costs[each.asset].seconds for each in plan.assets]
    tokens = f" ({embedding.tokens} tokens)" if embedding.tokens else ""
    texts = f"{embedding.texts} texts to embed{tokens}"
    if not embedding.texts.is_known:
        texts = f"how many texts are to embed is {NOT_KNOWN}"
    time = _time(total(each for each in known if each))
    unknown = f", without what was {NOT_MEASURED}" if None in known else ""
    return f"Variant {plan.variant}: {texts}, {time}{unknown}."


def outcome_record(plan: VariantPlan, done: Done) -> Mapping[str, Json]:
    """What was planned beside what a refresh did, for programs: by asset and count."""
    return {
        planned.asset: {
            count: {
                "planned": _bounds(amount),
                "done": did,
                "as_planned": None if amount.is_estimate else amount.holds(did),
            }
            for count, amount, did in _compared(planned, done[planned.asset])
        }
        for planned in plan.assets
        if planned.asset in done
    }


def outcome_text(plan: VariantPlan, done: Done) -> str:
    """What was planned beside what was done, for people, without counts that are both zero."""
    compared = [
        (planned.asset, *each)
        for planned in plan.assets
        if planned.asset in done
        for each in _compared(planned, done[planned.asset])
        if not each[1].is_zero or each[2]
    ]
    if not compared:
        return "As planned: nothing was to be done."
    rows = [
        {
            "asset": asset,
            "count": count,
            "planned": str(amount),
            "done": f"{did:,.0f}",
            "as planned": ESTIMATED if amount.is_estimate else "yes" if amount.holds(did) else "no",
        }
        for asset, count, amount, did in compared
    ]
    kept = sum(row["as planned"] == "yes" for row in rows)
    told = sum(row["as planned"] != ESTIMATED for row in rows)
    head = f"{kept} of {told} counts came out as planned:"
    return "\n".join([head, table(rows, columns=[*rows[0]])])


def _compared(planned: AssetPlan, done: Mapping[str, float]) -> Iterator[tuple[str, Amount, float]]:
    """Each count that was planned, and what came of it."""
    changes = planned.changes
    yield from (
        (count, amount, done[count])
        for count, amount in (
            ("added", changes.added),
            ("changed", changes.changed),
            ("removed", changes.removed),
        )
        if count in done
    )
    if planned.embedding is not None and "embedded" in done:
        yield "embedded", planned.embedding.texts, done["embedded"]


def _asset(asset: AssetPlan, why: Sequence[str], cost: Cost) -> Mapping[str, Json]:
    changes, embedding = asset.changes, asset.embedding
    record: dict[str, Json] = {
        "counted": asset.counted,
        "added": _bounds(changes.added),
        "changed": _bounds(changes.changed),
        "removed": _bounds(changes.removed),
        "why": list(why),
        "seconds": _bounds(cost.seconds),
    }
    if embedding is not None:
        record |= {
            "model": asset.model,
            "texts": _bounds(embedding.texts),
            "reused": _bounds(embedding.reused),
            "tokens": _bounds(embedding.tokens),
        }
    if asset.calls is not None:
        record |= {"model": asset.model, "calls": _bounds(asset.calls)}
    if cost.money is not None:
        record |= {"money": _bounds(cost.money), "currency": cost.currency}
    return record


def _bounds(amount: Amount | None) -> Json:
    """A number that is exact, its bounds, or an estimate; None where it is not known."""
    if amount is None or not amount.is_known:
        return None
    if amount.is_exact:
        return _number(amount.expected)
    if amount.is_estimate:
        return {"estimate": _number(amount.expected)}
    return {name: _number(getattr(amount, name)) for name in ("expected", "low", "high")}


def _number(value: float) -> float:
    """A whole number as one, any other with four digits."""
    return int(value) if float(value).is_integer() else round(value, 4)


def _paragraphs(
    plan: VariantPlan, reasons: Mapping[str, Sequence[str]], costs: Mapping[str, Cost]
) -> Iterator[str]:
    if plan.failures:
        yield "\n".join(["Cannot be read; what is held of it stays:", *_indented(plan.failures)])
    if plan.is_nothing and not plan.is_built:
        yield f"Nothing to do yet: variant {plan.variant} {NOTHING_TO_BUILD_FROM}."
        return
    if plan.is_nothing:
        what = f"variant {plan.variant} is up to date with what can be read of its sources"
        yield f"Nothing to do: {what}."
        return
    yield short_text(plan, costs)
    busy = [each for each in plan.assets if not each.changes.is_nothing]
    rows = [_row(each, costs[each.asset]) for each in busy]
    yield table(rows, columns=["asset", "counted", "added", "changed", "removed", "time"])
    why = [f"{each.asset}: {'; '.join(reasons[each.asset])}" for each in busy]
    yield "\n".join(["Why:", *_indented(why)])
    embedded = [each for each in busy if each.embedding]
    if lines := [_embedding(each, costs[each.asset]) for each in embedded]:
        yield "\n".join(["To be embedded:", *_indented(lines)])
    if lines := [_asked(each, costs[each.asset]) for each in busy if each.calls]:
        yield "\n".join(["To be asked of language models:", *_indented(lines)])
    yield _known_from(plan)


def _row(asset: AssetPlan, cost: Cost) -> Mapping[str, object]:
    changes = asset.changes
    return {
        "asset": asset.asset,
        "counted": asset.counted,
        "added": str(changes.added),
        "changed": str(changes.changed),
        "removed": str(changes.removed),
        "time": NOT_MEASURED if cost.seconds is None else _time(cost.seconds),
    }


def _embedding(asset: AssetPlan, cost: Cost) -> str:
    embedding = asset.embedding
    assert embedding is not None, "only assets with a model are asked for"
    tokens = f"{embedding.tokens} tokens" if embedding.tokens else f"tokens {NOT_KNOWN}"
    texts = f"{embedding.texts} texts" if embedding.texts.is_known else f"texts {NOT_KNOWN}"
    money = f", {_money(cost)}" if cost.currency else ""
    text = f"{asset.asset}, model {asset.model}: {texts}, {tokens}{money}"
    if embedding.reused.is_exact and not embedding.reused.is_zero:
        text += f"; {embedding.reused} more are not embedded, as an equal text is embedded already"
    return text


def _asked(asset: AssetPlan, cost: Cost) -> str:
    money = f", at most {cost.money.high:,.2f} {cost.currency}" if cost.money else ""
    return f"{asset.asset}, model {asset.model}: {asset.calls} {asset.counted}{money}"


def _money(cost: Cost) -> str:
    if cost.money is None:
        return f"price {NOT_KNOWN}"
    if cost.money.is_exact:
        return f"{cost.money.expected:,.2f} {cost.currency}"
    return f"{cost.money.low:,.2f} to {cost.money.high:,.2f} {cost.currency}"


def _known_from(plan: VariantPlan) -> str:
    """What was read to tell, and that nothing was written."""
    parts = []
    if plan.documents_estimated:
        parts.append(f"estimated the chunks of {_documents(plan.documents_estimated)} by size")
    if plan.rows_read:
        parts.append(f"read {plan.rows_read:,} rows at the sources")
    return f"To tell this: {', '.join(parts) or 'nothing had to be read'}. Nothing was written."


def _documents(count: int) -> str:
    return f"{count:,} document{'s' if count != 1 else ''}"


def _time(seconds: Amount) -> str:
    if seconds.is_exact or seconds.is_estimate or _span(seconds.low) == _span(seconds.high):
        return f"about {_span(seconds.expected)}"
    return f"{_span(seconds.low)} to {_span(seconds.high)}"


def _span(seconds: float) -> str:
    if seconds < SECONDS_A_MINUTE:
        return f"{seconds:.0f} s"
    if seconds < SECONDS_AN_HOUR:
        return f"{seconds / SECONDS_A_MINUTE:.0f} min"
    return f"{seconds / SECONDS_AN_HOUR:.1f} h"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
