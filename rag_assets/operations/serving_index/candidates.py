"""What may serve next: the last complete set of a variant with the retriever of the config."""

from rag_assets.change import completing
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.operations.gate.verdicts import utc_now
from rag_assets.operations.problems.current import why_stale
from rag_assets.operations.problems.failed_checks import named_results
from rag_assets.operations.serving_index.consistency import encoder_ids, inconsistencies
from rag_assets.process.errors import ExplainedError
from rag_assets.sources import readability
from rag_assets.store import Store
from rag_assets.store.pins import Pin, pin_of
from rag_assets.store.serving_pointer import MovedBy, QuerySide, ServingPointer


class NotReadyError(ExplainedError):
    """A variant cannot serve as it stands, whatever its quality; the message says why."""


class NothingReadError(NotReadyError):
    """Nothing served yet, and what was read of the sources holds no unit."""


def candidate_of(store: Store, config: Config, variant: str, *, by: MovedBy) -> ServingPointer:
    """The index of `variant` as it would serve.

    Raises:
        NotReadyError: It is not complete, a blocking check failed, or its tables do not agree.
    """
    if why_not := _why_nothing_is_there(store, config, variant):
        raise NothingReadError(why_not)
    complete_set = completing.record(store, config, STEPS, variant=variant)
    steps = STEPS.of_variant(config, variant)
    why = why_stale(store, list(steps.values()))
    if complete_set is None or why is not None:
        raise NotReadyError(f"Variant {variant} is not complete: {why or 'it is being written'}.")
    named = {store.known_as(step.table) for step in STEPS.all_of(config, variant)}
    blocking = [
        result.asset
        for result in named_results(store, config)
        if result.blocks and store.known_as(result.table) in named
    ]
    if blocking:
        raise NotReadyError(f"A check of {', '.join(dict.fromkeys(blocking))} failed.")
    if wrong := inconsistencies(store, complete_set, text=config.index.text):
        raise NotReadyError(f"The tables of variant {variant} do not agree: {'; '.join(wrong)}.")
    return ServingPointer(
        number=0,
        moved_at=utc_now(),
        by=by,
        complete_set=complete_set,
        elements=_pinned(store, complete_set.elements),
        chunks=_pinned(store, complete_set.chunks),
        recipe={
            "variant": config.variant(variant).model_dump(mode="json"),
            "steps": {asset: step.recipe for asset, step in steps.items()},
        },
        encoder_ids=encoder_ids(store, complete_set.joint),
        query_side=QuerySide.of(config.retrieval),
        verdict=None,
    )


def _why_nothing_is_there(store: Store, config: Config, variant: str) -> str | None:
    """Why there is nothing to serve, where nothing ever did; None once there is a unit."""
    if not completing.is_nothing_yet(store, config, variant=variant):
        return None
    sources = (*config.sources.documents, *config.sources.tables)
    known = (readability.readability(store, source.name) for source in sources)
    reasons = "; ".join(outage.reason for each in known for outage in each.outages())
    return f"Nothing can serve yet: {reasons or 'the sources hold nothing that could be indexed'}."


def _pinned(store: Store, table: str) -> Pin | None:
    return pin_of(store, table) if store.ended(table) else None
