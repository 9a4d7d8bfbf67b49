"""Numbers keep all their digits from the source to what is told, cited, kept and verified."""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rag_assets.citations.kinds import Cell, Computed
from rag_assets.citations.sentences import Sentence
from rag_assets.citations.values import Number, in_json
from rag_assets.identity import canonical_number
from rag_assets.table_lookup.looking_up import answer_plan, look_up
from rag_assets.table_lookup.plans.plan import (
    Comparison,
    Condition,
    LookupPlan,
    Operation,
    plan_from_json,
    plan_to_json,
)
from rag_assets.table_lookup.sentences.retelling import is_told
from rag_assets.table_lookup.tables.catalogue import Catalogue, contents_of
from rag_assets.table_lookup.tables.cells import ColumnCells
from rag_assets.table_lookup.verifying import verify_again
from rag_assets.terms.units import converted
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue, contents

PLAN = LookupPlan(SOURCE, "readings", operation="max", column="reading")
ROWS = LookupPlan(SOURCE, "readings", columns=("reading",))
SENTENCES = TypeAdapter(tuple[Sentence, ...])
EXAMPLES = (
    *(1, 2**53, 2**63 - 1, 2**63, 7310865004703, 1498392753700442115, 9007199254740995),
    *map(Decimal, ("98765432109.87", "1234567.89", "0.1", "1234567890123456.78", "1e-9", "0.30")),
)
WHOLE = st.integers(0, 2**63)
PARTS = st.decimals(Decimal("1e-9"), 10**16, places=9, allow_nan=False, allow_infinity=False)


def held(*numbers: Number) -> Catalogue:
    columns = {
        "name": [f"row {place}" for place, _ in enumerate(numbers)],
        "reading": [canonical_number(each) for each in numbers],
    }
    return catalogue(contents(columns, table="readings", title="Readings", headings={}, hidden=()))


def equal_after_json(sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """The sentences as they are read again from JSON by a reader with floats of 64 bits."""
    text = SENTENCES.dump_json(sentences)
    as_floats = json.loads(text, parse_int=lambda digits: int(float(digits)))
    read = SENTENCES.validate_json(json.dumps(as_floats))
    assert read == sentences
    return read


def all_digits_are_kept(first: Number, second: Number, third: Number) -> None:
    """Told, cited, kept in JSON, verified, and selected by."""
    numbers = sorted((first, second, third))
    readings = held(*numbers)
    all_rows = answer_plan(ROWS, readings).sentences
    for number, sentence in zip(numbers, equal_after_json(all_rows), strict=True):
        assert sentence.text.endswith(f": reading {canonical_number(number)}.")
        assert number in [cell.value for cell in sentence.citations if isinstance(cell, Cell)]
        assert is_told(sentence.text, sentence.citations)
    for operation, result in (
        ("max", max(numbers)),
        ("min", min(numbers)),
        ("sum", exact_sum(numbers)),
    ):
        plan = plan_from_json(json.loads(json.dumps(plan_to_json(of(operation, ">", -1)))))
        [sentence] = equal_after_json(answer_plan(plan, readings).sentences)
        assert f" {canonical_number(result)}" in sentence.text
        [computed] = [each for each in sentence.citations if isinstance(each, Computed)]
        assert (computed.result, computed.count) == (result, 3)
        assert verify_again(computed, readings) == "same"
        assert is_told(sentence.text, sentence.citations)
    for place, number in enumerate(numbers):
        same = replace(ROWS, where=(Condition("reading", "=", (number,)),))
        read = plan_from_json(json.loads(json.dumps(plan_to_json(same))))
        assert answer_plan(read, readings).row_ids == (f"readings-row {place}",)
    apart = of("difference", "<", numbers[2])
    assert computed_by(apart, readings).result == numbers[1] - numbers[0]


def exact_sum(numbers: Sequence[Number]) -> Number:
    """With more digits than decimals have by themselves."""
    with localcontext(prec=100):
        return sum(numbers)


def of(operation: Operation, op: Comparison, limit: Number) -> LookupPlan:
    where = (Condition("reading", op, (limit,)),)
    return LookupPlan(SOURCE, "readings", where=where, operation=operation, column="reading")


def computed_by(plan: LookupPlan, readings: Catalogue) -> Computed:
    return next(
        each
        for each in answer_plan(plan, readings).sentences[0].citations
        if isinstance(each, Computed)
    )


@pytest.mark.parametrize("number", EXAMPLES, ids=str)
def test_a_number_is_told_apart_from_its_neighbours(number):
    step = 1 if isinstance(number, int) else Decimal(1).scaleb(-9)
    all_digits_are_kept(number - step, number, number + step)


@given(st.lists(WHOLE | PARTS, min_size=3, max_size=3, unique=True))
def test_all_digits_of_any_numbers_are_kept(numbers):
    all_digits_are_kept(*numbers)


def test_a_sum_and_a_mean_of_long_numbers_are_exact():
    long = held(Decimal("98765432109.87"), Decimal("12.5"), Decimal("7.25"))
    told = [
        answer_plan(replace(PLAN, operation=operation), long).sentences[0].text
        for operation in ("sum", "mean", "range")
    ]
    assert told == [
        "The sum of reading is 98765432129.62, from 3 rows.",
        "The mean reading is 32921810709.8733, from 3 rows.",
        "reading goes from 7.25 to 98765432109.87, a range of 98765432102.62, from 3 rows.",
    ]


def test_a_mean_without_an_end_is_told_rounded_and_cited_in_full():
    [sentence] = answer_plan(replace(PLAN, operation="mean"), held(1, 2, 2)).sentences
    assert sentence.text == "The mean reading is 1.66667, from 3 rows."
    [computed] = sentence.citations
    assert computed.result == Decimal("1.666666666667")
    assert is_told(sentence.text, equal_after_json((sentence,))[0].citations)


def test_a_long_number_of_a_question_finds_one_row():
    columns = {
        "article": ["hexbolt", "wingnut", "washer"],
        "tracking": ["1498392753700442114", "1498392753700442115", "1498392753700442999"],
    }
    found = look_up(
        "Which article has the tracking 1498392753700442115?",
        catalogue(contents(columns, table="articles", title="Articles", headings={}, hidden=())),
    )
    assert found.row_ids == ("articles-wingnut",)


def test_numbers_too_far_apart_for_all_digits_are_still_told_with_theirs():
    far = held(Decimal("1.5e-30"), 3 * 10**20)
    rows = answer_plan(ROWS, far)
    told = [sentence.text for sentence in rows.sentences]
    assert told == [f"row 0: reading 0.{29 * '0'}15.", f"row 1: reading 3{20 * '0'}."]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (Decimal("98765432109.87"), 98765432109.87),
        (Decimal("1234567890123456.78"), "1234567890123456.78"),
        ("9007199254740993", "9007199254740993"),
    ],
)
def test_json_has_a_long_number_as_a_string(value, written):
    assert in_json(value) == written


def test_units_are_converted_digit_by_digit():
    assert converted(1234567890123456789, "g", "kg") == Decimal("1234567890123456.789")
    assert converted(30, "L/min", "m3/h") == Decimal("1.8")
    assert converted(Decimal("1.5"), "kEUR", "EUR") == 1500


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"t": ["1,250", "0,125"]}, [1.25, 0.125]),
        ({"t": ["1,250", "2,500"], "m": ["355,5", "390,25"]}, [1.25, 2.5]),
        ({"t": ["1.250", "2.500"], "m": ["355,5", "390,25"]}, [1250, 2500]),
        ({"t": ["1\u00a0250,5", "\u22127"]}, [1250.5, -7]),
        ({"t": ["1,250.5", "980"]}, [1250.5, 980]),
        ({"t": ["1.250", "2.500"]}, None),
        ({"t": ["1,250", "2,500"]}, None),
    ],
)
def test_all_cells_of_texts_tell_what_begins_their_decimals(columns, expected):
    held = contents(columns, keys=["1", "2"], hidden=())
    if expected is None:
        assert not held.info.find("t").is_numeric
    else:
        assert held.rows["t"].to_pylist() == [Decimal(str(each)) for each in expected]


def test_an_english_document_means_thousands_where_nothing_tells():
    cells = [ColumnCells("t", "t", False, pa.array(["1,250", "2,500"]), pa.repeat(False, 2))]
    ids = pa.array(["1", "2"])
    names = ("docs", "a.pdf#1", "Loads")
    held = contents_of(names, row_ids=ids, row_keys=ids, text_hashes=ids, cells=cells, english=True)
    assert held.rows["t"].to_pylist() == [1250, 2500]
    held = contents_of(
        names, row_ids=ids, row_keys=ids, text_hashes=ids, cells=cells, others="comma", english=True
    )
    assert held.rows["t"].to_pylist() == [Decimal("1.25"), Decimal("2.5")]
