"""An answer for people."""

from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.answer import Answer, Scope
from rag_assets.citations.kinds import Cell, Computed, Rows, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.serving.answer_text import LINES, NO_ANSWER, RESERVED, WIDTH, answer_text

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
    denied = Sentence("Three.", (SPAN,), judged=False)
    said = (Sentence("One.", (SPAN,), "verbatim"), Sentence("Two.", (SPAN,)), denied)
    text = answer_text(answer(*said))
    assert "One. [1]\n" in text
    assert "Two. [1] (not compared)" in text
    assert "Three. [1] (not in its sources)" in text


def test_what_looks_like_a_citation_in_the_words_of_a_source_is_escaped():
    quoted = "See [2] and [3, 4], but not a[i] or [A]."
    escaped = r"See \[2\] and \[3, 4\], but not a[i] or [A]."
    assert f"{escaped} [1]" in answer_text(answer(Sentence(quoted, (SPAN,), "verbatim")))
    shown = answer_text(found(Sentence(quoted, (SPAN,), "verbatim", before="[5] ", after=" [6]")))
    assert " ".join(shown.split()).count(r"\[5\] **See \[2\] and") == 1
    assert r"\[6\]" in shown


def found(*passages: Sentence, **columns) -> Answer:
    return answer(*passages, outcome="found", **columns)


def passage(text: str, *, before: str = "", after: str = "") -> Sentence:
    return Sentence(text, (SPAN,), "verbatim", before=before, after=after)


def test_what_was_found_is_no_answer_and_the_reason_stands_first():
    text = answer_text(
        found(
            passage("It is 355 MPa.", before="Of steel. ", after=" At 20 degrees."),
            Sentence("Grade: S355; Mass: 4 kg", (CELL,), "cell", before="Steels\n"),
            reason="no row has S355K2",
            readings=("a grade", "a name"),
        )
    )
    assert text.split("\n") == [
        "No row has S355K2.",
        "It can be read as:",
        "- a grade",
        "- a name",
        NO_ANSWER,
        "[1] Manual: manual.pdf, pages 3, 4, 2 Springs, superseded",
        "    Of steel. **It is 355 MPa.** At 20 degrees.",
        "[2] lab/steels, row 7",
        "    Steels",
        "    **Grade: S355; Mass: 4 kg**",
        "Searched: variant default with best, table steels; 1,234 units were ranked.",
    ]


def test_a_terminal_shows_the_passage_in_bold():
    text = answer_text(found(passage("It is.", before="So. ")), bold=True)
    assert "So. \x1b[1mIt is.\x1b[22m" in text


@given(
    st.lists(st.tuples(*[st.integers(0, 400)] * 3), min_size=1, max_size=3),
    st.integers(0, 60),
)
def test_all_of_the_first_unit_is_shown_and_the_others_take_what_room_is_left(sizes, reason):
    passages = [
        passage(f"p{place} {'own ' * own}", before="before " * before, after=" after" * after)
        for place, (before, own, after) in enumerate(sizes)
    ]
    text = answer_text(found(*passages, reason="word " * reason))
    first = text.partition("\n[2] ")[0]
    words = first.replace("**", " ").split()
    assert [words.count(word) for word in ("before", "own", "after")] == [*sizes[0]]
    lines = text.split("\n")
    assert len(lines) <= max(LINES - RESERVED, first.count("\n") + 3 * len(sizes))
    assert all(len(line) <= WIDTH + 8 for line in lines)
    assert all(f"**p{place}" in text for place in range(len(sizes)))
    assert text.count("**") == 2 * len(sizes)


def test_what_a_model_adds_stands_below_what_was_computed():
    text = answer_text(
        answer(
            Sentence("The mass is 4 kg.", (CELL,), "cell"),
            Sentence("It is light.", (SPAN,), "nothing", is_written=True),
        )
    )
    assert text.startswith(
        "The mass is 4 kg. [1]\n\nA language model adds:\nIt is light. [2] (not compared)"
    )


def test_all_rows_are_one_command_away():
    text = answer_text(answer(Sentence("8 rows have it, S355 first.", (ROWS, CELL))))
    assert 'All 8 rows: rag-assets tables lookup "why?"' in text


def test_nothing_found_says_what_was_searched():
    text = answer_text(answer(outcome="nothing", reason="the search found nothing"))
    assert text.startswith("No answer. The search found nothing.\n\nSearched: variant default")


def test_lines_are_readable_at_80_columns():
    text = answer_text(answer(Sentence("word " * 60, (SPAN, CELL, COMPUTED))))
    assert max(map(len, text.split("\n"))) <= WIDTH
