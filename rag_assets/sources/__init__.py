"""Files and tables where they lie, looked at, and landed by dlt where they changed.

`files` lists documents and tells their types; `databases` and `tabular` read tables. What both have
in common lies here, in this order: `places` (where a source lies), `origins` (named tables that can
be read), `opening` and `entries` (which entry of the config takes which table), `landing` (dlt),
`kinds` and `cells` (column types and values), `exports` (one pass over the tables of a source),
`exporting` (one table) and `outcomes`, then `observations`, `assets` and `checks`.
"""
