"""Reports: a long prompt with several topics, answered in sections, each sentence with its proof.

Read `decomposition` first (from a prompt to sub-questions; `prompt_text`, `request_reading`,
`prompt_words` and `listing` hold the rules, `model_decomposition` asks a language model), then
`gathering` (the units for all of them), `composing` (sections of sentences, and what is not
covered) and `report` (what comes of it). `layout` numbers its sources for the forms `as_markdown`,
`as_html` and `as_docx`.
"""
