"""An answer for people."""

from rag_assets.answering.answer import Answer, Scope, Sentence
from rag_assets.answering.citations import Absence, Cell, Computed, Rows, Span
from rag_assets.serving.answer_text import WIDTH, answer_text

SPAN = Span(
    *("u1", "h", "docs", "manual.pdf", "Manual", (3, 4), 0, 5, "Words", "A > 2 Springs"),
    is_superseded=True,
)
CELL = Cell("u2", "h", "lab", "steels", "7", "rm", "Strength", 355, "MPa")
ROWS = Rows("lab", "steels", {}, tuple(map(str, range(1, 9))), 8)
COMPUTED = Computed("max", (CELL,), 8, {}, "", 355, "MPa", "", ROWS)
SCOPE = Scope("default", "best", {"table": "steels"}, 1_234)


def answer(*sentences: Sentence, **columns) -> Answer:
    return Answer("why?", columns.pop("outcome", "computed"), sentences, SCOPE, **columns)


def test_sources_are_numbered_in_the_order_in_which_they_are_cited():
    text = answer_text(
        answer(
            Sentence("One.", (CELL,), "cell"),
            Sentence("Two.", (SPAN,), "verbatim"),
            Sentence("Three.", (CELL,), "cell"),
        )
    )
    assert text.split("\n") == [
        "One. [1]",
        "Two. [2]",
        "Three. [1]",
        "",
        "Sources",
        "[1] lab/steels, row 7",
        "[2] manual.pdf, pages 3, 4, 2 Springs, superseded",
    ]


def test_a_computed_value_says_what_it_was_computed_from():
    text = answer_text(answer(Sentence("It is 355 MPa.", (COMPUTED,))))
    place = " ".join(text.rpartition("[1] ")[2].split())
    assert place == ("lab/steels, column Strength: max of 8 cells, rows 1, 2, 3, 4, 5 and 3 more")


def test_that_nothing_was_compared_is_said():
    text = answer_text(answer(Sentence("One.", (SPAN,), "verbatim"), Sentence("Two.", (SPAN,))))
    assert "One. [1]\n" in text
    assert "Two. [1] (not compared)" in text


def test_what_was_found_is_no_answer():
    absent = Absence("table lab/steels", "S355K2", 90)
    text = answer_text(
        answer(
            Sentence("The table has S355J2.", (CELL, absent)),
            outcome="found",
            reason="no row has S355K2",
            readings=("a grade", "a name"),
        )
    )
    assert text.startswith("This is no answer, but what fits best. No row has S355K2.")
    assert "- a grade\n- a name" in text
    assert "[2] table lab/steels: 90 searched" in text
    assert "Searched: variant default with best, table steels; 1,234 units" in text


def test_nothing_found_says_what_was_searched():
    text = answer_text(answer(outcome="nothing", reason="the search found nothing"))
    assert text.startswith("No answer. The search found nothing.\n\nSearched: variant default")


def test_lines_are_readable_at_80_columns():
    text = answer_text(answer(Sentence("word " * 60, (SPAN, CELL, COMPUTED))))
    assert max(map(len, text.split("\n"))) <= WIDTH
