"""Random edits and faults, for some seconds; `benchmarks/faults.py` does so for half an hour."""

from rag_assets_testing import effort
from rag_assets_testing.faults.chaos import chaos

SECONDS = 60.0 if effort.is_night() else 10.0


@effort.sweep(6)
def test_after_any_edits_and_faults_a_plain_refresh_ends_like_a_fresh_build(tmp_path, runs, seed):
    tally = chaos(tmp_path, runs=runs, seconds=SECONDS, seed=seed)
    assert tally.looks
    assert tally.is_clean, tally
