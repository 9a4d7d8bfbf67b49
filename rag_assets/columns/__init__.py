"""Many keys and hashes as columns, at some tens of bytes each; nothing of the domain.

`keys` tells where each of many keys stands, `id_columns` computes ids and fingerprints column by
column, `arrow_sql` runs SQL over Arrow tables, and `sql` writes pieces of it.
"""
