"""Elements become chunks.

Read `chunk` first: which documents are cut and committed. How they are cut: `regions`, `tokens`,
`cuts`, `sentences`, `chunking`, `headers`, `header_fields`. `location` and `renditions`: what
people see of a chunk; `document_texts`: the texts that chunks were cut from.
"""
