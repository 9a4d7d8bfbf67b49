"""A minute of random edits and faults; `benchmarks/faults.py` does the same for half an hour."""

import os

from rag_assets_testing.faults.chaos import chaos

SECONDS = float(os.environ.get("CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("CHAOS_SEED", "0"))


def test_after_any_edits_and_faults_a_plain_refresh_ends_like_a_fresh_build(tmp_path, runs):
    tally = chaos(tmp_path, runs=runs, seconds=SECONDS, seed=SEED)
    assert tally.looks
    assert tally.is_clean, tally
