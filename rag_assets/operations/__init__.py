"""Operations: what an operator does to a state, beside refreshing it.

`purge` erases one document; read it first. It takes what is searched for from `traces`, the rows
from `erasure`, Dagster's records from `run_records` and everything else from `kept_files`; `proof`
searches the whole state afterwards.
"""
