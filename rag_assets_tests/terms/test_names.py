"""Which spellings are one name, and which are two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.terms import names
from rag_assets.terms.names import (
    canonical_formula,
    formulas_in,
    identifier_of,
    identifiers_in,
    name_of,
    parts_of_cell,
    titles_in,
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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("by EN 10025\u20112 and EN\u00a010025\u20133", ["EN 10025-2", "EN 10025-3"]),
        ("by EN 10025\u00ad-2, part AB\u200b-1201", ["EN 10025-2", "AB-1201"]),
        ("by \uff2e\uff28\uff33 \uff13\uff11\uff10\uff11", ["NHS 3101"]),
        ("by EN 10025 - 2, or EN 10025 \u2013 3", []),
        ("ISO 9001 - Quality, of 2024: WI-2041 - 2024-05-01", ["ISO 9001", "WI-2041"]),
        ("a 24VDC supply for 100W of 42CrMo4", ["42CrMo4"]),
    ],
)
def test_a_part_of_a_standard_is_never_taken_for_all_of_it(text, found):
    assert [identifier_of(each) for each in written(text)] == [*map(identifier_of, found)]


@pytest.mark.parametrize("text", ["a/" * 20_000, "QUJD+/abc/" * 10_000, "x" + " " * 20_000 + "y"])
def test_a_long_text_of_one_word_is_read_at_once(text):
    assert not [*identifiers_in(text), *formulas_in(text)]
    assert titles_in(text)


def test_a_pattern_that_never_ends_is_told_of(monkeypatch):
    monkeypatch.setattr(names, "SECONDS_A_TEXT", 0.2)

    with pytest.raises(ValueError, match=r"links\.identifiers"):
        written("x" * 40, (r"(?:x|x)+[yz]",))


def test_a_pattern_may_ask_for_no_capitals_and_leaves_the_others_as_they_are():
    assert written("see wo-17 and nhs 3101", (r"(?i)WO-\d+",)) == ["wo-17"]


def test_patterns_of_the_config_come_first():
    assert written("order 77/abc12", (r"\d\d/[a-z]+\d+",)) == ["77/abc12"]
    assert written("line PO-12345-01", (r"PO-\d{5}",)) == ["PO-12345"]


@pytest.mark.parametrize("spelled", ["CrMnFeCoNi", "CoCrFeMnNi", "Ni20 Co20 Fe20 Mn20 Cr20"])
def test_the_order_of_elements_and_a_common_factor_do_not_matter(spelled):
    assert canonical_formula(spelled) == canonical_formula("CoCrFeMnNi") != ""


@pytest.mark.parametrize("word", ["USA", "PVC", "CFO", "NaN", "PoP", "BF720", "Steel", "In"])
def test_words_and_abbreviations_are_no_formulas(word):
    assert [word[slice(*span)] for span in formulas_in(word) if canonical_formula(word)] == []


def test_amounts_tell_formulas_apart():
    assert canonical_formula("CoCrFeNiAl0.3") != canonical_formula("CoCrFeNiAl0.5")


@pytest.mark.parametrize(
    ("one", "other"),
    [("C2H4", "C3H6"), ("C6H6", "C2H2"), ("NO2", "N2O4"), ("B12C4", "B3C"), ("V10P2", "V5P1")],
)
def test_molecules_of_one_composition_are_two(one, other):
    assert canonical_formula(one) != canonical_formula(other)


def test_lowered_digits_are_digits():
    assert canonical_formula("Co₂₀Cr₂₀Fe₂₀Mn₂₀Ni₂₀") == canonical_formula("CoCrFeMnNi")
    assert [*formulas_in("of Al₂O₃ powder")] == [(3, 8)]


@pytest.mark.parametrize(
    "text",
    [
        "Al2(SO4)3",
        "(NH4)2CO3 + Fe(NO3)3",
        "La1-xSrxMnO3",
        "La0.7Sr0.3MnO3\u2212δ",
        "CuSO4·5H2O",
        "CuSO4 • 5H2O",
        "NO3\u2212 and NH4+",
        "SO4²\u207b",
    ],
)
def test_a_part_of_a_formula_is_no_formula(text):
    found = [text[slice(*span)] for span in formulas_in(text)]

    assert [*filter(canonical_formula, found)] in ([], ["CO3"])


def test_formulas_in_brackets_of_a_sentence_are_found():
    text = "the alloy (CoCrFeMnNi) and [TiO2]"

    assert [text[slice(*span)] for span in formulas_in(text)] == ["CoCrFeMnNi", "TiO2"]


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Storage at -20 °C", "Storage at 20 °C"),
        ("Storage at \u221280 °C", "Storage at 80 °C"),
        ("Grade A+", "Grade A"),
        ("C++ guide", "C# guide"),
        ("C# guide", "C guide"),
        ("कि नाम", "की नाम"),
    ],
)
def test_signs_that_carry_meaning_tell_names_apart(one, other):
    assert name_of(one) != name_of(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Korrosions\u00adschutz", "Korrosionsschutz"),
        ("\u202bSalt spray\u202c\u200b", "Salt\u00a0spray"),
        ("Storage at \u221220 °C", "Storage at -20 °C"),
        ("Track #3", "Track 3"),
    ],
)
def test_what_nobody_sees_tells_no_names_apart(one, other):
    assert name_of(one) == name_of(other) != ""


@pytest.mark.parametrize("text", ["Ca(OH)2", "Iron(III) oxide", "Poly(vinyl chloride) film"])
def test_brackets_within_a_word_are_no_qualifier(text):
    assert [*parts_of_cell(text)] == [text]
    assert {*titles_in(text)} == {text}


def test_a_name_keeps_letters_of_all_languages():
    assert name_of("Åkerström, GÖRAN") == name_of("a\u030akerstro\u0308m göran")
