"""Words that mean the same share a form."""

import pytest

from rag_assets.table_lookup.words.word_forms import forms, squashed, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tempered", "tempering"),
        ("carburised", "carburisation"),
        ("elongates", "elongation"),
        ("abundant", "abundance"),
        ("polarizable", "polarisability"),
        ("sulphur", "sulfur"),
        ("vikten", "weight"),
        ("temperaturen", "temperature"),
        ("leverantörer", "suppliers"),
        ("krom", "chromium"),
        ("upptäcktes", "discovered"),
    ],
)
def test_words_of_one_stem_or_meaning_meet(one, other):
    assert forms(one) & forms(other)


@pytest.mark.parametrize(("one", "other"), [("tempering", "temperature"), ("order", "border")])
def test_other_words_do_not(one, other):
    assert not forms(one) & forms(other)


def test_compounds_are_taken_apart_into_known_words():
    known = forms("utmattning") | forms("hållfasthet")
    assert [word.text for word in words_of("utmattningshållfastheten", known)] == [
        "utmattnings",
        "hållfastheten",
    ]
    assert [word.text for word in words_of("slagprov", frozenset({"slag", "prov"}))] == [
        "slag",
        "prov",
    ]
    whole = frozenset({"slagprov"})
    assert [word.text for word in words_of("slagprov", frozenset({"slag", "prov"}), whole)] == [
        "slagprov"
    ]


def test_identifiers_stay_whole():
    assert [word.text for word in words_of("Earth's 7075-T6 heat-treated")] == [
        "Earth",
        "7075-T6",
        "heat",
        "treated",
    ]
    assert squashed("EN 15804+A2") == squashed("EN15804 + A2") == "en15804a2"
