"""Sentences of a model against what they cite."""

import pytest

from rag_assets.answering.checks.cited_texts import MarkedSentence
from rag_assets.answering.generation.numbered_units import numbered_units
from rag_assets.answering.generation.proving import ProvenSentence, prove
from rag_assets.citations.kinds import Cell, Span
from rag_assets_tests.answering.generation.shown import chunk, row

TEXT = (
    "A spring stores energy. Its stiffness is 12 N/mm at room temperature. The paint is red. "
    "It must be greased every 500 hours."
)


def proven(text: str, *numbers: int) -> ProvenSentence:
    hit, cells = row("S355", grade="S355", strength="355", thickness="16")
    units = numbered_units([chunk("spring", TEXT), hit], {"S355": cells}, characters=9999)
    [found] = prove([MarkedSentence(text, numbers)], units)
    return found


def test_the_part_that_says_it_is_cited():
    found = proven("The stiffness is 12 N/mm.", 1)
    assert (found.sentence.compared, found.faults, found.holds) == ("numbers and names", (), True)
    [citation] = found.sentence.citations
    assert isinstance(citation, Span)
    assert citation.text == "Its stiffness is 12 N/mm at room temperature."
    assert TEXT[citation.start : citation.end] == citation.text


def test_the_cells_that_are_told_are_cited():
    found = proven("Steel S355 has a strength of 355.", 2)
    assert found.sentence.compared == "numbers and names"
    told = {cell.column for cell in found.sentence.citations if isinstance(cell, Cell)}
    assert told == {"grade", "strength"}


def test_another_number_is_a_fault_that_is_named():
    found = proven("The stiffness is 13 N/mm.", 1)
    assert found.sentence.compared == "nothing"
    assert any("13 N/mm" in fault for fault in found.faults)


def test_a_number_that_stands_for_nothing_is_a_fault_and_no_citation():
    found = proven("The stiffness is 12 N/mm.", 99)
    assert found.sentence.citations == ()
    assert found.sentence.compared == "nothing"
    assert found.faults == ("[99] is no source",)


def test_a_sentence_that_cites_nothing_does_not_hold():
    found = proven("The paint is red.")
    assert (found.sentence.compared, found.holds) == ("nothing", False)
    assert found.faults == ("it cites no source",)


def test_a_whole_sentence_of_a_source_is_verbatim_and_a_sentence_without_names_is_not_compared():
    assert proven("The paint is red.", 1).sentence.compared == "verbatim"
    found = proven("A red paint covers the spring.", 1)
    assert (found.sentence.is_not_compared, found.holds, found.faults) == (True, True, ())


def test_what_stands_around_a_chunk_can_be_cited_and_is_of_no_unit():
    around = "The spring SP-4 stores energy.\nIts stiffness is 12 N/mm.\nIt weighs 7 kg."
    hit = chunk("spring", "Its stiffness is 12 N/mm.", context=around)
    [found] = prove(
        [MarkedSentence("It weighs 7 kg.", (1,))], numbered_units([hit], {}, characters=999)
    )
    assert found.holds
    assert [(each.unit_id, each.text) for each in found.sentence.citations][-1] == (
        None,
        "It weighs 7 kg.",
    )


def test_a_sentence_that_the_judge_denies_does_not_hold():
    class No:
        def judge(self, sentence, sources, /):
            return False

    units = numbered_units([chunk("spring", TEXT)], {}, characters=9999)
    marked = [MarkedSentence(text, (1,)) for text in ("A stiff 12 N/mm.", "The paint is red.")]
    denied, quoted = prove(marked, units, judge=No())
    assert (denied.holds, denied.sentence.is_supported) == (False, False)
    assert (quoted.holds, quoted.sentence.is_supported) == (True, True)


def test_two_parts_of_one_unit_support_what_neither_says_alone():
    found = proven("The paint is red and it must be greased every 500 hours.", 1)
    assert found.sentence.compared == "numbers and names"


@pytest.mark.parametrize(
    "text", ["Steel X9 has a hardness of 355.", "The tensile strength of steel X9 is 355."]
)
def test_a_value_of_another_heading_is_a_fault(text):
    """Though the cell of that value alone would support it."""
    hit, cells = row("X9", grade="X9", yield_strength="355", tensile_strength="470", hardness="150")
    [found] = prove(
        [MarkedSentence(text, (1,))], numbered_units([hit], {"X9": cells}, characters=999)
    )
    assert (found.sentence.compared, found.holds) == ("nothing", False)
    assert "stands under 'yield strength', not under" in found.faults[0]


def test_a_row_of_a_thousand_columns_is_proven():
    hit, cells = row("X9", **{f"column_{place}": str(place) for place in range(1_000)})
    units = numbered_units([hit], {"X9": cells}, characters=9_999)
    right, wrong = prove(
        [MarkedSentence(f"Column 7 of X9 is {value}.", (1,)) for value in ("7", "1007")], units
    )
    assert (right.holds, wrong.holds) == (True, False)
