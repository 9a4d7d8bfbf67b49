"""The steps of a variant, run one after the other by their own code: what a repair ends with.

A step whose table is whole finds nothing to do. Sources are read again only where what was landed
of them is hurt.
"""

from collections.abc import Sequence

from rag_assets.change.steps import StepContext
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.operations.doctor.faults import Log
from rag_assets.operations.serving_index.promotion import promote_refreshed
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store, serving_pointer


def land_again(store: Store, config: Config, *, log: Log) -> None:
    """Read the sources again, as a refresh does."""
    work = _work(store, config, config.serving_variant, log=log)
    for source in config.sources.tables:
        refresh_exports(store, source, allow_shrink=False, log=log)
    for kind in STEPS.kinds:
        if kind.reads_sources:
            kind.refresh(work)


def rebuild(store: Store, config: Config, *, variants: Sequence[str], log: Log) -> None:
    """Bring the tables of `variants` up to what was landed of the sources.

    Where what serves is among them, the pointer moves on if its gate lets it pass.

    Raises:
        MissingTableError: Nothing was landed yet.
        EncoderError, WeightsError, ParserUnavailableError: As the steps do.
    """
    for variant in variants:
        for step in STEPS.in_order(config, variant).values():
            if not step.kind.reads_sources:
                step.kind.refresh(_work(store, config, variant, log=log))
    if serving_pointer.serving_variant(store, config) in variants:
        promote_refreshed(store, config, log=log)


def _work(store: Store, config: Config, variant: str, *, log: Log) -> StepContext:
    return StepContext(store=store, config=config, variant=variant, steps=STEPS, log=log, warn=log)
