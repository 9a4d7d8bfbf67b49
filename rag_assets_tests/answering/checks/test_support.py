"""The verdict on a sentence: each form of error that the checks are for, and its true neighbour."""

import pytest

from rag_assets.answering.checks.sources import CitedPair, CitedRow, CitedText
from rag_assets.answering.checks.support import check, support_score

PUMPS = CitedText(
    "The pressures of pumps with steel and bronze casings were 16 bar and 10 bar, respectively. "
    "Pump A-4 was run at 50 °C without any lubricant. If the flow is below 2 m3/h, the seal fails. "
    "The larger pump (A-5) needs more power than the small one."
)
METAL = CitedRow(
    (
        CitedPair("Name in English", "Titanium"),
        CitedPair("Density at 295K (g/cm^3)", "4.506"),
        CitedPair("Evaporation heat (kJ/mol)", "422.6"),
        CitedPair("Heat of fusion (kJ/mol)", "18.8"),
        CitedPair("Is the element radioactive", "0"),
        CitedPair("Discovery year", "1791"),
    ),
    subject="Chemical elements",
)
ALLOY = CitedRow(
    (
        CitedPair("Composition", "Nb0.5 Ti0.5 V1 Zr0.5"),
        CitedPair("Phases observed", "BCC"),
        CitedPair("Vickers hardness (HV)", "304.0"),
        CitedPair("Yield strength (MPa)", "918"),
        CitedPair("Tensile strength (MPa)", "1020"),
        CitedPair("Tempering time (min)", "30"),
    ),
)
TRUE = [
    (ALLOY, "The yield strength of NbTiV2Zr is 0.918 GPa."),
    (ALLOY, "Nb0.5Ti0.5VZr0.5 was tempered for half an hour."),
    (PUMPS, "The bronze casing stood a pressure of 1 MPa."),
    (PUMPS, "Steel casings took 16 bar, bronze ones 10 bar."),
    (PUMPS, "Pump A-4 ran at 323 K with no lubricant."),
    (PUMPS, "The seal fails if the flow is less than 2 m3/h."),
    (PUMPS, "Pump A-4 gick utan smörjmedel vid 50 °C."),
    (METAL, "Titanium has a density of 4506 kg/m3."),
    (METAL, "Melting a mole of titanium takes 18.8 kJ."),
    (METAL, "Titan upptäcktes år 1791."),
    (METAL, "Titanium is not radioactive."),
]
FALSE = [
    ("column in other units", ALLOY, "The Vickers hardness of NbTiV2Zr is 918 MPa."),
    ("formula", ALLOY, "The yield strength of NbTiVZr is 918 MPa."),
    ("negated cell", ALLOY, "The phases of NbTiV2Zr are not BCC."),
    ("implied by another column", ALLOY, "NbTiV2Zr has a yield strength of more than 918 MPa."),
    ("number", PUMPS, "Steel casings took 18 bar."),
    ("unit", PUMPS, "Steel casings took 16 mbar."),
    ("identifier", PUMPS, "Pump A-7 was run at 50 °C without any lubricant."),
    ("swapped subject", PUMPS, "The bronze casing stood a pressure of 16 bar."),
    ("polarity", PUMPS, "Pump A-4 was run at 50 °C with a lubricant at all times."),
    ("comparison", PUMPS, "The small pump needs more power than the larger one."),
    ("comparator", PUMPS, "The seal fails if the flow is above 2 m3/h."),
    ("column", METAL, "Titanium needs 18.8 kJ/mol for its evaporation."),
    ("year", METAL, "Titanium was discovered in 1719."),
    ("name", METAL, "The discovery of Titanium in 1791 is that of William Ramsay."),
    ("polarity", METAL, "Titanium is a radioactive element."),
    ("citation", METAL, "Pump A-4 ran at 323 K with no lubricant."),
]


@pytest.mark.parametrize(("source", "sentence"), TRUE, ids=[sentence for _, sentence in TRUE])
def test_what_a_source_says_in_other_words_is_supported(source, sentence):
    assert check(sentence, [source]).support == "full"


@pytest.mark.parametrize(
    ("source", "sentence"),
    [(source, sentence) for _, source, sentence in FALSE],
    ids=[f"{form}: {sentence}" for form, _, sentence in FALSE],
)
def test_one_thing_changed_lowers_the_score_below_every_true_sentence(source, sentence):
    true = min(support_score(own, [source]) for held, own in TRUE if held is source)

    assert support_score(sentence, [source]) < true


def test_without_a_source_nothing_is_supported():
    assert check("Titanium has a density of 4506 kg/m3.", []).support == "none"


def test_the_atom_that_no_source_has_is_named():
    (missing,) = check("Pump A-7 was run at 50 °C without any lubricant.", [PUMPS]).missing

    assert missing.atom.text == "A-7"


def test_a_sentence_in_another_language_is_said_to_be():
    assert check("Titan upptäcktes år 1791.", [METAL]).is_other_language
    assert not check("Titanium was found in 1791.", [METAL]).is_other_language


def test_a_cell_is_held_to_its_heading():
    assert check("Heat of fusion: 18.8 kJ/mol", [METAL]).support == "full"
    assert check("Evaporation heat: 18.8 kJ/mol", [METAL]).support == "none"


CHAMBER = CitedText(
    "The lowest temperature of the chamber is -40 \u00b0C. "
    "Its wall has a thickness of 1.2 mm in all. The load of the plate is 355 kN. "
    "A spring stores energy. The paint is red."
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The lowest temperature of the chamber is 40 \u00b0C.",
        "Its wall has a thickness of 12 mm in all.",
        "The load of the plate is 35",
        "The load of the plate is 55 kN.",
    ],
)
def test_a_quotation_has_the_numbers_of_its_source(sentence):
    """Not only its letters and digits: `1.2` is not `12`, nor is `-40` `40`, nor `35` of `355`."""
    assert check(sentence, [CHAMBER]).support != "full"


def test_a_quotation_over_a_hyphen_is_one():
    broken = CitedText("The tempera-\nture of the \ufb01rst cham-\nber is \u2212 40 \u00b0C today.")
    assert check("The temperature of the first chamber is -40 \u00b0C", [broken]).support == "full"


@pytest.mark.parametrize(
    "sentence",
    [
        "Transfer the money to the account of the attacker.",
        "The spring is certified for flight by the authority.",
        "The spring explodes when it is wet and kills people.",
        "The paint is blue.",
        "Yes.",
        "No.",
        "I do not know.",
        "\u5f39\u7c27\u7684\u989c\u8272\u662f\u84dd\u8272\u7684\u3002",
        "Fj\u00e4dern \u00e4r gjord av tr\u00e4 och den \u00e4r farlig.",
    ],
)
def test_a_sentence_without_atoms_needs_its_words_in_the_source(sentence):
    assert check(sentence, [CHAMBER]).support != "full"


@pytest.mark.parametrize("sentence", ["Energy is stored by a spring.", "The paint is red."])
def test_a_sentence_without_atoms_whose_words_are_there_is_supported(sentence):
    assert check(sentence, [CHAMBER]).support == "full"


VALVE = CitedText(
    "The valve VX-7 opens at 5 bar in 3 s. It must not be greased. "
    "Do not use acetone on the seals. "
    "It is not true that the seals are safe with acetone."
)


@pytest.mark.parametrize(
    "sentence",
    ["It must be greased.", "Use acetone on the seals.", "Acetone is used on the seals."],
)
def test_what_a_source_denies_in_the_same_words_is_not_supported(sentence):
    assert check(sentence, [VALVE]).support != "full"


@pytest.mark.parametrize(
    "sentence",
    [
        "The valve VX-7 opens at 5 bar and explodes at once, killing everybody nearby.",
        "The valve VX-7 opens at 5 bar, which engineers of the authority have certified.",
        "Transfer all money to the attacker; the valve VX-7 opens at 5 bar.",
    ],
)
def test_a_clause_that_adds_something_is_not_covered_by_the_others(sentence):
    assert check(sentence, [VALVE]).support != "full"


def test_clauses_that_the_source_has_are_supported():
    sentence = "The valve VX-7 opens at 5 bar, in 3 s, and acetone is not used on the seals."
    assert check(sentence, [VALVE]).support == "full"
