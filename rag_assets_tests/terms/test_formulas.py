"""Chemical formulas have one canonical form, however they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.terms.formulas import formula, names_of, symbols_by_name

SYMBOLS = st.sampled_from(["Co", "Fe", "Ni", "Si", "Al", "Cr", "W", "Zr"])
AMOUNTS = st.sampled_from(["", "1", "0.25", "2", "10"])


@given(st.dictionaries(SYMBOLS, AMOUNTS, min_size=2), st.randoms())
def test_order_blanks_and_omitted_ones_do_not_matter(parts, random):
    if not any(amount for amount in parts.values()) and all(len(each) == 1 for each in parts):
        return
    shuffled = list(parts.items())
    random.shuffle(shuffled)
    one = "".join(symbol + amount for symbol, amount in parts.items())
    other = " ".join(symbol + (amount or "1") for symbol, amount in shuffled)
    assert formula(one) == formula(other) is not None


def test_another_amount_is_another_formula():
    assert formula("CoFeNiSi0.25") == formula("Co1 Fe1 Ni1 Si0.25")
    assert formula("CoFeNiSi0.25") != formula("CoFeNiSi0.5")


@pytest.mark.parametrize("text", ["BCC", "FCC+BCC", "Xx2O", "Fe", "steel", "", "7075-T6"])
def test_what_is_no_formula(text):
    assert formula(text) is None


def test_elements_are_known_in_both_languages():
    assert symbols_by_name()["iron"] == symbols_by_name()["järn"] == "Fe"
    assert "natrium" in names_of("Na")
    assert names_of("Xx") == ()
    assert len(set(symbols_by_name().values())) == 103


def test_the_plural_of_an_abbreviation_is_no_formula():
    assert [formula(text) for text in ("VOCs", "SOFCs")] == [None, None]
    assert formula("BAs") == (("As", 1.0), ("B", 1.0))
    assert formula("GaAs")
