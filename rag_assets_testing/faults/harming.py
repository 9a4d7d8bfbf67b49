"""What disks, bugs and people do to a state: one real fault of each kind that the doctor knows.

Each is done to a project that was built, and leaves its records as they are: nobody who believes
them would notice.
"""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import lance
import numpy as np
import pyarrow as pa

from rag_assets import identity, schemas
from rag_assets.change import quarantine
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.store import Store, exports, serving_pointer
from rag_assets.store.complete_sets import file_of
from rag_assets.store.search_indexes import text_index_name
from rag_assets_testing.faults import damaging

STRANGE = "00000000-0000-5000-8000-000000000000"
"""An id that nothing has."""


@dataclass(frozen=True)
class Built:
    """A state that was built, and how its tables are called."""

    store: Store
    config: Config
    variant: str = "default"

    def table(self, asset: str) -> str:
        return STEPS.of_variant(self.config, self.variant)[asset].table

    def first(self, asset: str, column: str) -> str:
        """The least value of a column: the same in each run."""
        table = self.store.read(self.table(asset), columns=[column])
        return min(table[column].to_pylist())

    def set(self, asset: str, *, where: str, **values: str) -> None:
        """Write other values (SQL) into some rows, past everybody."""
        self.store.dataset(self.table(asset)).update(values, where=where)

    def set_first(self, asset: str, column: str, **values: str) -> None:
        self.set(asset, where=f"{column} = '{self.first(asset, column)}'", **values)

    def doubled(self, asset: str, column: str) -> None:
        where = f"{column} = '{self.first(asset, column)}'"
        rows = self.store.read(self.table(asset), where=where)
        self.store.open(self.table(asset)).add(rows)

    def deleted(self, asset: str, column: str) -> None:
        where = f"{column} = '{self.first(asset, column)}'"
        self.store.dataset(self.table(asset)).delete(where)

    def added(self, asset: str, column: str) -> None:
        """A copy of a row under an id that no input has."""
        where = f"{column} = '{self.first(asset, column)}'"
        rows = self.store.read(self.table(asset), where=where).slice(0, 1)
        place = rows.column_names.index(column)
        strange = pa.array([STRANGE], pa.string())
        self.store.open(self.table(asset)).add(
            rows.set_column(place, rows.schema.field(column), strange)
        )

    def vector_set(self, asset: str, vector: Callable[[int], np.ndarray]) -> None:
        """Give the first unit another vector."""
        where = f"unit_id = '{self.first(asset, 'unit_id')}'"
        rows = self.store.read(self.table(asset), where=where)
        field = rows.schema.field("vector")
        values = pa.array(vector(field.type.list_size), pa.float32())
        fresh = pa.FixedSizeListArray.from_arrays(values, field.type.list_size)
        rows = rows.set_column(rows.column_names.index("vector"), field, fresh)
        self.store.dataset(self.table(asset)).delete(where)
        lance.write_dataset(rows, self.store.uri(self.table(asset)), mode="append")

    def damage(self, asset: str, *, files: str, how: str) -> None:
        folder = damaging.folder_of(self.store, self.table(asset))
        assert damaging.damage(folder, files=files, how=how)


Harm = Callable[[Built], object]


def _index_begun_with_zeros(built: Built) -> None:
    """Sizes and ends stay, as where a disk lost blocks."""
    folder = damaging.folder_of(built.store, built.table("joint_index"))
    for file in folder.glob("_indices/*/*_invert.lance"):
        content = file.read_bytes()
        half = len(content) // 2
        file.write_bytes(bytes(half) + content[half:])


def _export_overwritten(built: Built) -> None:
    [name, *_] = exports.names(built.store)
    folder = damaging.folder_of(built.store, name)
    assert damaging.damage(folder, files="data/*", how="zeros")


def _pin_of_nowhere(built: Built) -> None:
    file = file_of(built.store, built.variant)
    record = json.loads(file.read_text())
    record["joint"]["version"] += 1_000
    file.write_text(json.dumps(record))


def _pointer_of_nowhere(built: Built) -> None:
    file = built.store.root / serving_pointer.FOLDER / serving_pointer.CURRENT
    record = json.loads(file.read_text())
    record["complete_set"]["joint"]["version"] += 1_000
    file.write_text(json.dumps(record))


def _pointer_of_bytes(built: Built) -> None:
    (built.store.root / serving_pointer.FOLDER / serving_pointer.CURRENT).write_bytes(b"\xff{")


def _false_record(built: Built) -> None:
    left = built.store.ended(built.table("chunks"))
    file = built.store.root / "completed" / f"{built.store.known_as(built.table('chunks'))}.json"
    assert left is not None
    file.write_text(file.read_text().replace(f'"rows": {left.rows}', f'"rows": {left.rows + 1}'))


def _older_set(built: Built) -> None:
    file = file_of(built.store, built.variant)
    record = json.loads(file.read_text())
    record["joint"]["data_version"] = "older"
    file.write_text(json.dumps(record | {"seen": ""}))


def _last_chunk_gone(built: Built) -> None:
    """The one deletion that leaves no gap in the numbers of a document's chunks."""
    document = built.first("chunks", "document_id")
    chunks = built.store.read(built.table("chunks"), where=f"document_id = '{document}'")
    last = max(chunks["index"].to_pylist())
    built.store.dataset(built.table("chunks")).delete(
        f"document_id = '{document}' AND `index` = {last}"
    )


def _stray_quarantine(built: Built) -> None:
    target = built.store.known_as(built.table("chunks"))
    failure = quarantine.Failure(STRANGE, "it was there once", "gone.md")
    quarantine.record(built.store, target=target, failures=[failure])


def _unmarked_quarantine(built: Built) -> None:
    (built.store.root / "quarantined").mkdir(exist_ok=True)
    if not built.store.exists(quarantine.QUARANTINE):
        quarantine.record(
            built.store,
            target="rows__x",
            failures=[quarantine.Failure(STRANGE, "it was there once", "gone.md")],
        )
        quarantine.forget(built.store, "rows__x", [STRANGE])
    (built.store.root / "quarantined" / "rows__y").touch()


def _account_lost(built: Built) -> None:
    accounts = built.config.tables_of(built.variant).accounts
    document = min(built.store.read(accounts, columns=["document_id"])["document_id"].to_pylist())
    built.store.delete(accounts, column="document_id", keys=[document])


def _stray_account(built: Built) -> None:
    accounts = built.config.tables_of(built.variant).accounts
    rows = built.store.read(accounts).slice(0, 1)
    strange = pa.array([STRANGE], pa.string())
    built.store.open(accounts).add(rows.set_column(0, rows.schema.field(0), strange))


def _without_name(built: Built) -> None:
    name = "chunks__old__small-0123456789ab"
    built.store.append(name, schemas.CHUNKS.empty_table(), schema=schemas.CHUNKS)
    file = built.store.root / "unnamed.json"
    file.write_text(json.dumps({built.store.generation(name): time.time() - 365 * 86_400}))


def _begun(built: Built) -> None:
    (built.store.root / "lance" / "chunks__begun.lance" / "_versions").mkdir(parents=True)


def _bad_cache(built: Built) -> None:
    (built.store.root / "cache").mkdir(exist_ok=True)
    (built.store.root / "cache" / "retrieval.sqlite").write_bytes(b"no database " * 100)


def _stray_record(built: Built) -> None:
    name = "chunks__gone__small-0123456789ab.json"
    (built.store.root / "completed" / name).write_text("{}")


def _other_slice(built: Built) -> None:
    built.set_first("chunks", "chunk_id", char_start="char_start + 3", char_end="char_end + 3")


HARMS: Mapping[str, tuple[str, Harm]] = {
    "chunks cut short": ("D101 D601", lambda it: it.damage("chunks", files="data/*", how="half")),
    "elements gone": (
        "D101 D601",
        lambda it: it.damage("parsed_documents", files="data/*", how="gone"),
    ),
    "joint table cut short": (
        "D101 D601",
        lambda it: it.damage("joint_index", files="data/*", how="half"),
    ),
    "manifests of chunks emptied": (
        "D101 D601",
        lambda it: it.damage("chunks", files="_versions/*", how="empty"),
    ),
    "folder of chunks gone": (
        "D102 D601",
        lambda it: shutil.rmtree(damaging.folder_of(it.store, it.table("chunks"))),
    ),
    "record gone": ("D105", lambda it: it.store.reopen(it.table("chunks"))),
    "record of other rows": ("D107", _false_record),
    "record of no table": ("D108", _stray_record),
    "unit twice": ("D201", lambda it: it.doubled("chunk_vectors", "unit_id")),
    "chunk twice": ("D201", lambda it: it.doubled("chunks", "chunk_id")),
    "element twice": ("D201", lambda it: it.doubled("parsed_documents", "element_id")),
    "joint unit twice": ("D201", lambda it: it.doubled("joint_index", "unit_id")),
    "last chunk gone": ("D107", _last_chunk_gone),
    "chunk gone": ("D202", lambda it: it.deleted("chunks", "chunk_id")),
    "element gone": ("D202", lambda it: it.deleted("parsed_documents", "element_id")),
    "unit gone": ("D203", lambda it: it.deleted("row_vectors", "unit_id")),
    "serialized row gone": ("D203", lambda it: it.deleted("serialized_rows", "row_id")),
    "document's elements gone": ("D203", lambda it: it.deleted("parsed_documents", "document_id")),
    "document's chunks gone": ("D203", lambda it: it.deleted("chunks", "document_id")),
    "unit of no chunk": ("D204", lambda it: it.added("chunk_vectors", "unit_id")),
    "text of no row": ("D204", lambda it: it.added("serialized_rows", "row_id")),
    "unit made from another": (
        "D205",
        lambda it: it.set_first("chunk_vectors", "unit_id", fingerprint="'0'"),
    ),
    "chunks made from another": (
        "D205",
        lambda it: it.set_first("chunks", "document_id", fingerprint="'0'"),
    ),
    "text of a chunk altered": (
        "D301",
        lambda it: it.set_first("chunks", "chunk_id", text="concat(text, ' not')"),
    ),
    "text of a unit altered": (
        "D301",
        lambda it: it.set_first("chunk_vectors", "unit_id", text="'something else'"),
    ),
    "chunk of another place": ("D302", _other_slice),
    "row written otherwise": (
        "D303",
        lambda it: it.set_first(
            "serialized_rows",
            "row_id",
            text="'other words'",
            text_hash=f"'{identity.text_hash('other words')}'",
        ),
    ),
    "zero vector": (
        "D401",
        lambda it: it.vector_set("chunk_vectors", lambda length: np.zeros(length)),
    ),
    "vector that is no number": (
        "D401",
        lambda it: it.vector_set("row_vectors", lambda length: np.full(length, np.nan)),
    ),
    "vector of another model": (
        "D402",
        lambda it: it.set_first("chunk_vectors", "unit_id", encoder_id="'other/cpu/torch/fp32'"),
    ),
    "text of another unit": (
        "D304",
        lambda it: it.set_first(
            "chunk_vectors",
            "unit_id",
            text="'other words'",
            text_hash=f"'{identity.text_hash('other words')}'",
        ),
    ),
    "column of another release": (
        "D103",
        lambda it: it.store.dataset(it.table("serialized_rows")).add_columns({"extra": "1"}),
    ),
    "full-text index gone": (
        "D502",
        lambda it: it.store.open(it.table("row_vectors")).drop_index(
            text_index_name(it.config.index.text)
        ),
    ),
    "files of indexes gone": (
        "D502 D601",
        lambda it: it.damage("chunk_vectors", files="_indices/*/*", how="gone"),
    ),
    "one file of an index gone": (
        "D502 D601",
        lambda it: it.damage("joint_index", files="_indices/*/*_tokens.lance", how="gone"),
    ),
    "files of indexes cut short": (
        "D502 D601",
        lambda it: it.damage("row_vectors", files="_indices/*/*.lance", how="half"),
    ),
    "files of indexes overwritten": (
        "D502 D601",
        lambda it: it.damage("joint_index", files="_indices/*/*.lance", how="noise"),
    ),
    "beginning of an index overwritten": ("D502", _index_begun_with_zeros),
    "export overwritten": ("D101", _export_overwritten),
    "set of older tables": ("D603", _older_set),
    "joint unit gone": ("D501", lambda it: it.deleted("joint_index", "unit_id")),
    "joint unit of no part": ("D501", lambda it: it.added("joint_index", "unit_id")),
    "joint vector of another": (
        "D501",
        lambda it: it.vector_set(
            "joint_index", lambda length: np.eye(1, length, dtype=np.float32)[0]
        ),
    ),
    "pin of no version": ("D601", _pin_of_nowhere),
    "pointer to no version": ("D601", _pointer_of_nowhere),
    "pointer that is no record": ("D605", _pointer_of_bytes),
    "set that is no record": (
        "D602",
        lambda it: file_of(it.store, it.variant).write_bytes(b"\xff{"),
    ),
    "quarantine of nobody": ("D701", _stray_quarantine),
    "mark of nothing": ("D702", _unmarked_quarantine),
    "account gone": ("D703", _account_lost),
    "account of nobody": ("D704", _stray_account),
    "table without a name": ("D801", _without_name),
    "table begun": ("D803", _begun),
    "cache that is none": ("D804", _bad_cache),
}
"""By what was done: the code that names it, and what follows from it; and the deed."""
