"""Elements become chunks.

Read `chunk` first: which documents are cut and committed. `document_texts`: elements as blocks, and
the texts that chunks are cut from. How they are cut: `regions`, `tokens`, `cuts`, `sentences`,
`chunking`, `headers`. `location` and `renditions`: what people see of a chunk.
"""
