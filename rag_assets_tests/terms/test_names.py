"""Which spellings are one name, and which are two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.terms.names import (
    canonical_formula,
    formulas_in,
    identifier_of,
    identifiers_in,
    name_of,
    parts_of_cell,
)


def written(text: str, patterns: tuple[str, ...] = ()) -> list[str]:
    return [text[start:end] for start, end in identifiers_in(text, patterns=patterns)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("NHS 3101", "nhs-3101"),
        ("NHS3101", "NHS_3101"),
        ("EN 10025-2:2019", "EN 10025-2"),
        ("ISO 9001", "ISO9001"),
        ("S-P-01234", "S P 01234"),
    ],
)
def test_blanks_dashes_and_capitals_tell_no_identifiers_apart(one, other):
    assert identifier_of(one) == identifier_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AB 12-3", "AB 1-23"),
        ("EN 10025-2", "EN 10025-3"),
        ("ISO 9001", "SS-ISO 9001"),
        ("S355J2", "S355J0"),
        ("PO-0012", "PO-12"),
    ],
)
def test_other_identifiers_stay_apart(one, other):
    assert identifier_of(one) != identifier_of(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as NHS 3101 demands, see SS-EN ISO 12944-5", ["NHS 3101", "SS-EN ISO 12944-5"]),
        ("declared in EPD-HCG-20190023-CBD1-EN", ["EPD-HCG-20190023-CBD1-EN"]),
        ("steel S355J2, 1.4301 or X5CrNi18-10", ["S355J2", "1.4301", "X5CrNi18-10"]),
        ("In 2019 the USA made 3000 of them, on page 12", []),
        ("heated to 300 K for 25 min at 10 MPa", []),
        ("H2O and CO2", []),
    ],
)
def test_identifiers_are_found_in_running_text_and_measures_are_not(text, found):
    assert written(text) == found


def test_patterns_of_the_config_come_first():
    assert written("order 77/abc12", (r"\d\d/[a-z]+\d+",)) == ["77/abc12"]


@pytest.mark.parametrize("spelled", ["CrMnFeCoNi", "CoCrFeMnNi", "Ni20 Co20 Fe20 Mn20 Cr20"])
def test_the_order_of_elements_and_a_common_factor_do_not_matter(spelled):
    assert canonical_formula(spelled) == canonical_formula("CoCrFeMnNi") != ""


@pytest.mark.parametrize("word", ["USA", "PVC", "CFO", "NaN", "PoP", "BF720", "Steel", "In"])
def test_words_and_abbreviations_are_no_formulas(word):
    assert [word[slice(*span)] for span in formulas_in(word) if canonical_formula(word)] == []


def test_amounts_tell_formulas_apart():
    assert canonical_formula("CoCrFeNiAl0.3") != canonical_formula("CoCrFeNiAl0.5")


@given(st.permutations(["Al0.3", "Co", "Cr", "Fe", "Ni"]))
def test_every_order_of_the_elements_is_one_formula(parts):
    assert canonical_formula("".join(parts)) == canonical_formula("CoCrFeNiAl0.3")


@pytest.mark.parametrize("text", ["12", "  ", "3.5", "ab", "one two three " * 4])
def test_numbers_short_and_long_texts_are_no_names(text):
    assert name_of(text) == ""


def test_a_cell_names_itself_and_what_it_lists():
    assert [*parts_of_cell("Salt Spray (1996); Copper & Brass")] == [
        "Salt Spray (1996); Copper & Brass",
        "Salt Spray ; Copper & Brass",
        "Salt Spray",
        "Copper",
        "Brass",
    ]


def test_a_name_keeps_letters_of_all_languages():
    assert name_of("Åkerström, GÖRAN") == name_of("a\u030akerstro\u0308m göran")
