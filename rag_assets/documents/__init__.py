"""Documents become elements, elements become chunks.

Read in this order:

- `files`: the bytes of a source file; `parsers/`: the parsers; `problems`: why a file, or some of
  its pages, could not be read.
- `elements/`: from files to elements.
- `families/`: which documents are versions of one.
- `figures/`: descriptions of figures, and pictures of units.
- `chunks/`: from elements to chunks.
- `step_tables` (what each table is made from), `steps` (what the graph, plan, explain and doctor
  need to know of it), `asset_metadata` (what the UI shows), `assets`, `checks`: the face to
  Dagster.
"""
