"""Numbers in a text: units, signs, comparators, both decimal marks, and what bears them out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.terms.numbers import bears_out, numbers_of
from rag_assets.terms.text_units import measure_of


def only(text):
    (number,) = numbers_of(text)
    return number


def says(source, sentence):
    """How well the best number of `source` bears out the only one of `sentence`."""
    return max((bears_out(each, only(sentence)) for each in numbers_of(source)), default=0.0)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0,4 V", (0.4,)),
        ("6,000 kg", (6000.0, 6.0)),
        ("1 150 °C", (1150.0,)),
        ("5.7 \u00d7 10\u22122 S", (0.057,)),
        ("at \u2212500 mA", (-500.0,)),
        ("nine hours", (9.0,)),
        ("1,234.5 m", (1234.5,)),
        ("5.2 million EUR", (5_200_000,)),
    ],
)
def test_digits_are_read_in_all_forms(text, values):
    assert [float(value) for value in only(text).values] == pytest.approx(values)


@pytest.mark.parametrize("text", ["Mo5+ ions", "S355J2", "treatment-4 cell", "NiO", "8YSZ"])
def test_digits_inside_a_name_are_no_numbers(text):
    assert numbers_of(text) == ()


def test_a_unit_stands_for_all_numbers_of_a_list():
    assert [number.measure.text for number in numbers_of("25, 51 and 97 MPa")] == ["MPa"] * 3


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("200 nm", "0.2 µm"),
        ("1150 °C", "1423 K"),
        ("7.27 g/cm3", "7270 kg per cubic metre"),
        ("78.9 %", "about 79 %"),
        ("342 mW cm\u20132", "about 340 mW per square centimetre"),
        ("24 h", "one day in which 1440 minutes"),
        ("<10 %", "less than a tenth"),
        ("0.98 to 1.07 V", "not lower than 0.98 V"),
        ("36 %", "just over a third"),
        ("0.421 J/g/K", "0,421 J/(g·K)"),
        ("780 MB", "780MB"),
        ("0.78 GB", "780 megabytes"),
        ("$5", "5 dollars"),
        ("EUR 12 per kg", "12 €/kg"),
    ],
)
def test_a_number_is_borne_out_in_other_units_and_words(source, sentence):
    numbers = numbers_of(sentence)

    assert max(bears_out(own, number) for own in numbers_of(source) for number in numbers) > 0.8


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("78.9 %", "68.9 %"),
        ("0.04 mbar", "0.04 bar"),
        ("\u2212500 mA", "500 mA"),
        ("<50 mA/cm2", "more than 50 mA/cm2"),
        ("8.23 at.%", "8.23 wt%"),
        ("1150 °C", "1150 K"),
        ("4.506 g/cm3", "4.5 kg"),
        ("at least 355 MPa", "at most 355 MPa"),
        ("780 MB", "780GB"),
        ("5.2 million EUR", "5.2 billion EUR"),
        ("$5", "5 EUR"),
    ],
)
def test_another_value_unit_sign_or_comparator_is_not_borne_out(source, sentence):
    assert says(source, sentence) < 0.5


@given(st.decimals(min_value="0.01", max_value=9999, places=2), st.integers(0, 2))
def test_rounding_to_fewer_digits_is_borne_out(value, places):
    assert says(f"{value} MPa", f"{round(float(value), places):.{places}f} MPa") == 1.0


@given(st.integers(1, 9999), st.integers(1, 9999))
def test_bearing_out_an_exact_number_is_symmetric_in_its_verdict(one, other):
    forward, backward = says(f"{one} MPa", f"{other} MPa"), says(f"{other} MPa", f"{one} MPa")

    assert (forward == 1.0) == (backward == 1.0) == (one == other)


@pytest.mark.parametrize(
    ("one", "other", "factor"),
    [
        ("kJ/mol", "J/mol", 1e3),
        ("mA/cm2", "A/m2", 10),
        ("kilometres per hour", "m/s", 1 / 3.6),
        ("MPa", "N/mm2", 1),
        ("viktprocent", "wt%", 1),
    ],
)
def test_units_of_one_dimension_compare(one, other, factor):
    first, second = measure_of(one), measure_of(other)

    assert first.is_like(second)
    assert first.factor / second.factor == pytest.approx(factor)


def test_what_is_no_unit_is_none():
    assert measure_of("Chemical symbol") is None
    assert measure_of("") is None
