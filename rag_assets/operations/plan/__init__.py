"""What a refresh of a variant would do and cost, told before it does anything.

Read `planning` first: it goes from the sources to the joint table. `documents` and `rows` find out
what follows from sources that changed, `units` what is to be embedded. `amounts` holds numbers that
are known, estimates, and what is not known; `reasons` says why something is to be done, `costs`
what it takes. `operations.jobs` shows it in the Dagster UI, at each asset.
"""
