"""Words of a question, and how alike two of them are."""

from hypothesis import given
from hypothesis import strategies as st

from rag_assets.terms.words import Vocabulary, terms


def test_words_that_ask_or_join_are_left_out():
    assert terms("What is the Density of the film?") == ["density", "film"]
    assert terms("Hur stor är densiteten?") == ["stor", "densiteten"]


def test_a_number_with_a_comma_is_one_word():
    assert terms("1,902.5 people") == ["1,902.5", "people"]


def test_words_of_one_family_have_letters_in_common():
    assert Vocabulary(["measurement"]).share_of("measured") > 0.5
    assert Vocabulary(["mean"]).share_of("measured") == 0


@given(st.text(min_size=1), st.lists(st.text(min_size=1)))
def test_a_word_that_is_there_counts_in_full_and_none_more(word: str, others: list[str]):
    assert Vocabulary([word, *others]).share_of(word) == 1
    assert 0 <= Vocabulary(others).share_of(word) <= 1
