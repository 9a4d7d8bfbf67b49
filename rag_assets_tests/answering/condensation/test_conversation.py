"""What is remembered of a conversation."""

from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.condensation.conversation import Turn, remembered

TURNS = st.lists(st.builds(Turn, st.text(max_size=400), st.text(max_size=400)), max_size=12)


@given(TURNS, st.integers(0, 600))
def test_the_newest_turns_that_fit_are_remembered_in_their_order(turns, most):
    kept = remembered(turns, most_tokens=most)
    assert list(kept) == turns[len(turns) - len(kept) :]
    assert sum(turn.tokens for turn in kept) <= most
    if len(kept) < len(turns):
        assert sum(turn.tokens for turn in turns[-len(kept) - 1 :]) > most
