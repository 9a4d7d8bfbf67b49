"""Elements: clean text, cells, and the way through JSON and Arrow."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import schemas
from rag_assets.columns.id_columns import element_ids
from rag_assets.documents.elements.element import (
    Element,
    clean,
    cleaned_cells,
    from_json,
    markdown_of,
    to_json,
)
from rag_assets.documents.elements.element_rows import to_arrow

TABLE = Element(
    type="table",
    text="| a |\n| --- |",
    page=3,
    section_path=("1 Scope", "1.1 Plates"),
    box=(1.0, 2.0, 3.0, 4.5),
    cells=(("a",), ("b",)),
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("diﬀerent ﬁelds", "different fields"),
        ("a\x00b\x0cc\x1fd", "abcd"),
        ("line\r\nline\rline", "line\nline\nline"),
        ("mate\u00adrial", "material"),
        ("a\u030angstro\u0308m", "ångström"),
        ("  \n text\t\n", "text"),
        ("broken \ud800 pair", "broken  pair"),
        ("\ufeffmark", "mark"),
    ],
)
def test_text_is_cleaned(raw, expected):
    assert clean(raw) == expected


@given(st.text())
def test_clean_text_is_stable_and_storable(text):
    once = clean(text)
    assert clean(once) == once
    assert once.encode("utf-8").decode() == once
    assert not any(ord(character) < 32 and character not in "\n\t" for character in once)


def test_cells_are_filled_up_and_on_one_line():
    cells = cleaned_cells([["Steel", None], ["S355\nJ2", " 355 ", "x"]])
    assert cells == (("Steel", "", ""), ("S355 J2", "355", "x"))


def test_a_table_in_markdown_escapes_its_bars():
    assert markdown_of((("a|b", "c"), ("1", "2"))) == "| a\\|b | c |\n| --- | --- |\n| 1 | 2 |"
    assert markdown_of(()) == ""


def test_elements_survive_the_way_through_json():
    plain = Element(type="heading", text="Ä", level=2, font_size=14.5)
    assert from_json(json.loads(json.dumps(to_json([TABLE, plain])))) == [TABLE, plain]


def test_arrow_rows_have_ids_positions_and_the_columns_of_the_schema():
    table = to_arrow({"d": [TABLE, TABLE]}, engine="p", engines=["e", "e"])
    assert table.column_names == [
        name for name in schemas.ELEMENTS.names if name not in schemas.SYSTEM_COLUMNS
    ]
    first, second = table.to_pylist()
    assert (first["index"], second["index"]) == (0, 1)
    assert second["element_id"] == element_ids(["d"], "p", counts=[2])[1].as_py()
    assert json.loads(first["cells"]) == [["a"], ["b"]]
    assert first["box"] == [1.0, 2.0, 3.0, 4.5]
    assert first["section_path"] == ["1 Scope", "1.1 Plates"]
