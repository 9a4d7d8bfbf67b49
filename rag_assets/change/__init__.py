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
"""
