"""Readers open sets that are complete, whatever is being written, edited or killed."""

import shutil
from contextlib import suppress
from datetime import timedelta

import pytest

from rag_assets import schemas
from rag_assets.change.reclaim import clean_up_tables
from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.index import joint
from rag_assets.retrieval.opening import OutdatedIndexError
from rag_assets.store import MissingIndexError, Store, complete_sets
from rag_assets.store.complete_sets import set_of_recipe
from rag_assets_testing.faults import comparing, pipeline, project
from rag_assets_testing.faults.built import small, two_variants
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project
from rag_assets_testing.faults.reading import found, mixed, opened, texts

OTHER_EDITS = pytest.mark.nightly(guards=["rag_assets/change", "rag_assets/store"])


@pytest.fixture
def made(tmp_path):
    """A project whose variant was built by a stand-in for a model."""
    with hashing():
        yield small(tmp_path)


def edit(made: Project) -> None:
    made.write("series0/report0.md", project.report(0, edition=7))
    made.execute("UPDATE tests SET name = 'renamed ' || id WHERE id < 3")


def reconfigure(made: Project, old: str, new: str) -> Config:
    made.file.write_text(made.file.read_text().replace(old, new))
    return made.config


def killed_before(made: Project, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A refresh that is killed when it comes to `step` of the index."""

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*step, killed)
        with pytest.raises(KeyboardInterrupt):
            refresh(made.config)


BUILDING = (
    (pipeline.embedding, "refresh_rows"),
    (pipeline.joint, "refresh_joint"),
    (pipeline.completing, "record_all"),
)


def test_a_reader_after_killed_refreshes_gets_what_was_complete(made, monkeypatch):
    before = found(opened(made.config))
    edit(made)
    for step in BUILDING:
        killed_before(made, monkeypatch, step)
        reader = opened(made.config)
        assert found(reader) == before
        assert mixed(made.config, reader) == []

    refresh(made.config)
    after = opened(made.config)
    assert found(after) != before
    assert mixed(made.config, after) == []


def test_what_serves_pins_what_its_units_come_from_anew_once_that_was_lost(made):
    store = Store.of(made.config)
    for name in (schemas.DOCUMENT_FILES_TABLE, schemas.TABLE_ROWS_TABLE):
        store.drop(name)
        refresh(made.config)
        kept = complete_sets.set_of(store, made.config, "default")
        assert kept.manifest is not None
        assert kept.table_rows is not None
        assert complete_sets.is_kept(store, kept), name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("size: 48", "size: 30"),
        pytest.param("chunking: small", "chunking: tiny", marks=OTHER_EDITS),
        pytest.param("chunking: small}", "chunking: small, serializer: yaml}", marks=OTHER_EDITS),
    ],
)
def test_an_edit_of_what_serves_is_no_outage(made, monkeypatch, old, new):
    before = texts(made.config, opened(made.config))
    config = reconfigure(made, old, new)

    assert texts(config, opened(config)) == before
    with pytest.raises(MissingIndexError, match="with its current settings"):
        set_of_recipe(made.store, config, "default")  # nobody measures what another recipe made
    for step in BUILDING:
        killed_before(made, monkeypatch, step)
        reader = opened(config)
        assert texts(config, reader) == before
        assert mixed(config, reader) == []

    refresh(config)
    fresh = made.config_with(made.home / "fresh")
    refresh(fresh)
    assert texts(config, opened(config)) == texts(fresh, opened(fresh)) != before


def test_a_recipe_under_another_name_keeps_its_tables_ids_and_set(made, tmp_path):
    ids = made.store.read(made.config.tables_of("default").joint)["unit_id"].to_pylist()
    config = reconfigure(made, "small", "medium")

    assert opened(config).complete_set.recorded_at
    reports = refresh(config)

    assert not any(report.touched for report in reports)
    after = made.store.read(config.tables_of("default").joint)["unit_id"].to_pylist()
    assert sorted(after) == sorted(ids)
    assert "chunks__pdfium__small" in " ".join(made.store.names())
    assert "medium" not in " ".join(made.store.names())


def test_a_variant_under_another_name_is_answered_by_the_set_of_its_recipe(made):
    before = found(opened(made.config))
    text = made.file.read_text().replace("  default:", "  renamed:")
    made.file.write_text(f"{text}serving: {{variant: renamed}}\n")
    assert found(opened(made.config)) == before


def test_sets_of_variants_that_share_tables_stay_apart(tmp_path):
    made = two_variants(tmp_path)
    before = texts(made.config, opened(made.config))
    edit(made)
    with hashing():
        refresh(made.config, variant="other")

    reader = opened(made.config)
    assert texts(made.config, reader) == before
    assert mixed(made.config, reader) == []


def test_an_open_reader_keeps_answering_from_a_table_that_is_begun_anew(made, monkeypatch):
    reader = opened(made.config)
    before = found(reader)
    name = made.config.tables_of("default").documents
    held = made.store.generation(name)
    edit(made)
    wider = schemas.units(32).append(schemas.FINGERPRINT.with_name("another_required"))
    with monkeypatch.context() as patch:
        patch.setattr(joint.schemas, "units", lambda _, **_options: wider)
        with pytest.raises(Exception, match="another_required"):
            refresh(made.config)
    assert made.store.generation(name) != held

    assert found(reader) == before
    assert found(opened(made.config)) == before
    refresh(made.config)
    assert found(reader) == before
    assert found(opened(made.config)) != before
    fresh = made.config_with(made.home / "fresh")
    refresh(fresh)
    tables = comparing.tables_of(made.config)
    assert comparing.contents(made.store, tables=tables) == comparing.contents(
        made.home / "fresh", tables=tables
    )


def test_a_reader_whose_table_was_built_anew_is_told(made):
    """A version number alone would name other rows, and find them."""
    warm, cold = opened(made.config), opened(made.config)
    before = found(warm)
    folder = made.store.root / "lance" / f"{made.config.tables_of('default').joint}.lance"
    shutil.rmtree(folder)
    edit(made)
    refresh(made.config)

    assert made.store.version(cold.complete_set.joint.table) >= cold.complete_set.joint.version
    with pytest.raises(OutdatedIndexError, match="open it again"):
        found(cold)
    with suppress(OutdatedIndexError):
        assert found(warm) == before
    assert found(opened(made.config)) not in ([], before)


def test_a_clean_up_leaves_what_answers(made, monkeypatch):
    monkeypatch.setattr("rag_assets.store.clean_up.RUNNING", timedelta(0))
    monkeypatch.setattr("rag_assets.change.reclaim.RUNNING", timedelta(0))
    before = found(opened(made.config))
    edit(made)
    killed_before(made, monkeypatch, BUILDING[1])

    clean_up_tables(made.store, made.config, STEPS, keep_days=0, log=print)

    reader = opened(made.config)
    assert found(reader) == before
    assert mixed(made.config, reader) == []


def test_a_variant_that_was_never_built_is_named(made):
    with pytest.raises(MissingIndexError, match=r"of variant other .* backfill other`"):
        complete_sets.set_of(made.store, made.config, "other")


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff\x00", b"{}"])
def test_a_damaged_record_costs_no_answer_for_longer_than_a_refresh(made, content):
    before = found(opened(made.config))
    (file,) = (made.store.root / complete_sets.FOLDER).glob("*.json")
    file.write_bytes(content)
    with pytest.raises(MissingIndexError, match=r"no complete index of variant default"):
        opened(made.config)
    assert not any(report.touched for report in refresh(made.config))
    assert found(opened(made.config)) == before


def test_a_damaged_record_of_search_indexes_stops_no_clean_up(made):
    """The next refresh makes the record anew."""
    before = found(opened(made.config))
    for file in (made.store.root / "indexes").glob("*.json"):
        file.write_bytes(b"\xff\x00")
    clean_up_tables(made.store, made.config, STEPS, keep_days=0, log=print)
    refresh(made.config)
    assert found(opened(made.config)) == before
