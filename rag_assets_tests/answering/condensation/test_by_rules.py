"""Follow-ups are completed by what was said, and questions about something else are left alone."""

import pytest

from rag_assets.answering.condensation.by_rules import condensed
from rag_assets.answering.condensation.conversation import Turn
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets_tests.table_lookup.beams import catalogue, contents

SHEETS = {
    "no": ["1", "2", "3"],
    "grade": ["K20", "K30", "K35"],
    "state": ["annealed", "tempered", "annealed"],
    "rm": ["400", "450", "500"],
    "hv": ["120", "130", "150"],
}
HEADINGS = {
    "no": "Number",
    "grade": "Grade",
    "state": "Condition",
    "rm": "Tensile strength (MPa)",
    "hv": "Vickers hardness (HV)",
}


@pytest.fixture(scope="module")
def sheets() -> Catalogue:
    return catalogue(contents(SHEETS, table="sheets", title="Sheets", headings=HEADINGS, hidden=()))


def completed(said: str, asked: str, *, answer: str = "", tables: Catalogue | None = None) -> str:
    return condensed(asked, [Turn(said, answer)], catalogue=tables).question


@pytest.mark.parametrize(
    ("said", "asked", "whole"),
    [
        (
            "What is the density of 316L?",
            "and for 304L?",
            "What is the density of 304L?",
        ),
        (
            "How far does it creep at 400 °C?",
            "what about 500 °C?",
            "How far does it creep at 500 °C?",
        ),
        ("How far does it creep at 400 °C?", "and at 500?", "How far does it creep at 500 °C?"),
        (
            "How strong is a 15 mm rod with a 5 mm bore?",
            "and 6 mm?",
            "How strong is a 15 mm rod with a 6 mm bore?",
        ),
        ("Vilken hårdhet har X5CrNi18-10?", "och X6Cr17 då?", "Vilken hårdhet har X6Cr17?"),
        ("Hur långt kryper det vid 400 °C?", "och vid 500?", "Hur långt kryper det vid 500 °C?"),
    ],
)
def test_a_fragment_takes_the_place_of_what_is_of_its_kind(said, asked, whole):
    assert completed(said, asked) == whole


@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        ("and tempered?", "How hard is K20 when it is tempered?"),
        ("What tensile strength does it have?", "What tensile strength does K20 have annealed?"),
        ("and its tensile strength?", "tensile strength K20 annealed?"),
        ("and K35?", "How hard is K35 when it is annealed?"),
    ],
)
def test_values_of_tables_are_told_by_their_columns(asked, whole, sheets):
    assert completed("How hard is K20 when it is annealed?", asked, tables=sheets) == whole


def test_a_property_takes_the_place_of_a_property(sheets):
    said = "What Vickers hardness has K20?"
    whole = completed(said, "and the tensile strength?", tables=sheets)
    assert "tensile strength" in whole
    assert "K20" in whole
    assert "hardness" not in whole


def test_a_question_may_be_about_the_answer():
    said, answer = "Which smoother is the most reliable?", "GaussSeidel."
    assert completed(said, "How fast is it?", answer=answer) == "How fast is GaussSeidel?"


@pytest.mark.parametrize(
    "asked",
    [
        "How hard is Alloy 5457-O after it has been wrought?",
        "Which standard covers the sizing of control valves?",
        "Are there limits for the sulphur content of structural steel?",
        "Vilken standard gäller för dimensionering av reglerventiler?",
    ],
)
def test_a_question_about_something_else_stays_as_it_is(asked):
    found = condensed(asked, [Turn("What is the density of 316L?", "8.0 g/cm3")])
    assert (found.question, found.is_follow_up) == (asked, False)


@pytest.mark.parametrize(
    ("asked", "is_follow_up"),
    [
        ("Which steel has the highest hardness?", False),
        ("Vilket material har högst hårdhet?", False),
        ("Which alloys are the hardest?", False),
        ("and which one has the highest hardness?", True),
        ("Which is the hardest?", True),
        ("What hardness does it have?", True),
    ],
)
def test_an_extreme_of_a_kind_that_is_named_needs_nothing_of_the_last_question(
    asked, is_follow_up, sheets
):
    history = [Turn("How hard is K20 when it is annealed?", "120 HV")]
    found = condensed(asked, history, catalogue=sheets)
    assert found.is_follow_up is is_follow_up, found.question


def test_what_was_taken_over_is_taken_over_again():
    turns = [Turn("What is the density of 316L?", "8.0"), Turn("and for 304L?", "7.9")]
    assert condensed("and for 904L?", turns).question == "What is the density of 904L?"


def test_a_document_question_keeps_the_terms_of_the_one_before():
    whole = completed("How is the carbon felt activated with KOH?", "What surface area is reached?")
    assert {"carbon", "felt", "activated", "KOH", "surface", "area"} <= {*whole.rstrip("?").split()}


@pytest.mark.parametrize("asked", ["", "?", "and", "it", "och?", "\n\t", "…", "and and and"])
def test_odd_questions_do_no_harm(asked):
    assert isinstance(completed("What is the density of 316L?", asked), str)


def test_without_history_nothing_is_changed():
    assert condensed("and for 304L?", []).question == "and for 304L?"


def test_what_has_nothing_to_lean_on_stays_as_it_was_typed():
    found = condensed("And how is it?", [Turn("How is it?")])
    assert (found.question, found.is_follow_up) == ("And how is it?", False)
