"""What is wrong now: the one list that everyone shows.

Read `current` first. `skipped_inputs` groups by reason what is in quarantine, and `disk` tells what
the state takes, and what to do about a full disk. `runs` adds what the records of Dagster tell of
runs, with `run_errors` (why a step failed) and `lost_runs` (runs whose process was killed).
"""
