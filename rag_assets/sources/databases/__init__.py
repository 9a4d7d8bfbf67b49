"""Tables of databases: `database` reads them, by ADBC (`adbc`) or through SQLAlchemy (`alchemy`).

`postgres`, `mysql` and `sqlite` know their own words; `limits` and `holders` say how long a
database may keep a refresh waiting, and for whom.
"""
