"""What counts as a table, and cells from words alone."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.documents.parsers.tables import (
    Word,
    grid_of,
    made_whole,
    spanned_grid,
    table_of,
)


@pytest.mark.parametrize(
    ("cells", "kind", "problem"),
    [
        ([["Abstract"], ["We test plates."]], "text", "2 x 1 cells"),
        ([["a", "b"]], "text", "1 x 2 cells"),
        ([], "text", "0 x 0 cells"),
        ([["a", "", ""], ["", "", ""], ["", "", ""]], "text", "1 of 9 cells are filled"),
        ([["a", ""], ["b", ""], ["c", ""], ["d", "e"]], "table", "1 of 4 fill two cells"),
        ([["a", "b"], ["1", ""], ["2", "3"]], "table", None),
    ],
)
def test_a_table_that_is_none_says_why_and_keeps_its_words(cells, kind, problem):
    element = table_of(cells, page=3)
    assert (element.type, element.page) == (kind, 3)
    assert problem in element.problem if problem else element.problem is None
    assert (element.cells is None) == (kind == "text")
    for cell in (cell for row in cells for cell in row):
        assert cell in element.text


def test_a_wide_heading_does_not_make_a_table_doubtful():
    cells = [["Steels", ""], ["S355", "355"]]
    assert table_of(cells, spans=[(0, 0, 1, 2)]).problem is None


def test_the_places_that_merged_cells_cover_are_filled():
    tall = [["Steel", "S355"], ["", "S690"], ["", "S960"], ["", "S1100"]]
    assert "1 of 4" in table_of(tall).problem
    assert table_of(tall, spans=[(0, 0, 4, 1)]).problem is None
    form = [["Region", *[""] * 5, "North", *[""] * 5], ["Stage", *[""] * 5, "Final", *[""] * 5]]
    wide = [(row, column, 1, 6) for row in range(2) for column in (0, 6)]
    assert table_of(form).type == "text"
    assert table_of(form, spans=wide).problem is None


def test_prose_that_runs_over_columns_is_no_table():
    rows = [["We test plates", "", "", "", ""], ["and bend them", "", "", "", ""]]
    assert table_of(rows, spans=[(0, 0, 1, 5), (1, 0, 1, 5)]).type == "text"


def test_the_text_of_a_wide_cell_stands_once():
    grid, spans = spanned_grid([(0, 0, 1, 2, "wide"), (1, 0, 1, 1, "a"), (1, 1, 1, 1, "b")])
    assert grid == [["wide", ""], ["a", "b"]]
    assert spans == [(0, 0, 1, 2)]


def words(rows, *, columns, pitch=20.0):
    """Words of 5 points a letter at the given left edges."""
    return [
        Word(text, (x, pitch * down, x + 5 * len(text), pitch * down + 10))
        for down, row in enumerate(rows)
        for x, text in zip(columns, row, strict=True)
        if text
    ]


def test_white_space_parts_columns_and_a_crossing_header_is_wide():
    rows = [["Steel", "Yield", "A5"], *([f"S{n}", f"{n}", "22"] for n in range(300, 309))]
    found = words(rows, columns=(0, 100, 200))
    header = Word("Properties at room temperature", (40, -20, 190, -10))
    grid, spans = grid_of([*found, header])
    assert grid[0] == ["Properties at room temperature", "", ""]
    assert spans == [(0, 0, 1, 2)]
    assert grid[1:] == rows


def test_no_words_are_no_cells():
    assert grid_of([]) == ([], [])


letters = st.text("abcdefgh", min_size=1, max_size=8)


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.tuples(*[letters] * n), min_size=2)))
def test_a_grid_of_words_is_found_again(rows):
    columns = [100.0 * place for place in range(len(rows[0]))]
    grid, spans = grid_of(words(rows, columns=columns))
    assert [tuple(row) for row in grid] == rows
    assert spans == []


BOXES = [
    [(100 * column, 20 * row, 100 * column + 100, 20 * row + 20) for column in range(3)]
    for row in range(3)
]
"""Three rows of three cells, 100 points wide and 20 high."""


def words_at(*placed):
    return [Word(text, (x0, y0, x1, y0 + 10)) for text, x0, y0, x1 in placed]


def test_words_over_a_line_with_nothing_beside_them_are_a_wide_cell():
    words = words_at(
        ("Mechanical", 60, 5, 97),
        ("strength", 98, 5, 150),
        ("Steel", 5, 25, 40),
        ("Yield", 105, 25, 140),
    )
    texts = [["Mechanical s", "trength", ""], ["Steel", "Yield", None], ["", "", ""]]
    assert made_whole(texts, BOXES, words) == (
        [["Mechanical strength", "", ""], ["Steel", "Yield", ""], ["", "", ""]],
        [(0, 0, 1, 2)],
    )


def test_a_word_that_hangs_over_into_a_filled_cell_stays_where_most_of_it_is():
    words = words_at(("inhomogeneous", 5, 5, 110), ("Fuel", 130, 5, 160), ("x", 205, 5, 210))
    texts = [["inhomogeneo", "us Fuel", "x"], *[["", "", ""]] * 2]
    cells, spans = made_whole(texts, BOXES, words)
    assert cells[0] == ["inhomogeneous", "Fuel", "x"]
    assert spans == []


def test_lines_of_one_wide_cell_are_read_one_after_the_other():
    words = words_at(
        ("A", 105, 1, 115), ("heading", 116, 1, 230), ("of", 150, 9, 160), ("two", 161, 9, 240)
    )
    texts = [["", "A head", "ing"], *[["", "", ""]] * 2]
    words = [replace(word, box=(*word.box[:3], word.box[1] + 8)) for word in words]
    cells, spans = made_whole(texts, BOXES, words)
    assert cells[0] == ["", "A heading of two", ""]
    assert spans == [(0, 1, 1, 2)]


def test_a_grid_that_cuts_no_word_is_left_alone():
    words = words_at(("Steel", 5, 5, 101), ("Yield", 105, 5, 140))
    texts = [["Steel", "Yield", None], ["a\nb", "", ""], ["", "", ""]]
    assert made_whole(texts, BOXES, words) == ([["Steel", "Yield", ""], *texts[1:]], [])
    assert made_whole([], [], words) == ([], [])
