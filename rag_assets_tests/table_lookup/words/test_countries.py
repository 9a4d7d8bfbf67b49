import pytest

from rag_assets.table_lookup.words.countries import spellings_like


@pytest.mark.parametrize(
    ("word", "country"),
    [
        ("German", "germany"),
        ("Swedish", "sverige"),
        ("Chinese", "china"),
        ("Italian", "italy"),
    ],
)
def test_an_adjective_of_a_country_is_that_country(word, country):
    assert country in spellings_like(word)


@pytest.mark.parametrize("word", ["Sydamerika", "Germanium", "Swedbank", "Southport"])
def test_a_word_that_only_begins_like_a_country_is_none(word):
    assert not spellings_like(word)
