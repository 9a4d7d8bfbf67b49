"""Verifying answers of ours and cited texts from anywhere."""

from dataclasses import replace

import pytest

from rag_assets.answering.answer import Answer, Scope
from rag_assets.answering.checks.cited_texts import CitedTextError, read_cited
from rag_assets.answering.checks.verifying import cited_sentences, verdicts_of, verify
from rag_assets.citations.kinds import Absence, Cell, Computed, Rows, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.table_lookup.looking_up import answer_plan
from rag_assets.table_lookup.plans.plan import LookupPlan
from rag_assets_tests.table_lookup.beams import SOURCE, catalogue, contents

TEXT = "The rotor is made of steel. Its yield strength is 355 MPa at 20 °C. It weighs 12 kg."
SPAN = Span(
    unit_id="u1",
    text_hash="h1",
    source="documents",
    uri="rotor.pdf",
    title="Rotor",
    pages=(3,),
    start=28,
    end=68,
    text="Its yield strength is 355 MPa at 20 °C.",
)
CELL = Cell(
    unit_id="r1",
    text_hash="h2",
    source="tables",
    table="pumps",
    row_key="4",
    column="p_max",
    heading="maximum pressure",
    value=16.0,
    unit="bar",
)
ROWS = Rows(source="tables", table="pumps", plan={}, row_keys=("4", "7"), count=2)
COMPUTED = Computed(
    operation="max",
    inputs=(CELL, replace(CELL, row_key="7", value=10.0)),
    count=2,
    plan={},
    sql="",
    result=16.0,
    unit="bar",
    pin="v1",
    rows=ROWS,
)


def answer(*sentences):
    return Answer(
        question="How strong is the rotor?",
        outcome="written",
        sentences=sentences,
        scope=Scope(variant="v", retriever="baseline", filters={}, units=10),
    )


def supports(*sentences, units=None):
    return [each.compared for each in verify(answer(*sentences), units).sentences]


def test_each_sentence_gets_the_support_of_its_own_citations():
    assert supports(
        Sentence("The yield strength of the rotor is 355 N/mm2 at 20 °C.", (SPAN,)),
        Sentence("The yield strength of the rotor is 535 MPa at 20 °C.", (SPAN,)),
        Sentence("The yield strength of the rotor is 355 MPa at 20 °C.", ()),
    ) == ["numbers and names", "nothing", "nothing"]


def test_a_citation_whose_unit_is_gone_or_has_other_words_supports_nothing():
    sentence = Sentence(SPAN.text, (SPAN,))

    assert supports(sentence, units={"u1": TEXT}) == ["verbatim"]
    assert supports(sentence, units={}) == ["nothing"]
    assert supports(sentence, units={"u1": "Other words."}) == ["nothing"]


def test_cells_and_computed_values_are_held_to_their_headings():
    assert supports(
        Sentence("Pump 4 has a maximum pressure of 1.6 MPa.", (CELL,)),
        Sentence("The highest maximum pressure of the pumps is 16 bar.", (COMPUTED,)),
        Sentence("The highest maximum pressure of the pumps is 61 bar.", (COMPUTED,)),
        Sentence("There are 2 rows of pumps.", (ROWS,)),
    ) == ["numbers and names", "numbers and names", "nothing", "numbers and names"]


def test_an_absence_supports_that_there_is_none():
    absence = Absence(scope="table pumps, column grade", looked_for="X9", searched=40)

    assert supports(Sentence("None of the 40 pumps has grade X9.", (absence,))) == [
        "numbers and names"
    ]


def test_what_was_computed_is_supported_only_once_it_is_computed_again():
    tables = catalogue(
        contents({"pump": ["P4", "P7"], "p_max": ["16", "10"]}, table="pumps", title="pumps")
    )
    plan = LookupPlan(SOURCE, "pumps", operation="max", column="p_max")
    told = answer(*answer_plan(plan, tables).sentences)
    moved = catalogue(
        contents({"pump": ["P4", "P7"], "p_max": ["16", "20"]}, table="pumps", title="pumps")
    )

    assert {each.compared for each in verify(told).sentences} == {"numbers and names"}
    assert {each.compared for each in verify(told, catalogue=tables).sentences} == {
        "computed again"
    }
    [verdict] = verdicts_of(cited_sentences(told, None, catalogue=moved))
    assert (verdict.compared, verdict.is_bad) == ("nothing", True)
    assert "give something else" in verdict.reasons[0]


def test_verifying_twice_changes_nothing():
    once = verify(answer(Sentence(SPAN.text, (SPAN,))))

    assert verify(once) == once


def test_a_verdict_names_the_missing_atom_and_where_the_closest_is():
    sentence = Sentence("Its yield strength is 365 MPa at 20 °C.", (SPAN,))

    (verdict,) = verdicts_of(cited_sentences(answer(sentence), None))

    (missing,) = verdict.uncovered
    assert (missing.kind, missing.text) == ("number", "365 MPa")
    assert missing.closest is not None
    assert missing.closest.text == "355 MPa"
    assert missing.closest.source == "rotor.pdf, page 3"


def test_a_verdict_says_which_citations_point_nowhere():
    (verdict,) = verdicts_of(cited_sentences(answer(Sentence(SPAN.text, (SPAN,))), {}))

    assert verdict.nowhere == ("rotor.pdf, page 3",)
    assert (verdict.compared, verdict.is_bad) == ("nothing", True)


MARKDOWN = """# Rotor

The rotor is made of steel [1]. Its yield strength is 355 MPa.[1, 2] Nobody measured it.

- It weighs 12 kg [3-4].

## Sources

[1] The rotor is made of steel.
2. Its yield strength is 355 MPa
   at 20 °C.
[3]: It weighs 12 kg.
"""


def test_a_cited_text_is_read_with_its_marks_and_sources():
    sentences = read_cited(MARKDOWN)

    assert [(each.text, len(each.sources), each.nowhere) for each in sentences] == [
        ("The rotor is made of steel.", 1, ()),
        ("Its yield strength is 355 MPa.", 2, ()),
        ("Nobody measured it.", 0, ()),
        ("It weighs 12 kg.", 1, ("[4]",)),
    ]
    assert sentences[1].sources[1].text == "Its yield strength is 355 MPa at 20 °C."


def test_sources_are_looked_up_where_an_index_is_open():
    text = "The rotor is steel [1]. It is red [2].\n\nSources:\n[1] unit-7\n[2] unit-8"

    first, second = read_cited(text, find={"unit-7": "The rotor is steel."}.get)

    assert first.sources[0].text == "The rotor is steel."
    assert second.nowhere == ("[2] unit-8",)


def test_a_text_without_a_sentence_is_refused_with_what_to_do():
    with pytest.raises(CitedTextError, match="write the answer first"):
        read_cited("\n\nSources:\n[1] a text\n")
