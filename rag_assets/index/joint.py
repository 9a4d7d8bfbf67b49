"""Both domains in one table: the union of a variant's units, vectors copied, nothing embedded."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.row_inputs import RowInputs
from rag_assets.change.sync import Batch, Report, Target, current_version, refresh
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.config import Config
from rag_assets.identity import fingerprint
from rag_assets.index.encoders import encoder_of
from rag_assets.schemas import VariantTables
from rag_assets.store import Store

RECIPE = "joint:1"


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

    def inputs() -> RowInputs:
        units = RowInputs.of(store, *_parts(tables), key="unit_id", recipe=RECIPE)
        pinned.update(units.tables)
        return units

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
        made_from=lambda: joint_made_from(store, tables),
        inputs=inputs,
        transform=transform,
        log=log,
        retry=retry,
    )


def _parts(tables: VariantTables) -> tuple[str, str]:
    return tables.documents, tables.rows
