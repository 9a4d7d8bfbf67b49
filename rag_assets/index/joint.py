"""Both domains in one table: the union of a variant's units, vectors copied, nothing embedded."""

from collections.abc import Callable, Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.config import Config
from rag_assets.identity import fingerprint
from rag_assets.index.encoders import encoder_of
from rag_assets.schemas import VariantTables
from rag_assets.store import Store, is_one_of, parts_of
from rag_assets.sync import (
    Batch,
    Report,
    Target,
    current_version,
    refresh,
    with_recipe_in_batches,
)

RECIPE = "joint:1"
ROWS_AT_ONCE = 65_536


def joint_made_from(store: Store, tables: VariantTables) -> str:
    """What the joint table is made from as its two parts stand now.

    Equal to `made_from` of the joint table's completion if, and only if, the three belong together.
    """
    versions = [current_version(store, name, key="unit_id") for name in _parts(tables)]
    return fingerprint(*versions, RECIPE)


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
    tables = config.tables_of(variant)
    encoder = encoder_of(store, config, model=config.variant(variant).model)
    pinned: dict[str, int] = {}

    def inputs() -> pa.RecordBatchReader:
        pinned.update({name: store.version(name) for name in _parts(tables)})
        columns = ["unit_id", schemas.ROW_FINGERPRINT.name]
        held = chain.from_iterable(
            store.batches(name, columns=columns, version=version, rows=ROWS_AT_ONCE)
            for name, version in pinned.items()
        )
        return with_recipe_in_batches(held, key=columns[0], content=columns[1], recipe=RECIPE)

    def transform(changed: pa.Table) -> Iterator[Batch]:
        for name, version in pinned.items():
            keys = store.read(name, columns=["unit_id"], version=version)["unit_id"]
            own = keys.filter(pc.is_in(keys, changed["key"].combine_chunks())).to_pylist()
            for some in parts_of(own):
                where = is_one_of("unit_id", some)
                yield Batch(rows=store.read(name, where=where, version=version), done=some)

    return refresh(
        store,
        target=Target(
            name=tables.joint,
            schema=schemas.units(encoder.dimension),
            key="unit_id",
            group="unit_id",
        ),
        made_from=joint_made_from(store, tables),
        inputs=inputs,
        transform=transform,
        log=log,
        retry=retry,
    )


def _parts(tables: VariantTables) -> tuple[str, str]:
    return tables.documents, tables.rows
