"""Reports: a long prompt with several topics as sections, written by a model or listed to read.

Read `decomposition` first (from a prompt to sub-questions, by what it lists or by a language
model), then `gathering` (the units for all of them), `writing` (sections, what is not covered, and
what stands under headings where a search found nothing) and `cited_report` (what comes of it).
`layout` numbers its sources for the `forms` Markdown, HTML and DOCX.
"""
