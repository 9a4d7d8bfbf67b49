"""What a refresh of a variant would do and cost, told before it does anything.

Read `planning` first: it goes from the sources to the joint table. `documents` and `rows` find out
what follows from sources that changed, `units` what is to be embedded. `amounts` and `estimating`
hold numbers that are known, and those that can only be estimated; `reasons` says why something is
to be done, `costs` what it takes. `job` shows it in the Dagster UI, at each asset.
"""
