"""Both domains in one table: the union of a variant's units, vectors copied, nothing embedded.

Vectors of two models cannot be compared: where each domain has its own, the table has none, and
serves searches by words.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.row_inputs import RowInputs, rows_named
from rag_assets.change.steps import StepTable, made_from
from rag_assets.change.sync import Batch, Derivation, Report, Work, refresh
from rag_assets.config import Config
from rag_assets.index.encoders import encoder_of
from rag_assets.index.step_tables import joint_of
from rag_assets.store import Store


def refresh_joint(
    store: Store,
    config: Config,
    *,
    variant: str,
    log: Callable[[str], None],
    retry: bool = False,
) -> Report:
    """Bring the variant's joint table up to its documents and rows.

    Raises:
        MissingTableError: One of the two was never built.
    """
    schema = joint_schema(store, config, variant=variant)
    of_units = derivation(store, config, variant=variant, schema=schema)
    pinned: dict[str, int] = {}

    def inputs() -> RowInputs:
        units = _inputs(store, _step(config, variant))
        pinned.update(units.tables)
        return units

    def transform(changed: pa.Table) -> Iterator[Batch]:
        for name, version in pinned.items():
            keys = changed["key"]
            for rows in rows_named(
                store, name, key="unit_id", keys=keys, columns=schema.names, version=version
            ):
                yield Batch(rows=rows, done=rows["unit_id"].to_pylist())

    return refresh(Work.of(of_units, transform, inputs=inputs), log=log, retry=retry)


def derivation(store: Store, config: Config, *, variant: str, schema: pa.Schema) -> Derivation:
    """The variant's joint table, made from its units of both domains."""
    step = _step(config, variant)
    return Derivation(
        store=store,
        target=step.target(schema),
        made_from=made_from(store, step.inputs, recipe=str(step.revision)),
        inputs=lambda: _inputs(store, step),
    )


def _step(config: Config, variant: str) -> StepTable:
    return joint_of(config, config.variant(variant))


def _inputs(store: Store, step: StepTable) -> RowInputs:
    parts = (name for name, _ in step.sources)
    return RowInputs.of(store, *parts, key=step.key, recipe=str(step.revision))


def joint_schema(store: Store, config: Config, *, variant: str) -> pa.Schema:
    """The schema of the variant's joint table."""
    models = config.variant(variant).models
    if len(models) > 1:
        return schemas.units(None)
    return encoder_of(store, config, model=models[0]).units
