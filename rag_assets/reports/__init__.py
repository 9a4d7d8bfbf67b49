"""How results are shown to people, in Dagster's metadata and in reports; nothing of the domain.

`plots` draws SVG, `pages` writes HTML, `previews` shortens values to fit a cell of a table.
"""
