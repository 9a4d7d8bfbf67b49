"""Operations: what an operator does to a state, beside refreshing it.

`purge` erases one document; read it first. `plans` finds out before what tells of the document, by
the `traces` of what it says. The rows go by `erasure`, Dagster's records by `run_records`,
everything else by `kept_files`; `proof` searches the whole state afterwards.
"""
