"""How words are compared, whatever code points spell them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.terms.coverage import HeldTerms, terms_of
from rag_assets.terms.spelling import indexed_text, plainly_spelled, sought_text
from rag_assets.terms.words import folded


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("gas\u200bket", "gasket"),
        ("ven\u00adtil", "ventil"),
        ("\u00b5m", "\u03bcm"),
        ("\uff21\uff22\uff39\uff17", "ABY7"),
        ("A\u20111090", "A-1090"),
        ("cafe\u0301", "café"),
        ("CO₂ m²", "CO2 m2"),
        ("10² 10⁻³ 5½", "10² 10⁻³ 5½"),
        ("25\u00a0℃", "25 °C"),
        ("ทด\u200bสอบ", "ทด สอบ"),
    ],
)
def test_one_word_has_one_spelling(written, plain):
    assert plainly_spelled(written) == plain


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("12\u202f500 mm", "12500 12 500 mm"),
        ("1\u00a0234\u00a0567", "1234567 1 234 567"),
        ("in 2019\u00a0200 came", "in 2019 200 came"),
        ("12\u202f5000", "12 5000"),
        ("10² N", "10 2 N"),
        ("5½ mm", "5 1\u20442 mm"),
    ],
)
def test_the_index_has_numbers_whole_and_powers_apart(written, words):
    assert indexed_text(written).split() == words.split()


def test_a_query_may_part_its_groups_by_any_blank():
    assert sought_text("12 500 mm").split() == ["12500", "12", "500", "mm"]
    assert sought_text("in 2019 200 came") == "in 2019 200 came"


def test_a_text_holds_the_terms_of_a_question_in_any_spelling():
    held = HeldTerms("The gas\u200bket \uff21\uff22\uff39\uff17 is 3 \u00b5m.")
    assert all(map(held.has, terms_of("Which gasket ABY7 has 3 μm?")))


@given(st.text())
def test_what_is_spelled_plainly_and_folded_stays(text):
    assert plainly_spelled(plainly_spelled(text)) == plainly_spelled(text)
    assert folded(folded(text)) == folded(text)
