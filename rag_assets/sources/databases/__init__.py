"""Tables of databases, which `database` reads.

Those of PostgreSQL come as Arrow (`postgres_reads`, `adbc`), all others through SQLAlchemy
(`alchemy`); what both have in common is in `table_read`.

`postgres`, `mysql` and `sqlite` know their own words; `limits` and `holders` say how long a
database may keep a refresh waiting, and for whom.
"""
