"""Documents become elements, elements become chunks.

Read in this order:

- `parse`: which documents are parsed and committed; `element_stock` and `element_reuse`: which are
  copied instead; `open_files` and `parsing`: files through parsers, as tasks of workers.
- `parsers/`: the parsers themselves; `elements`: what each of them gives.
- `sections`, `languages`, `linked_pictures`: what is added to elements afterwards.
- `account`, `account_rows`, `problems`: what became of each page, and why.
- `describe`, `describing`: figures in words, by a language model that sees.
- `family_rows`: which documents are linked anew; `version_marks`, `version_words`, `stated_facts`:
  what names and first pages say; `families` with `family_*`: who is a version of whom.
- `family_members`, `section_changes`: what people see of versions.
- `chunk`: which documents are cut and committed; `passages`, `tokens`, `cuts`, `sentences`,
  `wordless`, `chunking`, `headers`, `header_fields`: how.
- `chunk_location`, `page_pictures`, `renditions`: what people see of a chunk.
- `assets`, `checks` (with `completeness`): the face to Dagster.
"""
