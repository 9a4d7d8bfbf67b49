"""The rule of change, once: every landed and derived table is brought up to its inputs by it.

- What a room says of each of its tables, and the list that these make: `steps`; where a unit comes
  from: `tracing`. The list itself is `rag_assets.graph`.
- What changed, what is gone: `difference`, by key and fingerprint; `row_inputs`, where the inputs
  are the rows of other tables and only those that changed are read.
- Deciding and doing are apart: `deciding` finds out what a refresh would do and writes nothing;
  `sync.refresh` does it. `work` is what both are given.
- Transform only the changed, in bounded batches, each of which is one atomic commit: `commits`;
  `pending` keeps what is left to do in little memory.
- One bad thing never stops the good ones: `quarantine` says what failed and when it is tried again.
- Nothing is deleted by accident: `shrinking`.
- A no-op is proven by what was finished, and a data version is an order-independent hash over key
  and fingerprint: `data_versions`.
- Readers see complete sets only: `completing` records them. What nothing names any more is removed
  in time: `reclaim`.

Read `steps`, `deciding` and `sync` first.

A table of words, brought up to its documents: only the one that changed is split again.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> import pyarrow as pa
>>> from rag_assets import schemas
>>> from rag_assets.change import sync
>>> from rag_assets.store import Store
>>> fields = [pa.field(name, pa.string(), nullable=False) for name in ("word", "document")]
>>> target = sync.Target("words", schemas.derived(*fields), key="word", group="document")
>>> def refreshed(store, documents):
...     def split(changed):
...         for key in changed["key"].to_pylist():
...             words = documents[key].split()
...             rows = pa.table([words, [key] * len(words)], schema=pa.schema(fields))
...             yield sync.Batch(rows, done=[key])
...     contents = pa.table({"key": list(documents), "content": list(documents.values())})
...     inputs = sync.with_recipe(contents, key="key", content="content", recipe="1")
...     work = sync.Work(
...         store=store, target=target, made_from=lambda: {"documents": str(documents)},
...         inputs=lambda: inputs, transform=split,
...     )
...     return sync.refresh(work, log=lambda line: None)
>>> with TemporaryDirectory() as folder:
...     store = Store(Path(folder))
...     first = refreshed(store, {"a.md": "steel nickel", "b.md": "copper"})
...     second = refreshed(store, {"a.md": "steel", "b.md": "copper"})
>>> (first.added, first.rows), (second.changed, second.unchanged, second.rows)
((2, 3), (1, 1, 2))
"""
