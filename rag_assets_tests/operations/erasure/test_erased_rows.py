from pathlib import Path

import pyarrow as pa
import pytest

from rag_assets.operations.erasure.erased_rows import rows_of
from rag_assets.store import Store
from rag_assets.store.damage import DamagedTablesError

SCHEMA = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("document_id", "text")]
)


def rows(**texts: str) -> pa.Table:
    return pa.table({"document_id": [*texts], "text": [*texts.values()]}, schema=SCHEMA)


def files_of(store: Store, *, version: int) -> set[Path]:
    fragments = store.dataset("chunks", version=version).get_fragments()
    root = Path(store.uri("chunks")) / "data"
    return {root / file.path for fragment in fragments for file in fragment.data_files()}


def test_a_file_that_only_an_older_version_had_may_be_gone(tmp_path):
    """A purge that was killed has removed some files of versions that are to go."""
    store = Store(tmp_path)
    store.append("chunks", rows(a="first", b="secret"), schema=SCHEMA)
    older = store.version("chunks")
    store.replace("chunks", rows(a="second"), group="document_id", groups=["a", "b"])
    newest = store.version("chunks")
    [gone] = files_of(store, version=older) - files_of(store, version=newest)
    gone.unlink()

    again = Store(tmp_path)
    found = [text for part in rows_of(again, "chunks", ["a", "b"]) for text in part["text"]]
    assert [each.as_py() for each in found] == ["second"]

    [needed] = files_of(again, version=newest)
    needed.unlink()
    with pytest.raises(DamagedTablesError, match="is gone"):
        list(rows_of(Store(tmp_path), "chunks", ["a"]))
