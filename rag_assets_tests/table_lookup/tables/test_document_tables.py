"""Tables of documents are read as those of files are: what is no record is left out and told."""

from rag_assets.table_lookup.tables.document_tables import grid_of

RULE = "| --- | --- | --- |"


def test_titles_units_totals_and_notes_of_a_table_are_no_records():
    grid = grid_of(
        f"| Sales of May |  |  |\n{RULE}\n| part | mass | hall |\n|  | [kg] |  |\n"
        "| bolt | 1,5 | N |\n| nut | -- | S |\n| Total | 1,5 |  |\n| 1) as ordered |  |  |"
    )
    assert grid is not None
    assert grid.header == ["part", "mass [kg]", "hall"]
    assert grid.rows == [["bolt", "1,5", "N"], ["nut", "", "S"]]
    assert "line 1 (title: Sales of May)" in grid.told
    assert "(total: Total | 1,5)" in grid.told


def test_headings_over_two_lines_name_each_column():
    grid = grid_of(
        f"| part | load |  |\n{RULE}\n|  | min | max |\n| bolt | 1 | 2 |\n| nut | 3 | 4 |"
    )
    assert grid is not None
    assert grid.header == ["part", "load min", "load max"]


def test_a_table_of_records_alone_is_as_it_was():
    grid = grid_of(f"| part | mass | hall |\n{RULE}\n| bolt | 1 | N |\n| Total | 7 | S |")
    assert grid is not None
    assert grid.rows == [["bolt", "1", "N"], ["Total", "7", "S"]]
