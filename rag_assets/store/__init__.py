"""The state folder: LanceDB tables, their versions and locks, and the record of finished passes.

Nothing else opens a table. Read `store` first. `catalog` says which generation of a table its name
means, `completions` what a no-op is proven by, `pins` how a reader keeps what it reads, `damage`
how broken files are found, `owners` which state writes tables in an object store, `state_format` in
which form a state lies, and `clean_up` what goes in time.

Each write is a version of its table, and the one before can still be read:

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> import pyarrow as pa
>>> from rag_assets.store import Store
>>> rows = pa.table({"id": ["1", "2"], "text": ["steel", "nickel"]})
>>> with TemporaryDirectory() as folder:
...     store = Store(Path(folder))
...     store.append("notes", rows, schema=rows.schema)
...     before = store.version("notes")
...     store.delete("notes", column="id", keys=["1"])
...     store.count("notes"), store.read("notes", version=before).num_rows
(1, 2)
"""

from rag_assets.store.completions import PassRecord
from rag_assets.store.rows_by_id import ROW_ID, MissingIndexError, MissingTableError, rows_of
from rag_assets.store.store import Store

__all__ = ["ROW_ID", "MissingIndexError", "MissingTableError", "PassRecord", "Store", "rows_of"]
