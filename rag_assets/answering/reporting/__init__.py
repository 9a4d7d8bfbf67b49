"""Reports: a long prompt with several topics as sections, written by a model or listed to read.

Read `decomposition` first (from a prompt to sub-questions, by what it lists; `prompt_text` is what
it asks for, `model_decomposition` asks a language model), then `gathering` (the units for all of
them), `under_headings` (where a search found nothing), `composing` (sections, and what is not
covered), `comparison` (what a prompt names, side by side) and `cited_report` (what comes of it).
`layout` numbers its sources for the `forms` `as_markdown`, `as_html` and `as_docx`.
"""
