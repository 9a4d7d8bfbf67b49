import hashlib
import json
import shutil
from pathlib import Path

import pytest

from rag_assets.columns.sql import quoted
from rag_assets.documents.chunks import chunk
from rag_assets.documents.elements import parse
from rag_assets.identity import UnknownIdError
from rag_assets.operations.explain.explaining import UnitLineage, explain, rows_of
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.store.complete_sets import set_of
from rag_assets.store.serving_pointer import current
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import clean_up_at_once, refresh
from rag_assets_testing.faults.project import Project

STANDARD = (
    Path(__file__).parents[3]
    / "data/documents/standards/NHS-3101-5_corrosion_protection_cab_sheet_2024.pdf"
)
WAY_OF_A_CHUNK = [
    *("document_files", "parsed_documents", "chunks"),
    *("chunk_vectors", "unit_links", "joint_index"),
]
WAY_OF_A_ROW = ["table_rows", "serialized_rows", "row_vectors", "unit_links", "joint_index"]
NOTE = "# Note\n\nA specimen of brass bore 300 MPa.\n"


def build(made: Project, *variants: str) -> None:
    with hashing(None):
        for variant in variants or ("default",):
            refresh(made.config, variant=variant)


@built_once
def pictured(home: Path) -> Project:
    """A built project with a real PDF, a note and tables."""
    found = project.make(home, documents=2, rows=4)
    shutil.copy(STANDARD, found.documents / "standard.pdf")
    found.write("note.md", NOTE)
    project.age(found.documents / "standard.pdf")
    build(found)
    return found


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return pictured(tmp_path)


def units(made: Project, where: str, *, variant: str = "default") -> list[str]:
    joint = set_of(made.store, made.config, variant).joint
    found = made.store.read(joint.table, columns=["unit_id"], where=where, version=joint.version)
    return sorted(found["unit_id"].to_pylist())


def explained(made: Project, unit: str, *, variant: str = "default") -> UnitLineage:
    return explain(made.store, made.config, unit_id=unit, variant=variant)


def step(found: UnitLineage, asset: str):
    return next(step for step in found.steps if step.asset == asset)


def test_a_chunk_of_a_pdf_is_led_back_to_its_file(made):
    unit = units(made, "uri = 'standard.pdf'")[0]
    found = explained(made, unit)
    assert [one.asset for one in found.steps] == WAY_OF_A_CHUNK
    file, elements, cut = found.steps[:3]
    content = (made.documents / "standard.pdf").read_bytes()
    assert file.facts["sha256"] == hashlib.sha256(content).hexdigest()
    assert file.facts["root"] == str(made.documents)
    assert elements.facts["parser"] == "pdfium"
    assert str(elements.facts["version"]).startswith("pdfium r")
    assert elements.facts["pages"] == cut.facts["pages"]
    assert cut.facts["chunking"] == "small"
    assert made.store.read(
        elements.table, where=f"element_id = {quoted(elements.facts['elements'][0])}"
    ).num_rows
    pins = set_of(made.store, made.config, "default")
    assert step(found, "joint_index").version == pins.joint.version
    assert step(found, "chunk_vectors").version == pins.documents.version
    assert all(one.made is not None and one.made.is_exact for one in found.steps)


def test_a_row_is_led_back_to_its_table(made):
    unit = units(made, "domain = 'table'")[0]
    found = explained(made, unit)
    assert [one.asset for one in found.steps] == WAY_OF_A_ROW
    assert found.steps[0].facts["columns"]
    assert found.steps[1].facts["serializer"] == "full_semantic"
    assert f"row {found.steps[0].facts['row_key']}" in found.place


def test_the_beginning_of_an_id_is_enough_if_no_other_begins_so(made):
    [unit] = units(made, "uri = 'note.md'")
    assert explained(made, unit[:8]).unit_id == unit
    with pytest.raises(UnknownIdError, match="too short"):
        explained(made, unit[:3])


def test_an_unknown_id_says_where_to_look(made):
    with pytest.raises(UnknownIdError, match=r"no unit of variant default .*rag-assets search"):
        explained(made, "00000000-0000-5000-8000-000000000000")


def test_the_unit_of_another_variant_names_that_variant(made):
    build(made, "other")
    theirs = set(units(made, "domain = 'document'", variant="other"))
    unit = sorted(theirs - set(units(made, "domain = 'document'")))[0]
    with pytest.raises(UnknownIdError, match="variant other has one: name it with --variant"):
        explained(made, unit)
    assert explained(made, unit, variant="other").variant == "other"


def test_variants_that_share_tables_share_the_way(made):
    build(made, "other")
    ours = explained(made, units(made, "uri = 'note.md'")[0])
    theirs = explained(made, units(made, "uri = 'note.md'", variant="other")[0], variant="other")
    assert ours.steps[0] == theirs.steps[0]
    assert step(ours, "parsed_documents").table == step(theirs, "parsed_documents").table
    assert step(ours, "parsed_documents").made == step(theirs, "parsed_documents").made
    assert step(ours, "chunks").table != step(theirs, "chunks").table


def test_an_edit_makes_its_own_units_and_leaves_the_others(made):
    [old] = units(made, "uri = 'note.md'")
    other = units(made, "uri = 'standard.pdf'")[0]
    before = step(explained(made, other), "joint_index").made
    made.write("note.md", NOTE.replace("300", "310"))
    build(made)
    [new] = units(made, "uri = 'note.md'")
    assert step(explained(made, other), "joint_index").made == before
    fresh = step(explained(made, new), "joint_index").made
    assert fresh is not None
    assert before is not None
    assert (fresh.version or 0) > (before.version or 0)
    with pytest.raises(UnknownIdError, match=r"gone since version \d+ .*note\.md.*300 MPa"):
        explained(made, old)


def test_a_rename_is_another_unit_of_the_same_text(made):
    [old] = units(made, "uri = 'note.md'")
    text = explained(made, old).text
    (made.documents / "note.md").rename(made.documents / "memo.md")
    build(made)
    [new] = units(made, "uri = 'memo.md'")
    assert explained(made, new).text == text
    assert explained(made, new).steps[0].facts["uri"] == "memo.md"
    for start in (old, old[:10]):
        with pytest.raises(UnknownIdError, match=rf"unit {old} is gone .*it was in note\.md"):
            explained(made, start)


def test_after_a_run_that_was_killed_the_index_is_explained_as_it_answers(made):
    [unit] = units(made, "uri = 'note.md'")
    made.write("note.md", NOTE.replace("300", "310"))
    with hashing(None):  # the steps up to the chunks were done, then the run was killed
        store, config = made.store, made.config
        refresh_document_files(
            store, config.sources.documents, allow_shrink=False, log=lambda _: None
        )
        parse.refresh_elements(store, config, parser="pdfium", log=lambda _: None)
        chunk.refresh_chunks(store, config, parser="pdfium", chunking="small", log=lambda _: None)
    found = explained(made, unit)
    assert step(found, "chunks").made is None
    assert step(found, "joint_index").made is not None
    assert any("since the index was built" in row["made"] for row in rows_of(found))


def test_what_serves_is_explained_at_its_pins(made):
    assert current(made.store) is not None
    [unit] = units(made, "uri = 'note.md'")
    made.write("note.md", NOTE.replace("300", "310"))
    with hashing(None):
        store, config = made.store, made.config
        refresh_document_files(
            store, config.sources.documents, allow_shrink=False, log=lambda _: None
        )
        parse.refresh_elements(store, config, parser="pdfium", log=lambda _: None)
        chunk.refresh_chunks(store, config, parser="pdfium", chunking="small", log=lambda _: None)
    found = explain(made.store, made.config, unit_id=unit)
    assert step(found, "chunks").made is not None
    assert step(found, "parsed_documents").facts["elements"]


def test_after_a_clean_up_the_time_is_left(made):
    [unit] = units(made, "uri = 'note.md'")
    clean_up_at_once(made.config)
    for one in explained(made, unit).steps:
        assert one.made is not None
        assert one.made.at is not None


def test_of_a_recipe_that_was_edited_the_table_still_tells_the_names(made):
    [unit] = units(made, "uri = 'note.md'")
    made.file.write_text(made.file.read_text().replace("size: 48", "size: 64"))
    found = explained(made, unit)
    assert step(found, "chunks").facts["chunking"] == "small"
    assert step(found, "chunks").facts["settings"] is None


def test_the_record_is_json(made):

    found = explained(made, units(made, "domain = 'table'")[0])
    again = json.loads(json.dumps(found.record()))
    assert again["steps"][0]["made"]["at"] == found.steps[0].made.at
