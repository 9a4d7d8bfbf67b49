"""Reports: a long prompt with several topics as sections, written by a model or listed to read.

Read `decomposition` first (from a prompt to sub-questions, by what it lists; `model_decomposition`
asks a language model), then `gathering` (the units for all of them), `composing` (sections, and
what is not covered), `writing` (all of it in turn, and what stands under headings where a search
found nothing) and `cited_report` (what comes of it). `layout` numbers its sources for the `forms`
Markdown, HTML and DOCX.
"""
