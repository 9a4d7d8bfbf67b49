"""Tables in plain text: every value beside the name of its column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import config as configuration
from rag_assets.documents.chunks.location import NotShownError
from rag_assets.documents.chunks.renditions import plain_text, table_of_unit
from rag_assets.documents.elements.element import cleaned_cells
from rag_assets.documents.parsers.tables import spanned_grid
from rag_assets_testing.documents.making import SENTENCE
from rag_assets_tests.documents.chunks.test_chunking import ROWS

WIDE = """<h1>Steels</h1><table>
<tr><th rowspan="2">Steel</th><th colspan="2">Strength</th></tr>
<tr><th>Yield</th><th>Tensile</th></tr>
<tr><td rowspan="2">S355</td><td>355</td><td>470</td></tr>
<tr><td>345</td><td>450</td></tr>
<tr><td>S690</td><td></td><td>770</td></tr>
</table><p>Rolled.</p>"""
IN_WORDS = """Steel: S355; Strength, Yield: 355; Strength, Tensile: 470
Steel: S355; Strength, Yield: 345; Strength, Tensile: 450
Steel: S690; Strength, Tensile: 770"""


@given(ROWS)
def test_every_cell_of_the_body_stands_beside_its_column(rows):
    cells = cleaned_cells(rows)
    lines = plain_text(cells).split("\n")
    assert len(lines) == len(cells) - 1
    for line, row in zip(lines, cells[1:], strict=True):
        assert line == "; ".join(map("{}: {}".format, cells[0], row))


def test_titles_and_headings_inside_a_table_are_lines_of_their_own():
    cells, spans = spanned_grid(
        [
            (0, 0, 1, 3, "Steels"),
            *((1, place, 1, 1, text) for place, text in enumerate(("Steel", "Yield", ""))),
            (2, 0, 1, 3, "Rolled"),
            *((3, place, 1, 1, text) for place, text in enumerate(("S355", "355", "MPa"))),
        ]
    )
    text = plain_text(cleaned_cells(cells), spans=spans)
    assert text == "Steels\nRolled\nSteel: S355; Yield: 355; MPa"


@given(st.lists(st.lists(st.sampled_from(["", "a", "b c"]), max_size=3), max_size=3))
def test_no_cell_is_lost(rows):
    cells = cleaned_cells(rows)
    text = plain_text(cells)
    assert all(cell in text for row in cells for cell in row)


@pytest.mark.usefixtures("in_process")
def test_a_table_that_was_found_is_written_out(project, capsys, monkeypatch, tmp_path):
    project.write("steels.html", f"<html><body>{WIDE}</body></html>")
    project.write("note.md", SENTENCE)
    project.list_files()
    project.parse()
    project.chunk()
    settings = project.config.model_dump(mode="json") | {
        "variants": {"only": {"parser": "plain", "chunking": "fixed_256"}}
    }
    config = configuration.Config.from_record(settings)
    units = {
        unit["type"]: unit["chunk_id"] for unit in project.chunks() if unit["uri"] != "note.md"
    }
    [note] = [unit["chunk_id"] for unit in project.chunks() if unit["uri"] == "note.md"]

    table = table_of_unit(project.store, config, variant="only", unit_id=units["table"])
    assert table.text == IN_WORDS
    assert (0, 1, 1, 2) in table.spans
    assert "| S355 | 355 | 470 |" in table.markdown
    with pytest.raises(NotShownError, match="is no table"):
        table_of_unit(project.store, config, variant="only", unit_id=note)
    with pytest.raises(NotShownError, match="variant only has no chunk unknown"):
        table_of_unit(project.store, config, variant="only", unit_id="unknown")
