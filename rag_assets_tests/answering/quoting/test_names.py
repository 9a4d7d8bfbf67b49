"""What a question names, and whether it stands whole in a unit."""

import pytest

from rag_assets.answering.quoting.names import missing_of, names_of, nearest_names
from rag_assets_tests.answering.found import cells_of, document, row


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is the TDP of the RTX 5090?", ["TDP", "RTX 5090"]),
        ("Who imports cars into Greenland?", ["Greenland"]),
        ("How many pages does the fi-7160 scan?", ["fi-7160"]),
        ("Is NV-65 in stock?", ["NV-65"]),
        ("What is the yield strength of 6082?", ["6082"]),
        ("Which supplier sent order 450?", ["450"]),
        ("What did Anna Berg say of Volvo's plant?", ["Anna Berg", "Volvo"]),
        ("Passar EPDM-gummi till oljan?", ["EPDM"]),
        ("How hard is 316L at 300 MPa?", ["316L"]),
        ("Which loads are above 1000 kN?", []),
        ("What was sold in March 1998?", []),
        ("Is a 3-phase motor the 2nd choice of the 1990s?", []),
        ("WHAT IS THE PRICE OF THE PUMP", []),
        ("Wie hoch ist der Wirkungsgrad der Brennstoffzelle?", []),
        ("Ist der Akku der NV-65 mit dem USB-Netzteil zu laden?", ["NV-65", "USB-Netzteil"]),
        ("Was kostet ein Kilogramm Hassium?", []),
        ("Wie hoch war die Inflation in Europa?", []),
        ("Is the die of Bosch on the list?", ["Bosch"]),
        ("what is it?", []),
    ],
)
def test_names_are_codes_capitals_and_the_numbers_that_belong_to_them(question, names):
    assert [each.text for each in names_of(question)] == names


@pytest.mark.parametrize(
    ("question", "text", "is_there"),
    [
        ("Is the RTX 5090 fast?", "GeForce RTX 4090 with 24 GB", False),
        ("Is the RTX 5090 fast?", "GeForce RTX5090 with 32 GB", True),
        ("Is the fi-7160 fast?", "model: FI 7160; pages: 60", True),
        ("Is the fi-7160 fast?", "model: fi-71600", False),
        ("Is NV-65 there?", "NV-650 and VN-65", False),
        ("How strong is 6082?", "EN AW-6082 T6", True),
        ("How strong is 6082?", "EN AW-60820", False),
        ("What of Stockholms hamn in Sverige?", "the port of Stockholm, Sverige", True),
        ("What is its GWP?", "global warming potential of a kg", True),
        ("What is its GWP?", "global warming of a kg", False),
        ("What is in SrCo1-xNbxO3?", "of SrCo 1\u2212x Nb x O 3", True),
        ("What of Anna Berg?", "Berg, Anna", True),
        ("What of Anna Berg?", "Anna Dahl", False),
        ("Is ABY77 there?", "the panel \uff21\uff22\uff39\uff17\uff17", True),
        ("Is QX-1090 there?", "the rule Q\u200bX\u20111090", True),
    ],
)
def test_a_name_must_stand_whole_in_one_unit(question, text, is_there):
    missing = missing_of(names_of(question), [document("a", "other"), document("b", text)])
    assert (missing == ()) == is_there


def test_a_formula_may_be_written_in_another_way():
    names = names_of("How hard is CoFeNiSi0.25?")
    cell = cells_of("alloy", {"formula": "Co1 Fe1 Ni1 Si0.25"})
    assert missing_of(names, [row("alloy")], {"alloy": cell}) == ()
    assert missing_of(names, [row("alloy")], {"alloy": cells_of("alloy", {"formula": "Co1 Fe1"})})


def test_the_nearest_names_are_told():
    [name] = names_of("How fast is the fi-7160?")
    hits = [document("a", "The fi-7180 scans 80 pages, the fi-7260 scans 60.\nPaint is red.")]
    assert set(nearest_names(name, hits)) == {"fi-7180", "fi-7260"}
