"""Which pieces of a text can be quoted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.quoting.pieces import cells_of, pieces_of, read, shown

TABLE = """\
| Grade | Strength | Remark |
| --- | --- | --- |
| A | 235 MPa |  |
| B | 355 MPa | a \\| b |"""
LIST = """\
Coating

The sample must be

- dry;
- free of oil, i.e. degreased.

It is then dipped. After 5 min. it is dried."""


def lines(text: str) -> list[str]:
    return [shown(piece, text) for piece in pieces_of(text)]


def test_a_row_of_a_table_is_shown_with_its_header_cells():
    assert lines(TABLE) == [
        "Grade: A; Strength: 235 MPa",
        "Grade: B; Strength: 355 MPa; Remark: a | b",
    ]


def test_a_row_cites_itself_and_the_header():
    header, own = pieces_of(TABLE)[1].ranges
    assert TABLE[slice(*header)] == "| Grade | Strength | Remark |"
    assert TABLE[slice(*own)].startswith("| B |")


def test_items_of_a_list_are_pieces_without_their_marks():
    assert "dry;" in lines(LIST)
    assert "free of oil, i.e. degreased." in lines(LIST)


def test_an_item_is_shown_and_cited_alone_and_read_with_the_introduction_of_its_list():
    text = "The mesh must be:\n\n- of hexes only;\n\n- fine near walls."
    assert lines(text) == ["The mesh must be:", "of hexes only;", "fine near walls."]
    last = pieces_of(text)[-1]
    assert [text[slice(*each)] for each in last.ranges] == ["fine near walls."]
    assert read(last, text) == "The mesh must be: fine near walls."


def test_markup_is_not_shown_and_is_no_piece():
    text = (
        '<div class="note">\n\n:::caution\n\n**Note:** <b>Water</b> at 5 <7 bar is a `List<T>` of '
        "[a guide](https://x.org/a_(b)), __not__ snake_case__names.\n\n:::\n\n</div>\n\n****"
    )
    assert lines(text) == [
        "Note: Water at 5 <7 bar is a `List<T>` of a guide, not snake_case__names."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "It stands 10**6 cycles, and 2 ** 3 is 8.",
        "With x**2 and y**(n + 1) it grows.",
        "It holds if i<u and v>p there.",
    ],
)
def test_a_formula_is_no_markup(text):
    assert lines(text) == [text]


def test_what_stands_below_a_directive_is_shown():
    text = ":::note\nClose the valve first.\n:::\n\n**Vor**sicht: it is **hot**(er)."
    assert lines(text) == ["Close the valve first.", "Vorsicht: it is hot(er)."]


def test_a_heading_is_no_piece():
    assert "Coating" not in lines(LIST)
    assert lines("Heat\n\nIt melts at 20 degrees.") == ["It melts at 20 degrees."]


def test_words_above_a_list_are_no_heading():
    assert "The sample must be" in lines(LIST)


def test_an_abbreviation_does_not_end_a_sentence():
    text = "The flow, e.g. of water, is laminar. It is slow."
    assert lines(text) == ["The flow, e.g. of water, is laminar.", "It is slow."]


def test_the_middle_of_a_sentence_is_a_fragment():
    kinds = [piece.kind for piece in pieces_of("and rises. The film grows. It then")]
    assert kinds == ["fragment", "sentence", "fragment"]


def test_edges_of_cells():
    assert cells_of("| a |  | b \\| c |") == ["a", "", "b | c"]


@given(st.text(alphabet=st.sampled_from("aB 1.:;|-\n#*(")))
def test_pieces_are_in_order_and_never_overlap(text: str):
    end = 0
    for piece in pieces_of(text):
        assert end <= piece.start < piece.end <= len(text)
        end = piece.end


@given(st.lists(st.sampled_from(["The sky is blue.", "It rains!", "Why?"]), min_size=1))
def test_every_sentence_is_a_piece(sentences: list[str]):
    assert lines(" ".join(sentences)) == sentences


def test_a_sentence_is_whole_over_the_break_of_a_page():
    start = "The plate is cut. It is welded along both of its long edges in one pass with"
    text = f"{start}\n\nan electrode of steel. It cools."

    pieces = pieces_of(text)

    assert [shown(each, text) for each in pieces] == [
        "The plate is cut.",
        "It is welded along both of its long edges in one pass with an electrode of steel.",
        "It cools.",
    ]
    assert pieces[1].kind == "sentence"
    assert [text[slice(*part)] for part in pieces[1].ranges] == [
        "It is welded along both of its long edges in one pass with",
        "an electrode of steel.",
    ]


def test_an_introduction_is_no_half_of_what_follows():
    text = "The solver is run by:\n\nicoFoam in the folder of the case. It takes a second."

    assert [shown(each, text) for each in pieces_of(text)] == [
        "The solver is run by:",
        "The solver is run by: icoFoam in the folder of the case.",
        "It takes a second.",
    ]
