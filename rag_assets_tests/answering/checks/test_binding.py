"""What belongs to what: rows, ranges, directions."""

import pytest

from rag_assets.answering.checks.sources import CitedPair, CitedRow, CitedText
from rag_assets.answering.checks.support import check

ROWS = (
    CitedRow((CitedPair("Material name", "Alloy B-7"), CitedPair("Yield strength (MPa)", "660"))),
    CitedRow((CitedPair("Material name", "Alloy C-9"), CitedPair("Yield strength (MPa)", "500"))),
)


@pytest.mark.parametrize(("value", "split"), [("660 MPa", 0.0), ("500 MPa", 1.0)])
def test_a_value_of_another_row_is_told(value, split):
    found = check(f"Alloy B-7 has a yield strength of {value}.", ROWS)
    assert found.signs.split == split


def test_ends_of_a_range_agree_with_one_comparator_only():
    source = [CitedText("Sintering in the furnace took 4-10 hours.")]
    assert check("Sintering took up to 10 hours.", source).signs.numbers < 0.2
    assert check("Sintering took at least 10 hours.", source).signs.numbers > 0.5


def test_a_grade_that_begins_with_digits_is_one_identifier():
    source = [CitedText("The plate is made of 2014-T4 and holds 290 MPa.")]
    assert check("The plate of 2014-T4 holds 290 MPa.", source).support == "full"
    assert check("The plate of 2014-T6 holds 290 MPa.", source).support == "none"
