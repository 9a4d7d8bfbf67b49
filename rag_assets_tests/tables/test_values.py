import base64
import math
from datetime import UTC, date, datetime, time, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.identity import canonical_number
from rag_assets.tables.values import UNREADABLE, canonical


def texts(values, kind=None):
    return canonical(pa.array(values, kind)).text.to_pylist()


def numeric(values, kind=None):
    return canonical(pa.array(values, kind)).numeric.to_pylist()


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(22, 3), pa.decimal128(38, 10)]
)
def test_equal_numbers_of_all_types_are_spelled_alike(kind):
    column = pa.array([1, 0, 100], pa.int64()).cast(kind)

    assert canonical(column).text.to_pylist() == ["1", "0", "100"]
    assert canonical(column).numeric.to_pylist() == [True, True, True]


@given(st.lists(st.floats() | st.none()))
def test_floats_are_spelled_as_canonical_number_says(values):
    expected = [None if value is None else canonical_number(value) for value in values]

    assert texts(values, pa.float64()) == expected


@given(
    st.lists(
        st.decimals(
            allow_nan=False, allow_infinity=False, places=12, min_value=-(10**20), max_value=10**20
        )
    )
)
def test_decimals_are_spelled_as_canonical_number_says(values):
    assert texts(values, pa.decimal128(38, 12)) == [canonical_number(value) for value in values]


@given(st.lists(st.text()))
def test_texts_that_look_alike_are_equal(values):
    import unicodedata

    decomposed = [unicodedata.normalize("NFD", value) for value in values]

    assert texts(values, pa.string()) == texts(decomposed, pa.string())


def test_a_missing_value_is_not_an_empty_text():
    assert texts(["", None], pa.string()) == ["", None]


def test_nan_is_a_missing_value_and_infinity_is_no_number():
    column = canonical(pa.array([math.nan, math.inf, -math.inf, 1.5, None]))

    assert column.text.to_pylist() == [None, "inf", "-inf", "1.5", None]
    assert column.numeric.to_pylist() == [False, False, False, True, False]


def test_dates_and_times_are_iso_8601():
    summer = timezone(timedelta(hours=2))

    assert texts([date(2024, 5, 1)]) == ["2024-05-01"]
    assert texts([time(8, 30), time(8, 30, 1, 500_000)]) == ["08:30:00", "08:30:01.5"]
    assert texts([datetime(2024, 5, 1, 12)]) == ["2024-05-01T12:00:00"]
    assert texts([datetime(2024, 5, 1, 12, tzinfo=summer)]) == ["2024-05-01T10:00:00Z"]
    assert texts([datetime(2024, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC)]) == [
        "2024-05-01T12:00:00.25Z"
    ]


def test_the_same_instant_is_spelled_alike_whatever_its_unit():
    instants = pa.array([datetime(2024, 5, 1, 12, 0, 10, tzinfo=UTC)])
    spellings = {
        canonical(instants.cast(pa.timestamp(unit, "Europe/Stockholm"))).text[0].as_py()
        for unit in ("s", "ms", "us", "ns")
    }

    assert spellings == {"2024-05-01T12:00:10Z"}


def test_truth_values_bytes_and_columns_without_values():
    assert texts([True, False, None]) == ["true", "false", None]
    assert texts([b"\x00\xff", None]) == [base64.b64encode(b"\x00\xff").decode(), None]
    assert texts([None, None], pa.null()) == [None, None]
    assert numeric([True], pa.bool_()) == [False]


def test_a_value_that_cannot_be_represented_is_a_problem_of_its_row_alone():
    far = pa.array([0, 2**62, None], pa.int64()).cast(pa.timestamp("us"))
    broken = pa.array([b"ok", b"\xff\xfe", None]).view(pa.string())

    for column, good in ((far, "1970-01-01T00:00:00"), (broken, "ok")):
        values = canonical(column)
        assert values.text.to_pylist() == [good, UNREADABLE, None]
        assert list(values.problems) == [1]
