"""Files of tables that were cut, emptied, lost or overwritten: named, wherever they are met."""

import json

import pytest

from rag_assets import config as configuration
from rag_assets.retrieval.opening import open_index
from rag_assets.serving import cli
from rag_assets.store import MissingIndexError, Store
from rag_assets.store.damage import DamagedTablesError
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import comparing, damaging, project
from rag_assets_testing.faults.built import small
from rag_assets_testing.faults.damaging import DAMAGES, SIZES_CHANGE
from rag_assets_testing.faults.hashing import HashEncoder, hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project
from rag_assets_testing.faults.reading import QUERY, RETRIEVERS


@built_once
def edited(home) -> Project:
    """A project with an index that has seen an edit, so that rows are deleted in it."""
    made = small(home)
    made.write("series0/report0.md", project.report(0, edition=7))
    with hashing():
        refresh(made.config)
    return made


@pytest.fixture
def made(tmp_path, monkeypatch):
    made = edited(tmp_path)
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    with hashing():
        yield made


def damaged(made: Project, table: str, *, files: str, damage: str) -> None:
    assert damaging.damage(damaging.folder_of(made.store, table), files=files, how=damage)


def searched(made: Project) -> None:
    index = open_index(Store.of(made.config), made.config, "default", encoder=HashEncoder(None))
    for retriever in RETRIEVERS:
        index.search(QUERY, retriever=retriever)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("files", ["data/*", "_versions/*.manifest", "_deletions/*"])
def test_whoever_searches_a_damaged_table_is_told_which_it_is(made, files, damage):
    joint = made.config.tables_of("default").joint
    damaged(made, joint, files=files, damage=damage)
    if (files, damage) == ("_versions/*.manifest", "gone"):  # then there is no table
        with pytest.raises(MissingIndexError, match="run `rag-assets refresh`"):
            searched(made)
        return

    with pytest.raises(DamagedTablesError) as raised:
        searched(made)

    assert f"{joint} (" in str(raised.value)
    assert "delete the folder of each (NAME.lance, below lance/)" in str(raised.value)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_full_text_index_is_named(made, damage):
    joint = made.config.tables_of("default").joint
    damaged(made, joint, files="_indices/*/*", damage=damage)
    with pytest.raises(DamagedTablesError, match=joint):
        searched(made)


TABLES = ("elements", "chunks", "documents", "rows", "joint")


OF_THE_LIKE = pytest.mark.nightly(guards=["rag_assets/store"])


@pytest.mark.parametrize(
    ("step", "damage"),
    [
        pytest.param(
            step,
            damage,
            marks=() if damage == SIZES_CHANGE[place % len(SIZES_CHANGE)] else OF_THE_LIKE,
        )
        for place, step in enumerate(TABLES)
        for damage in SIZES_CHANGE
    ],
)
def test_refresh_and_status_name_a_table_whose_files_are_not_whole(made, capsys, step, damage):
    table = getattr(made.config.tables_of("default"), step)
    damaged(made, table, files="data/*", damage=damage)

    with pytest.raises(DamagedTablesError, match=f"{table} "):
        refresh(made.config)
    assert cli.main(["status", "--json"]) == 1
    assert list(json.loads(capsys.readouterr().out)["damaged"]) == [table]
    assert cli.main(["status"]) == 1
    assert f"{table} (data/" in capsys.readouterr().out


def test_status_looks_at_tables_that_have_no_line_of_their_own(made, capsys):
    table = made.config.tables_of("default").accounts
    damaged(made, table, files="data/*", damage="half")

    assert cli.main(["status", "--json"]) == 1
    assert list(json.loads(capsys.readouterr().out)["damaged"]) == [table]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_status_names_the_folder_of_a_table_that_was_begun_anew(made, capsys, options):
    """Whoever follows the remedy must not delete the one before, which may still answer."""
    table = made.config.tables_of("default").joint
    made.store.retire(table)
    refresh(made.config)
    folder = damaging.folder_of(made.store, table)
    assert folder.stem != table
    damaging.damage(folder, files="data/*", how="half")

    assert cli.main(["status", *options]) == 1
    assert folder.stem in capsys.readouterr().out


@pytest.mark.parametrize("step", TABLES)
def test_the_remedy_helps(made, step):
    """The folder that is named is deleted, and a refresh ends like a fresh build."""
    tables = comparing.tables_of(made.config)
    before = comparing.contents(made.store, tables=tables)
    table = getattr(made.config.tables_of("default"), step)
    damaged(made, table, files="data/*", damage="half")
    with pytest.raises(DamagedTablesError):
        refresh(made.config)

    folder = made.store.root / "lance" / f"{table}.lance"
    folder.rename(made.home / "aside")
    refresh(made.config)

    assert comparing.contents(made.store, tables=tables) == before
    searched(made)


def test_a_damaged_table_that_nobody_needs_stops_nothing(made):
    refresh(made.config, variant="other")
    stale = [made.config.tables_of("other").documents, made.config.tables_of("other").chunks]
    made.file.write_text(made.file.read_text().replace("  other:", "  another:"))
    text = made.file.read_text().replace("chunking: tiny, serializer: json", "chunking: small")
    made.file.write_text(text)
    for table in stale:
        damaged(made, table, files="data/*", damage="half")
    made.write("new.md", project.report(11))
    lines: list[str] = []

    refresh(made.config, log=lines.append)

    assert any(stale[0] in line and "is not used" in line for line in lines)
    searched(made)


@pytest.mark.parametrize("damage", [pytest.param("zeros", marks=OF_THE_LIKE), "noise"])
def test_a_table_that_rots_at_its_size_stops_no_other_variant(made, damage):
    """Only whoever reads its rows finds out, and that may be another one, for its vectors."""
    refresh(made.config, variant="other")
    rotten = made.config.tables_of("other").documents
    for file in (made.store.root / "lance" / f"{rotten}.lance" / "data").iterdir():
        DAMAGES[damage](file)
    made.write("series0/report0.md", project.report(0, edition=9))
    lines: list[str] = []

    refresh(made.config, log=lines.append)

    assert any("a damaged table is not used" in line and rotten in line for line in lines)
    fresh = made.config_with(made.home / "fresh")
    refresh(fresh)
    tables = comparing.tables_of(made.config)
    assert comparing.contents(made.store, tables=tables) == comparing.contents(
        made.home / "fresh", tables=tables
    )


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("elements", "zeros"),
        ("accounts", "half"),
        pytest.param("accounts", "zeros", marks=OF_THE_LIKE),
    ],
)
def test_damaged_elements_of_another_parser_stop_no_document(made, kind, damage):
    """What they hold may be had again, and so is not missed."""
    text = made.file.read_text().replace("parser: pdfium, chunking: tiny", "parser: pymupdf")
    made.file.write_text(text)
    made.write("new.md", project.report(11))
    refresh(made.config, variant="other")
    rotten = getattr(made.config.tables_of("other"), kind)
    damaged(made, rotten, files="data/*", damage=damage)
    lines: list[str] = []

    refresh(made.config, log=lines.append)

    assert any("a damaged table is not used" in line and rotten in line for line in lines)
    elements = made.store.read(made.config.tables_of("default").elements)
    assert any("Report 11" in text for text in elements["text"].to_pylist())


def test_a_query_that_cannot_be_answered_is_no_damage(made):
    store = made.store
    with pytest.raises(ValueError, match="Schema error"):
        store.read(made.config.tables_of("default").joint, where="no_such_column = 1")
