"""Documents become elements.

Read in this order:

- `parse`: which documents are parsed and committed; `reuse`: which are copied instead;
  `open_files` and `parsing`: files through parsers, as tasks of workers.
- `element`: what each parser gives; `element_rows`: elements as rows of their table.
- `sections`, `page_flow`, `line_ends`, `site_furniture`: what is found out about elements
  afterwards.
- `parse_report`, `parse_report_rows`, `completeness`: what became of each page, and how completely
  a document was read.
"""
