"""The gate: may an index take the place of the one that serves?

Read `judging` first; then `compared_rankings` (both indexes, and their rankings), `comparison` (the
configured questions), `known_items` (what is asked without questions), `rules` (PASS, FAIL or
HOLD), `verdicts` (what is kept of it) and `verdict_wording`. `blocked_candidate` is the newest
index of the serving variant that was not let pass.
"""
