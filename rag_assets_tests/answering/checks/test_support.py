"""What is compared of a sentence, what is named that no source has, what is called supported."""

import random
from decimal import Decimal

import pytest

from rag_assets.answering.checks.support import check
from rag_assets.citations.cited_sources import CitedPair, CitedRow, CitedText

PUMPS = CitedText(
    "The pressures of pumps with steel and bronze casings were 16 bar and 10 bar, respectively. "
    "Pump A-4 was run at 50 °C without any lubricant. If the flow is below 2 m3/h, the seal fails. "
    "The larger pump (A-5) needs more power than the small one. It takes 780 MB of disk."
)
METAL = CitedRow(
    (
        CitedPair("Name in English", "Titanium"),
        CitedPair("Density at 295K (g/cm^3)", "4.506"),
        CitedPair("Evaporation heat (kJ/mol)", "422.6"),
        CitedPair("Heat of fusion (kJ/mol)", "18.8"),
        CitedPair("Discovery year", "1791"),
    ),
    subject="Chemical elements",
)
ALLOY = CitedRow(
    (
        CitedPair("Composition", "Nb0.5 Ti0.5 V1 Zr0.5"),
        CitedPair("Vickers hardness (HV)", "304.0"),
        CitedPair("Yield strength (MPa)", "918"),
        CitedPair("Tensile strength (MPa)", "1020"),
        CitedPair("Tempering time (min)", "30"),
    ),
)
STEELS = (
    CitedRow((CitedPair("Material name", "Alloy B-7"), CitedPair("Yield strength (MPa)", "660"))),
    CitedRow((CitedPair("Material name", "Alloy C-9"), CitedPair("Yield strength (MPa)", "500"))),
)
FAQ = CitedText(
    "Many devices are listed. The Eaton 5E and the Eaton 9PX work with the driver. William Smith "
    "wrote it for the GeForce RTX 5080 board."
)
AGREEING = [
    (ALLOY, "The yield strength of NbTiV2Zr is 0.918 GPa."),
    (ALLOY, "Nb0.5Ti0.5VZr0.5 was tempered for half an hour."),
    (PUMPS, "The bronze casing stood a pressure of 1 MPa."),
    (PUMPS, "Pump A-4 ran at 323 K with no lubricant."),
    (PUMPS, "The seal fails if the flow is less than 2 m3/h."),
    (PUMPS, "Pump A-4 gick utan smörjmedel vid 50 °C."),
    (PUMPS, "780MB of disk are taken."),
    (METAL, "Titanium has a density of 4506 kg/m3."),
    (METAL, "Melting a mole of titanium takes 18.8 kJ."),
    (METAL, "Titan upptäcktes år 1791."),
    (FAQ, "The Eaton 5E works with it."),
    (FAQ, "The Eaton 9PX works with it, wrote William Smith."),
]
NAMED = [
    (ALLOY, "The yield strength of NbTiVZr is 918 MPa.", "NbTiVZr"),
    (PUMPS, "Steel casings took 18 bar.", "18 bar"),
    (PUMPS, "Steel casings took 16 mbar.", "16 mbar"),
    (PUMPS, "780GB of disk are taken.", "780GB"),
    (PUMPS, "Pump A-7 was run at 50 °C without any lubricant.", "A-7"),
    (PUMPS, "The seal fails if the flow is above 2 m3/h.", "2 m3/h"),
    (METAL, "Titanium was discovered in 1719.", "1719"),
    (METAL, "Its discovery in 1791 is that of William Ramsay.", "William Ramsay"),
    (METAL, "Evaporation heat: 18.8 kJ/mol", "Evaporation heat: 18.8 kJ/mol"),
    (FAQ, "The Eaton 3S works with it.", "Eaton 3S"),
    (FAQ, "The APC 5E works with it.", "APC 5E"),
    (FAQ, "It was written for the GeForce RTX 5090 board.", "GeForce RTX 5090"),
    (FAQ, "It says that “many devices were tested”.", "many devices were tested"),
]


@pytest.mark.parametrize(("source", "sentence"), AGREEING, ids=[each[1] for each in AGREEING])
def test_numbers_and_names_agree_in_other_words_and_nobody_calls_that_supported(source, sentence):
    found = check(sentence, [source])
    assert (found.compared, found.agrees, found.is_proven) == ("numbers and names", True, False)


@pytest.mark.parametrize(("source", "sentence", "named"), NAMED, ids=[each[1] for each in NAMED])
def test_what_no_source_has_is_named(source, sentence, named):
    found = check(sentence, [source])
    assert [each.atom.text for each in found.missing] == [named]
    assert found.compared == "nothing"


@pytest.mark.parametrize(
    ("sources", "sentence", "told"),
    [
        ([METAL], "Titanium needs 18.8 kJ/mol for its evaporation.", "under 'Heat of fusion'"),
        ([ALLOY], "The Vickers hardness of NbTiV2Zr is 918 MPa.", "under 'Yield strength'"),
        ([ALLOY], "The tensile strength of NbTiV2Zr is 918 MPa.", "under 'Yield strength'"),
        (STEELS, "Alloy B-7 has a yield strength of 500 MPa.", "500 MPa is of another row"),
        ([PUMPS], "The curtains of the theatre are heavy velvet.", "hardly any of its words"),
        ([], "Titanium is heavy.", "no source"),
    ],
)
def test_what_else_speaks_against_a_sentence_is_told(sources, sentence, told):
    [fault] = check(sentence, sources).faults
    assert told in fault


@pytest.mark.parametrize(
    ("sentence", "compared"),
    [
        ("If the flow is below 2 m3/h, the seal fails.", "verbatim"),
        ("If the flow is below 2 m3/h, the seal fails. It takes 780 MB of disk.", "nothing"),
        ("the seal fails.", "nothing"),
        ("Pump A-4 was run at 50 °C.", "numbers and names"),
    ],
)
def test_only_whole_sentences_are_verbatim(sentence, compared):
    """A part of one may lack its condition, and sentences that do not stand together a meaning."""
    expected = "numbers and names" if "780 MB" in sentence else compared
    assert check(sentence, [PUMPS]).compared == expected


@pytest.mark.parametrize(
    ("sentence", "compared"),
    [
        ("Heat of fusion: 18.8 kJ/mol", "cell"),
        ("Density at 295 K: 4.506 g/cm3", "cell"),
        ("Density: 4.506 g/cm3", "numbers and names"),
        ("Titanium: it melts with 18.8 kJ/mol.", "numbers and names"),
    ],
)
def test_a_cell_is_told_under_its_whole_heading(sentence, compared):
    assert check(sentence, [METAL]).compared == compared


SESSIONS = CitedRow(
    (
        CitedPair("mean average energy", "5.809629", "kWh"),
        CitedPair("number of rows", "3"),
        *(CitedPair("energy", value, "kWh") for value in ("7.78", "9.74", "6.76")),
    ),
    subject="charging sessions",
)


@pytest.mark.parametrize(
    ("sentence", "agrees"),
    [
        ("The average energy per charging session is 5.81 kWh.", True),
        ("The mean energy of a charging session is 5.81 kWh.", True),
        ("The energy of a charging session is 5.81 kWh.", False),
        ("The total energy of the charging sessions is 5.81 kWh.", False),
    ],
)
def test_a_computed_value_is_told_in_one_word_for_its_operation(sentence, agrees):
    assert check(sentence, [SESSIONS]).agrees == agrees


APART = CitedText("The share of slag is 10 % in summer and 25 % in winter.")
WITH_ENDS = [
    CitedText("The share of slag is between 10 and 25 percent."),
    CitedText("The share of slag is 10 %\u202625 %."),
    CitedText("The share of slag is at least 10 % and at most 25 %."),
    CitedRow(
        (CitedPair("Share of slag, min (%)", "10"), CitedPair("Share of slag, max (%)", "25"))
    ),
    CitedRow((CitedPair("Share of slag", "10-25 %"),)),
]


@pytest.mark.parametrize(
    ("sentence", "compared"),
    [
        ("The share of slag is 10-25 %.", "nothing"),
        ("Slag has a share of between 10 and 25 %.", "nothing"),
        ("The share of slag goes from 10 % in summer to 25 % in winter.", "numbers and names"),
        ("The share of slag goes from 10 % to 25 %.", "numbers and names"),
        ("The share of slag is 10 or 25 %.", "numbers and names"),
    ],
)
def test_a_range_does_not_follow_from_two_values_and_a_change_does(sentence, compared):
    found = check(sentence, [APART])
    assert (found.compared, found.agrees) == (compared, True)
    with_ends = [check(sentence, [each]) for each in WITH_ENDS]
    assert {each.compared for each in with_ends} == {"numbers and names"}


@pytest.mark.parametrize(
    ("sentence", "source", "is_borne_out"),
    [
        ("Die Feuchte ist 10-25 %.", "Die Feuchte liegt zwischen 10 und 25 %, so Ann.", True),
        ("Die Feuchte ist 10-25 %.", "Die Feuchte geht von 10 bis 25 %, sagt Ann.", True),
        ("Die Feuchte ist 10 bis 25 %.", "Sommers ist die Feuchte 10 %, winters 25 %.", False),
    ],
)
def test_a_german_range_is_one(sentence, source, is_borne_out):
    found = check(sentence, [CitedText(source)])
    assert found.compared == ("numbers and names" if is_borne_out else "nothing")


@pytest.mark.parametrize(
    ("sentence", "source", "is_there"),
    [
        ("It was -5 °C.", "At night it was minus 5 °C, by Ann.", True),
        ("Det var -5 °C.", "På natten var det minus 5 °C, enligt Ann.", True),
        ("It was 5 °C.", "At night it was minus 5 °C, by Ann.", False),
        ("It was -5 °C.", "At night it was plus or minus 5 °C, by Ann.", False),
        ("It was 5 °C.", "At night it was 10 minus 5 °C, by Ann.", True),
    ],
)
def test_a_sign_in_words_is_one(sentence, source, is_there):
    assert (check(sentence, [CitedText(source)]).missing == ()) == is_there


@pytest.mark.parametrize("sentence", ["It was tested on 2024-03-01.", "Tested: 2024-03-01"])
def test_a_date_is_the_same_in_digits_and_in_words(sentence):
    said = CitedText("The pump was tested on 1 March 2024, by Ann.")
    assert check(sentence, [said]).missing == ()
    other = check(sentence, [CitedText("The pump was tested on 2 March 2024, by Ann.")])
    assert [each.atom.kind for each in other.missing] == ["date"]


TWISTED = [
    "The bronze casing stood a pressure of 16 bar.",
    "The small pump needs more power than the larger one.",
    "The seal fails.",
    "Pump A-4 was run at 50 °C with a lubricant.",
    "All pumps were run at 50 °C.",
]


@pytest.mark.parametrize("sentence", TWISTED)
def test_what_comparing_cannot_tell_is_not_called_supported(sentence):
    assert not check(sentence, [PUMPS]).is_proven


def test_a_negation_elsewhere_in_a_long_source_is_none():
    long = CitedText("It is not the end. " * 40 + "The seal of the pump holds 16 bar.")
    assert check("The seal of a pump holds 16 bar.", [long]).agrees


CHAMBER = CitedText(
    "The lowest temperature of the chamber is -40 °C. "
    "Its wall has a thickness of 1.2 mm in all. The load of the plate is 355 kN. "
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The lowest temperature of the chamber is 40 °C.",
        "Its wall has a thickness of 12 mm in all.",
        "The load of the plate is 35",
        "The load of the plate is 55 kN.",
    ],
)
def test_a_quotation_has_the_numbers_of_its_source(sentence):
    """Not only its letters and digits: `1.2` is not `12`, nor is `-40` `40`, nor `35` of `355`."""
    assert not check(sentence, [CHAMBER]).agrees


def test_a_sentence_that_a_break_of_pages_parts_is_verbatim():
    halves = [CitedText("It is loose: (1) the plane"), CitedText("stress condition; (2) the rest.")]
    whole = "It is loose: (1) the plane stress condition; (2) the rest."
    assert check(whole, halves).compared == "verbatim"
    assert check(whole, halves[:1]).compared != "verbatim"


def test_a_quotation_over_a_hyphen_is_one():
    broken = CitedText("The tempera-\nture of the \ufb01rst cham-\nber is \u2212 40 °C today.")
    sentence = "The temperature of the first chamber is -40 °C today."
    assert check(sentence, [broken]).compared == "verbatim"


def test_a_unit_that_no_source_has_is_not_taken_from_the_model():
    assert not check("The shelf is 5 mm wide.", [CitedText("The shelf is 5 wide.")]).agrees
    assert check("The shelf is 5 wide.", [CitedText("The shelf is 5 mm wide.")]).agrees


def numbers():
    """Two hundred, from 1e-9 to 2^63, whole ones and decimals."""
    draw = random.Random(63)
    yield from (2**53 + 1, 2**63 - 1, 2**63, 7391234567891, Decimal("0.000000001"))
    yield from (draw.randrange(10 ** draw.randrange(1, 19)) + 1 for _ in range(95))
    for _ in range(100):
        digits, places = draw.randrange(1, 10**12), draw.randrange(1, 10)
        yield Decimal(digits).scaleb(-places)


def test_numbers_are_compared_digit_by_digit():
    differing = []
    for number in numbers():
        last = Decimal(1).scaleb(Decimal(number).as_tuple().exponent)
        source = CitedRow((CitedPair("pallet code", f"{Decimal(number):f}"),))
        is_same = check(f"The pallet code is {Decimal(number):f}.", [source]).agrees
        is_other = check(f"The pallet code is {Decimal(number) + last:f}.", [source]).agrees
        if is_other or not is_same:
            differing.append(number)
    assert differing == []


def test_a_grade_that_begins_with_digits_is_one_identifier():
    source = [CitedText("The plate is made of 2014-T4 and holds 290 MPa.")]
    assert check("The plate of 2014-T4 holds 290 MPa.", source).agrees
    assert not check("The plate of 2014-T6 holds 290 MPa.", source).agrees


def test_ends_of_a_range_agree_with_one_comparator_only():
    source = [CitedText("Sintering in the furnace took 4-10 hours.")]
    assert check("Sintering took up to 10 hours.", source).agrees
    assert not check("Sintering took at least 10 hours.", source).agrees
