"""The tables that can be asked, with their columns, units and typed cells.

Read `catalogue` first: all tables at the pins of a complete set. `table_contents` is one table,
`document_tables` are those inside documents; `cells` types the values, `headings` reads what a
heading says.
"""
