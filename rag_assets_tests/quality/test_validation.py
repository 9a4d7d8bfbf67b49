import subprocess
import sys

import pyarrow as pa
import pytest

from rag_assets import quality
from rag_assets.quality import Expectation, Outcome, Profile, TableMeasures

ROWS = pa.table(
    {
        "id": ["a", "b", "c"],
        "tokens": pa.array([5, 300, None], pa.int32()),
        "text": ["x" * 400, "y", "z"],
        "pages": pa.array([[1], [], [2, 3]], pa.list_(pa.int32())),
    }
)
MEASURES = TableMeasures({"missing": 2, "share": 0.25}, {"missing": [{"uri": "a"}]}, Profile(3))


def declared(kind: str, column: str | None = None, **arguments) -> Expectation:
    named = {"column": column} if column else {}
    return Expectation(
        name="declared",
        description="",
        kind=kind,
        arguments={**named, **arguments},
        columns=tuple(named.values()),
    )


def judge(*expectations: Expectation) -> list[Outcome]:
    outcomes = quality.evaluate(
        expectations,
        measures=MEASURES,
        read=lambda columns: ROWS.select(list(dict.fromkeys(["id", *columns]))),
    )
    return [outcomes[item.name] for item in expectations]


def test_a_total_is_held_against_its_bound_and_shows_what_is_behind_it():
    complete = quality.at_most("complete", of="missing", description="")
    lax = quality.at_most("lax", of="missing", most=2, description="")
    share = quality.at_most("share", of="share", most=0.25, description="")

    assert judge(complete, lax, share) == [
        Outcome(passed=False, observed=2, measured=3, examples=[{"uri": "a"}]),
        Outcome(passed=True, observed=2, measured=3),
        Outcome(passed=True, observed=0.25, measured=3),
    ]


def test_columns_are_judged_value_by_value_with_examples_that_name_the_row():
    (outcome,) = judge(declared("ExpectColumnValuesToBeBetween", "tokens", max_value=256))

    assert not outcome.passed
    assert (outcome.unexpected, outcome.measured) == (1, 3)
    assert outcome.examples == [{"tokens": 300, "id": "b"}]


def test_values_that_stand_in_no_row_are_examples_themselves():
    (outcome,) = judge(declared("ExpectColumnDistinctValuesToBeInSet", "tokens", value_set=[5]))

    assert not outcome.passed
    assert (outcome.unexpected, outcome.measured) == (1, 3)
    assert outcome.examples == [{"value": 300}]


def test_long_values_are_shortened_in_examples():
    (outcome,) = judge(declared("ExpectColumnValueLengthsToBeBetween", "text", max_value=10))

    assert len(outcome.examples[0]["text"]) == 160


@pytest.mark.parametrize(
    ("expectation", "observed"),
    [
        (declared("ExpectColumnMeanToBeBetween", "tokens", max_value=100), 152.5),
        (declared("ExpectTableRowCountToBeBetween", max_value=2), 3),
    ],
)
def test_an_aggregate_is_judged_as_a_whole(expectation, observed):
    (outcome,) = judge(expectation)

    assert not outcome.passed
    assert outcome.observed == observed
    assert outcome.unexpected is None


def test_a_number_that_json_has_no_word_for_is_a_text_in_examples():
    rows = pa.table({"id": ["a", "b"], "share": [float("nan"), float("inf")]})
    outcomes = quality.evaluate(
        [declared("ExpectColumnValuesToBeBetween", "share", max_value=1)],
        measures=MEASURES,
        read=lambda columns: rows.select(["id", *columns]),
    )

    assert [dict(example) for example in outcomes["declared"].examples] == [
        {"share": "nan", "id": "a"},
        {"share": "inf", "id": "b"},
    ]


@pytest.mark.parametrize(
    "expectation",
    [
        declared("ExpectColumnValuesToMatchRegex", "text", pattern="x"),
        declared("ExpectColumnValuesToBeBetween", "text", max_value=3),
        quality.at_most("misspelt", of="mising", description=""),
    ],
)
def test_what_cannot_be_judged_fails_and_says_why_beside_the_others(expectation):
    sound = quality.at_most("sound", of="share", description="")

    broken, other = judge(expectation, sound)

    assert not broken.passed
    assert broken.note
    assert other.observed == 0.25


def test_notes_of_a_user_beside_an_expectation_do_no_harm():
    (outcome,) = judge(declared("ExpectColumnValuesToNotBeNull", "text", meta={"owner": "lab"}))

    assert outcome.passed


def test_an_empty_table_meets_every_expectation_on_its_values():
    outcomes = quality.evaluate(
        [declared("ExpectColumnValuesToBeUnique", "text")],
        measures=MEASURES,
        read=lambda columns: ROWS.select(["id", "text"]).slice(0, 0),
    )

    assert outcomes["declared"].passed


def test_neither_dagster_nor_great_expectations_is_imported_before_something_is_judged():
    code = (
        "import sys, rag_assets.quality;"
        "assert not {'great_expectations', 'pandas', 'torch', 'dagster'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
