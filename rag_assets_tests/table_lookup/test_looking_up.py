from dataclasses import replace
from decimal import Decimal

import pytest

from rag_assets.citations.kinds import Absence, Cell, Computed, Rows
from rag_assets.retrieval.filters import Filters
from rag_assets.table_lookup.arm import narrowed
from rag_assets.table_lookup.looking_up import answer_plan, look_up
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan
from rag_assets.table_lookup.question import time_limit, value_parts
from rag_assets.table_lookup.verifying import verify_again
from rag_assets.table_lookup.words.phrases import language_of
from rag_assets.workers import AbandonedError, abandoned_once
from rag_assets_tests.table_lookup.beams import BEAMS, SOURCE, catalogue, contents

PLAN = LookupPlan(SOURCE, "beams")
HELD = catalogue()
SOUTH = (Condition("mill", "=", ("southern",)),)


def told(plan: LookupPlan, **settings) -> list[str]:
    return [sentence.text for sentence in answer_plan(plan, HELD, **settings).sentences]


def cited(plan: LookupPlan) -> Absence | Cell | Computed | Rows:
    [first, *_] = answer_plan(plan, HELD).sentences[0].citations
    assert not hasattr(first, "pages")
    return first


def test_a_row_is_told_with_its_cells():
    plan = replace(PLAN, where=(Condition("name", "=", ("ipe 200",)),), columns=("mass", "stock"))
    found = answer_plan(plan, HELD)
    [sentence] = found.sentences
    assert [sentence.text] == ["IPE 200: Mass per metre 22.4 kg/m; In stock 7."]
    mass, stock, _ = sentence.citations
    assert mass == Cell(
        unit_id="beams-3",
        text_hash="hash of 3",
        source=SOURCE,
        table="beams",
        row_key="3",
        column="mass",
        heading="Mass per metre",
        value=Decimal("22.4"),
        unit="kg/m",
    )
    assert found.row_ids == ("beams-3",)
    assert isinstance(stock, Cell)


def test_a_row_whose_name_is_a_number_is_called_by_it():
    alloys = {
        "id": ["1", "2", "3"],
        "name": ["5754", "6082", "7075"],
        "density": ["2.66", "2.70", "2.81"],
        "supplier": ["Aldermill", "Brasswick", "Coldharbour"],
    }
    found = look_up("What is the density of 6082?", catalogue(contents(alloys, table="alloys")))
    assert [sentence.text for sentence in found.sentences] == ["Section 6082: density 2.7."]


def test_what_is_no_plain_number_is_shown_as_it_is():
    plan = replace(PLAN, where=(Condition("id", "=", (10.0,)),), columns=("stock",))
    assert told(plan) == ["UNP 80: In stock 280 max."]


def test_many_rows_are_counted_and_the_first_told():
    first, *rest = told(PLAN)
    assert first.startswith("Steel beams has 6 rows: HEA 100, HEA 120, IPE 200, IPE 220, ")
    assert len(rest) == 3
    assert isinstance(cited(PLAN), Rows)


def test_a_list_has_what_is_asked_of_each_row_by_its_name():
    assert told(replace(PLAN, columns=("mass",))) == [
        "HEA 100: Mass per metre 16.7 kg/m.",
        "HEA 120: Mass per metre 19.9 kg/m.",
        "IPE 200: Mass per metre 22.4 kg/m.",
        "IPE 220: Mass per metre 26.2 kg/m.",
        "UNP 80, row 5: Mass per metre 8.64 kg/m.",
        "UNP 80, row 10: Mass per metre 9.1 kg/m.",
    ]


def test_an_extreme_names_who_has_it_and_how_many_were_compared():
    plan = replace(PLAN, where=SOUTH, operation="max", column="mass")
    assert told(plan) == [
        "The highest Mass per metre where Mill is southern is 26.2 kg/m (IPE 220), from 3 rows."
    ]
    citation = cited(plan)
    assert isinstance(citation, Computed)
    assert (citation.result, citation.unit, citation.count) == (Decimal("26.2"), "kg/m", 3)
    assert [cell.row_key for cell in citation.inputs] == ["3", "4", "5"]
    assert citation.pin == "v1"
    assert answer_plan(plan, HELD).row_ids[0] == "beams-4"


def test_cells_that_are_no_numbers_are_counted():
    plan = replace(PLAN, operation="sum", column="stock")
    assert told(plan) == [
        "The sum of In stock is 59, from 4 rows.",
        "1 cell of In stock left out: no plain number.",
    ]


def test_other_operations_in_words():
    mass = replace(PLAN, column="mass")
    two = (Condition("id", "in", (1.0, 2.0)),)
    assert told(replace(mass, operation="mean", where=two)) == [
        "The mean Mass per metre where id is one of 1, 2 is 18.3 kg/m, from 2 rows."
    ]
    assert told(replace(mass, operation="range", where=two)) == [
        "Mass per metre where id is one of 1, 2 goes from 16.7 to 19.9 kg/m, a range of 3.2 kg/m, "
        "from 2 rows."
    ]
    assert told(replace(mass, operation="difference", where=two)) == [
        "Mass per metre differs by 3.2 kg/m between HEA 100 (16.7 kg/m) and HEA 120 (19.9 kg/m)."
    ]
    assert told(replace(PLAN, operation="count", where=SOUTH)) == [
        "Steel beams has 3 rows where Mill is southern."
    ]


def test_one_row_is_one():
    first = (Condition("id", "=", (1.0,)),)
    assert told(replace(PLAN, operation="count", where=first)) == [
        "Steel beams has 1 row where id is 1."
    ]
    assert told(replace(PLAN, operation="max", column="mass", where=first)) == [
        "The highest Mass per metre where id is 1 is 16.7 kg/m (HEA 100)."
    ]
    assert told(replace(PLAN, operation="mean", column="mass", where=first), language="sv") == [
        "Medelvärdet av Mass per metre där id är 1 är 16,7 kg/m."
    ]


def test_swedish_questions_have_swedish_sentences():
    plan = replace(PLAN, where=SOUTH, operation="min", column="mass")
    assert told(plan, language="sv") == [
        "Lägsta Mass per metre där Mill är southern är 8,64 kg/m (UNP 80), ur 3 rader."
    ]
    assert language_of("Vilken balk har högsta massan?") == "sv"
    assert language_of("Which beam has the highest mass?") == "en"


def test_where_no_row_is_found_the_nearest_value_is_shown():
    plan = replace(PLAN, where=(Condition("name", "=", ("IPE 240",)),), columns=("mass",))
    found = answer_plan(plan, HELD)
    assert found.outcome == "closest"
    absent, near = found.sentences
    assert absent.text == (
        "No row of Steel beams was found where Section is IPE 240; 6 rows were searched."
    )
    assert "IPE 2" in near.text
    [citation] = absent.citations
    assert isinstance(citation, Absence)
    assert citation.searched == 6
    assert set(found.row_ids) <= {"beams-3", "beams-4"}


def test_the_nearest_number_is_shown_too():
    plan = replace(PLAN, where=(Condition("mass", ">", (30.0,)),))
    assert told(plan)[1] == (
        "Nearest in Steel beams is Mass per metre 26.2 kg/m; asked for: Mass per metre is above 30 "
        "kg/m."
    )


def test_none_is_an_answer_with_its_proof():
    plan = replace(PLAN, where=(Condition("mass", ">", (30.0,)),), operation="count")
    found = answer_plan(plan, HELD)
    assert found.outcome == "answered"
    assert {type(each) for each in found.sentences[0].citations} == {Computed, Absence}


def test_cells_of_several_units_are_not_added():
    columns = {"key": ["a", "b"], "value": ["1", "2"], "unit": ["MPa", "GPa"]}
    held = catalogue(contents(columns, headings={}, hidden=("key",)))
    found = answer_plan(replace(PLAN, operation="sum", column="value"), held)
    assert found.outcome == "refused"
    assert "GPa, MPa" in found.reason


@pytest.mark.parametrize("question", ["", "   ", "why " * 1_000])
def test_what_is_no_question_is_none(question):
    assert look_up(question, HELD).outcome == "none"


ALL = [
    replace(PLAN, where=SOUTH, operation="max", column="mass"),
    replace(PLAN, operation="count", where=SOUTH),
    replace(PLAN, operation="sum", column="stock"),
    PLAN,
    replace(PLAN, where=(Condition("name", "=", ("IPE 240",)),)),
]


@pytest.mark.parametrize("plan", ALL)
def test_a_second_run_says_the_same_and_verifies(plan):
    assert answer_plan(plan, HELD) == answer_plan(plan, catalogue())
    citation = cited(plan)
    assert not isinstance(citation, Cell)
    assert verify_again(citation, HELD) == "same"


def test_changed_rows_make_a_citation_stale():
    heavier = {**BEAMS, "mass": ["16.7", "19.9", "22.4", "99.9", "8.64", "9.1"]}
    citation = cited(ALL[0])
    assert not isinstance(citation, Cell)
    assert verify_again(citation, catalogue(contents(heavier))) == "changed"
    untouched = {**BEAMS, "stock": ["1"] * 6}
    assert verify_again(citation, catalogue(contents(untouched))) == "same"


def test_a_lost_table_or_column_is_gone():
    citation = cited(ALL[0])
    assert not isinstance(citation, Cell)
    assert verify_again(citation, catalogue(contents(table="others"))) == "gone"
    bare = {"id": BEAMS["id"], "name": BEAMS["name"]}
    assert verify_again(citation, catalogue(contents(bare))) == "gone"


def test_a_row_that_is_there_now_makes_an_absence_stale():
    absent = cited(ALL[-1])
    assert isinstance(absent, Absence)
    added = {**BEAMS, "name": ["HEA 100", "HEA 120", "IPE 200", "IPE 240", "UNP 80", "UNP 80"]}
    assert verify_again(absent, catalogue(contents(added))) == "changed"


def test_where_the_rows_have_no_cell_to_compute_with_that_is_what_is_missing():
    where = (Condition("name", "in", ("IPE 220",)), Condition("mill", "=", ("southern",)))
    found = answer_plan(replace(PLAN, where=where, operation="mean", column="stock"), HELD)
    assert found.outcome == "closest"
    assert found.sentences[0].text == (
        "No row of Steel beams was found where Section is IPE 220 and Mill is southern and "
        "In stock is given; 6 rows were searched."
    )
    assert not any("Section IPE 220;" in each.text for each in found.sentences)


def test_what_takes_too_long_to_read_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(time_limit, "SECONDS", -1.0)

    found = look_up("What is the mass per metre of IPE 330?", catalogue())

    assert (found.outcome, found.plan) == ("refused", None)
    assert "ask for one thing at a time" in found.reason


def test_the_work_on_a_question_grows_with_its_length_alone(monkeypatch):
    steps, linked = [], value_parts.links_of_word
    seen = lambda *given: steps.append(given) or linked(*given)  # noqa: E731
    monkeypatch.setattr(value_parts, "links_of_word", seen)
    for words in (50, 100, 200):
        steps.clear()
        look_up("Zanzibar " * words, catalogue())
        assert words <= len(steps) <= 4 * words


def test_a_lookup_that_nobody_waits_for_ends():
    with abandoned_once(lambda: True), pytest.raises(AbandonedError):
        look_up("What is the mass per metre of IPE 360?", catalogue())


def test_a_scope_is_asked_as_if_there_were_no_other_table():
    held = catalogue(contents(), contents(table="offers", title="Offered beams"))
    question = "What is the highest mass per metre?"
    assert look_up(question, held).outcome == "refused"
    for filters in (Filters(within=(f"{SOURCE}/offers",)), Filters(table="offers")):
        only = narrowed(held, filters)
        found = look_up(question, only)
        assert (found.outcome, found.plan.table) == ("answered", "offers")
        assert narrowed(held, filters) is only, "what is built over it is built once"
    assert narrowed(held, Filters(within=("papers/",))).tables == ()
    assert look_up(question, narrowed(held, Filters(source="papers"))).outcome != "answered"
    assert narrowed(held, Filters(domain="table")) is held


def test_a_value_is_found_by_any_spelling_and_told_as_it_is_written():
    names = ["Gas\u200bket", "\uff21\uff22\uff397", "Fan belt", "\u00b5probe"]
    columns = {"part": names, "mass": ["4", "7", "9", "12"]}
    held = catalogue(contents(columns, table="parts", title="Parts", hidden=(), keys=names))
    for question, value in (
        ("What is the mass of Gasket?", "4"),
        ("What is the mass of Gas\u00adket?", "4"),
        ("What is the mass of ABY7?", "7"),
        ("What is the mass of Fan\u00a0belt?", "9"),
        ("What is the mass of \u03bcprobe?", "12"),
    ):
        found = look_up(question, held)
        assert found.outcome == "answered", (question, found.reason)
        assert value in found.sentences[0].text, question
    told = look_up("What is the mass of Gasket?", held).sentences[0].text
    assert names[0] in told
