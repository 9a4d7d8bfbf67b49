"""Numbers of a question with their comparison, unit and date."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.table_lookup.question.quantities import adjective_is_low, quantities

SCALES = frozenset({"HV"})


@pytest.mark.parametrize(
    ("text", "op", "values", "unit"),
    [
        ("stronger than 1.5 GPa", ">", (1.5,), "GPa"),
        ("softer than 115 HV", "<", (115.0,), "HV"),
        ("at least 500 MPa", ">=", (500.0,), "MPa"),
        ("minst 1,5 % mangan", ">=", (1.5,), "%"),
        ("högst 20 minuter", "<=", (20.0,), "min"),
        ("1000 °C or hotter", ">=", (1000.0,), "degC"),
        ("in the range 300 to 350 MPa", "between", (300.0, 350.0), "MPa"),
        ("mellan 300 och 350 MPa", "between", (300.0, 350.0), "MPa"),
        ("10\u201320 mm", "between", (10.0, 20.0), "mm"),
        ("over €5,000", ">", (5000.0,), "EUR"),
        ("mer än 10 000 kr", ">", (10_000.0,), "SEK"),
        ("more than two weeks", ">", (2.0,), "week"),
        ("better than 100 W/(m·K)", ">", (100.0,), "W/(m·K)"),
        ("vid -40 °C", "=", (-40.0,), "degC"),
        ("order 199", "=", (199.0,), None),
    ],
)
def test_a_number_with_what_is_compared(text, op, values, unit):
    [found] = quantities(text, SCALES)
    assert (found.op, found.values, found.unit) == (op, values, unit)


@pytest.mark.parametrize("text", ["Alloy 7075-T6", "S355J2", "EN15804", "PR-0042", "P-1001"])
def test_digits_within_names_are_no_numbers(text):
    assert quantities(text, SCALES) == ()


@given(
    st.floats(min_value=0.01, max_value=99_999, allow_nan=False).map(lambda each: round(each, 2))
)
def test_a_decimal_comma_and_a_point_say_the_same(number):
    with_point, with_comma = f"över {number:.2f} kg", f"över {number:.2f} kg".replace(".", ",")
    [first], [second] = quantities(with_point, SCALES), quantities(with_comma, SCALES)
    assert first.values == second.values == (Decimal(f"{number:.2f}"),)


@pytest.mark.parametrize(
    ("text", "op", "first", "last"),
    [
        ("since March 2024", ">=", date(2024, 3, 1), date(2024, 3, 31)),
        ("before 2023-05-01", "<", date(2023, 5, 1), date(2023, 5, 1)),
        ("under 2022", "=", date(2022, 1, 1), date(2022, 12, 31)),
        ("efter den 1 mars 2024", ">", date(2024, 3, 1), date(2024, 3, 1)),
        ("in Q2 2024", "=", date(2024, 4, 1), date(2024, 6, 30)),
    ],
)
def test_dates(text, op, first, last):
    [found] = quantities(text, SCALES)
    assert (found.op, found.days[0].first, found.days[-1].last) == (op, first, last)


def test_a_day_that_no_calendar_has_is_no_date():
    assert not any(each.days for each in quantities("on 2023-02-30", SCALES))


def test_a_measured_number_of_four_digits_is_no_year():
    [found] = quantities("above 1200 kg/m3", SCALES)
    assert found.days == ()


def test_the_ends_of_a_measured_range_are_no_years():
    [found] = quantities("between 1000 and 2000 EUR", SCALES)
    assert (found.op, found.values, found.unit, found.days) == (
        "between",
        (1000.0, 2000.0),
        "EUR",
        (),
    )


def test_adjectives_that_ask_for_less():
    assert adjective_is_low("softer")
    assert adjective_is_low("billigast")
    assert not adjective_is_low("hardest")
