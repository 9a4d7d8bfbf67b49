"""What counts as a table, and cells from words alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.documents.parsers.tables import Word, grid_of, spanned_grid, table_of


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
