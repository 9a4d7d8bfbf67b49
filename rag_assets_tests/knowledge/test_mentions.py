"""The names of one unit depend on that unit alone."""

from rag_assets.knowledge.mentions import (
    MOST_OF_A_UNIT,
    RowCell,
    UnitName,
    mentions_of_chunk,
    mentions_of_row,
)
from rag_assets.store.completions import ForeignKey


def cell(column: str, value: str, *, numeric: bool = False, hidden: bool = False) -> RowCell:
    return RowCell(column, value, numeric=numeric, hidden=hidden)


def named(found: list[UnitName], kind: str, *, defines: bool) -> set[str]:
    return {one.name for one in found if one.kind == kind and one.defines == defines}


def test_a_document_is_about_its_title_and_what_stands_in_it():
    found = mentions_of_chunk(
        "Salt spray by NHS 3101 beats ISO 9227.",
        title="NHS 3101 Salt spray (draft)",
        uri="a/standards/salt_spray.md",
        is_first=True,
    )

    assert named(found, "name", defines=True) == {
        "nhs 3101 salt spray draft",
        "nhs 3101 salt spray",
        "salt spray",
    }
    assert named(found, "identifier", defines=True) == {"NHS-3101"}
    assert named(found, "identifier", defines=False) == {"ISO-9227"}


def test_a_later_chunk_mentions_and_defines_nothing():
    found = mentions_of_chunk("See NHS 3101.", title="Report", uri="r.md", is_first=False)

    assert named(found, "identifier", defines=False) == {"NHS-3101"}
    assert not any(one.defines for one in found)


def test_where_a_name_stands_in_a_text_is_kept():
    [one] = mentions_of_chunk("See NHS 3101.", title="", uri="", is_first=False)

    assert (one.text, one.place) == ("NHS 3101", "4-12")


def test_a_row_is_about_its_key_and_label_and_mentions_its_cells():
    found = mentions_of_row(
        [cell("part", "AB-1201"), cell("standard", "NHS 3101"), cell("made by", "Volvo")],
        table="db/parts",
        key="P-77",
    )

    assert named(found, "identifier", defines=True) == {"AB-1201"}
    assert named(found, "name", defines=True) == {"p 77"}
    assert {"volvo", "nhs 3101"} <= named(found, "name", defines=False)
    assert named(found, "identifier", defines=False) == {"NHS-3101"}


def test_a_row_is_about_the_formula_that_is_its_label_however_it_is_spelled():
    for label in ("CoCrFeNi", "Co1 Cr1 Fe1 Ni1"):
        found = mentions_of_row([cell("alloy", label)], table="db/alloys", key="1")

        assert named(found, "formula", defines=True) == {"Co0.25 Cr0.25 Fe0.25 Ni0.25"}


def test_a_row_is_about_what_a_column_of_entities_names():
    found = mentions_of_row(
        [cell("alloy", "Inconel 718 (N07718); CrNi", hidden=True), cell("use", "turbines")],
        table="db/alloys",
        key="1",
        entities=["alloy"],
    )

    assert named(found, "name", defines=True) == {
        "inconel 718 n07718 crni",
        "inconel 718 crni",
        "inconel 718",
        "crni",
    }
    assert {one.place for one in found if one.defines and one.kind == "name"} == {"alloy"}
    assert named(found, "name", defines=False) == {"turbines"}


def test_a_label_that_only_mentions_an_identifier_is_not_about_it():
    found = mentions_of_row([cell("what", "Bolt by ISO 4017")], table="db/parts", key="1")

    assert "ISO-4017" in named(found, "identifier", defines=False)
    assert named(found, "identifier", defines=True) == set()


def test_numbers_hidden_cells_and_long_texts_name_nothing():
    cells = [
        cell("id", "12", numeric=True),
        cell("secret", "Volvo", hidden=True),
        cell("text", "words " * 60),
    ]

    assert mentions_of_row(cells, table="db/parts", key="12") == []


def test_a_cell_of_very_many_identifiers_leaves_room_for_keys():
    of = ForeignKey(columns=["grade"], table="db/grades", others=["id"])
    cells = [cell("what", " ".join(f"AB-{1000 + n}" for n in range(10_000))), cell("grade", "2")]

    found = mentions_of_row(cells, table="db/tests", key="7", of=[of], into=[("grade",)])

    assert len(found) == MOST_OF_A_UNIT
    assert named(found, "foreign_key", defines=False) == {"db/grades|2"}
    assert named(found, "foreign_key", defines=True) == {"db/tests|2"}


def test_a_declared_foreign_key_leads_to_the_row_that_has_the_key():
    of = ForeignKey(columns=["grade"], table="db/grades", others=["id"])
    child = mentions_of_row([cell("grade", "2", numeric=True)], table="db/tests", key="7", of=[of])
    parent = mentions_of_row(
        [cell("id", "2", numeric=True, hidden=True)], table="db/grades", key="2", into=[("id",)]
    )

    assert named(child, "foreign_key", defines=False) == {"db/grades|2"}
    assert named(parent, "foreign_key", defines=True) == {"db/grades|2"}
