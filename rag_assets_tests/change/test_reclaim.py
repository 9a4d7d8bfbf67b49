"""Tables that nothing names any more go in time, and no other does."""

import shutil
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from rag_assets import config as configuration
from rag_assets.change import reclaim, sync
from rag_assets.change.reclaim import bytes_to_free, clean_up_tables
from rag_assets.config import Config
from rag_assets.config.addresses import VariantTables
from rag_assets.graph import STEPS
from rag_assets.store import clean_up, exports, serving_pointer
from rag_assets.store.catalog import is_of_recipe
from rag_assets.store.damage import DamagedTablesError
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import comparing, project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project
from rag_assets_testing.faults.reading import found, opened

DAY = 86_400.0


@built_once
def embedded(home: Path) -> Project:
    """A small project with a ledger of what was embedded."""
    made = project.make(home, documents=3, rows=6)
    with hashing(made.home / "ledger"):
        refresh(made.config)
    return made


@pytest.fixture
def made(tmp_path):
    made = embedded(tmp_path)
    with hashing(made.home / "ledger"):
        yield made


@built_once
def edited(home: Path) -> Project:
    """As `embedded`, then another chunking: nothing names the tables of the first any more."""
    made = embedded(home)
    reconfigure(made, "chunking: small", "chunking: tiny")
    with hashing(made.home / "ledger"):
        refresh(made.config)
    return made


@pytest.fixture
def retuned(tmp_path):
    made = edited(tmp_path)
    with hashing(made.home / "ledger"):
        yield made


@pytest.fixture
def clock(monkeypatch):
    """Days that have gone by."""
    now = [1_000 * DAY]
    monkeypatch.setattr(reclaim.time, "time", lambda: now[0])
    return now


def reconfigure(made: Project, old: str, new: str) -> None:
    made.file.write_text(made.file.read_text().replace(old, new))


def forget_what_serves(made: Project) -> None:
    """As where nothing serves yet: what serves is spared as well."""
    shutil.rmtree(made.store.root / serving_pointer.FOLDER, ignore_errors=True)


def cleaned(made: Project, *, keep_days: float = 7) -> list[str]:
    forget_what_serves(made)
    lines: list[str] = []
    done = clean_up_tables(made.store, made.config, STEPS, keep_days=keep_days, log=lines.append)
    assert bool(done.removed) == any("removed, nothing uses it" in line for line in lines)
    return list(done.removed)


def test_tables_of_an_edited_recipe_are_stock_for_a_week(retuned, clock):
    made, kept = retuned, set(comparing.tables_of(retuned.config))
    unnamed = set(made.store.names()) - kept

    assert cleaned(made) == []
    clock[0] += 6.9 * DAY
    assert cleaned(made) == []
    ledger = (made.home / "ledger").read_text()
    reconfigure(made, "chunking: tiny", "chunking: small")
    refresh(made.config)
    assert (made.home / "ledger").read_text() == ledger, "vectors were taken from the stock"

    reconfigure(made, "chunking: small", "chunking: tiny")
    refresh(made.config)
    assert cleaned(made) == []
    clock[0] += 7.1 * DAY
    gone = {name for name in unnamed if is_of_recipe(name)}
    assert cleaned(made) == sorted(gone)
    assert gone.isdisjoint(made.store.names())
    assert not any((made.store.root / "completed" / f"{name}.json").exists() for name in gone)
    assert found(opened(made.config))


def test_what_answers_stays_though_its_recipe_was_edited(made, clock):
    before = found(opened(made.config))
    reconfigure(made, "size: 48", "size: 30")
    for _ in range(2):
        assert cleaned(made) == []
        clock[0] += 100 * DAY
    assert found(opened(made.config)) == before


def test_a_removed_variant_and_its_set_go(made, clock):
    refresh(made.config, variant="other")
    chunks = made.config.tables_of("other").chunks
    reconfigure(made, "  other: {parser: pdfium, chunking: tiny, serializer: json}\n", "")
    assert cleaned(made) == []
    clock[0] += 8 * DAY

    assert chunks in cleaned(made)

    assert [file.stem for file in (made.store.root / "complete_sets").iterdir()] == ["default"]
    assert found(opened(made.config))


def test_a_retired_generation_goes_once_no_set_pins_it(made, clock):
    before = found(opened(made.config))
    name = made.config.tables_of("default").documents
    made.store.retire(name)
    clock[0] += 100 * DAY
    assert cleaned(made) == [], "it answers"
    assert found(opened(made.config)) == before

    refresh(made.config)
    assert (made.home / "ledger").read_text().count("\n") == len(
        set((made.home / "ledger").read_text().split())
    )
    assert cleaned(made) == []
    clock[0] += 8 * DAY
    assert cleaned(made) == [name]
    assert found(opened(made.config)) == before


def former_tables(made: Project) -> VariantTables:
    """The tables of `default` before it got another chunking."""
    text = made.file.read_text()
    reconfigure(made, "chunking: tiny", "chunking: small")
    tables = made.config.tables_of("default")
    made.file.write_text(text)
    return tables


def test_a_tag_keeps_a_table(retuned, clock):
    made, chunks = retuned, former_tables(retuned).chunks
    made.store.open(chunks).tags.create("before-the-audit", made.store.version(chunks))
    cleaned(made)
    clock[0] += 8 * DAY
    assert chunks not in cleaned(made)
    assert made.store.exists(chunks)


def test_a_damaged_table_stops_the_removal_of_no_other_and_is_named(retuned, clock):
    made, tables = retuned, former_tables(retuned)
    cleaned(made)
    clock[0] += 8 * DAY
    for path in (made.store.root / "lance" / f"{tables.chunks}.lance" / "data").iterdir():
        path.write_bytes(b"")

    with pytest.raises(DamagedTablesError, match=tables.chunks):
        cleaned(made)

    assert not made.store.exists(tables.chunks)
    assert not made.store.exists(tables.joint)
    assert cleaned(made) == []


def test_a_damaged_record_only_begins_the_time_again(retuned, clock):
    cleaned(retuned)
    for content in ("", "[1]", '{"a": "b"}'):
        clock[0] += 8 * DAY
        (retuned.store.root / reclaim.UNNAMED).write_text(content)
        assert cleaned(retuned) == []
    clock[0] += 8 * DAY
    assert cleaned(retuned)


def test_versions_go_once_the_set_has_moved_on(made, monkeypatch):
    monkeypatch.setattr("rag_assets.store.clean_up.RUNNING", timedelta(0))
    made.write("series0/report0.md", project.report(0, edition=7))
    refresh(made.config)
    forget_what_serves(made)
    clean_up_tables(made.store, made.config, STEPS, keep_days=0, log=print)
    clean_up_tables(made.store, made.config, STEPS, keep_days=0, log=print)
    joint = made.config.tables_of("default").joint
    assert len(made.store.versions(joint)) == 1
    assert found(opened(made.config))


def second_config(made: Project, *, variant: str) -> Config:
    """Another config on the same sources and state, with one variant of its own."""
    file = made.home / "second.yaml"
    head = made.file.read_text().partition("variants:")[0]
    file.write_text(f"{head}variants:\n  second: {variant}\n")
    return configuration.load(file)


def test_a_state_of_two_configs_loses_no_table_that_either_refreshes(made, clock):
    second = second_config(made, variant="{parser: pdfium, chunking: tiny}")
    refresh(second, variant="second")
    before = found(opened(second))

    for _ in range(3):
        assert cleaned(made) == []
        clock[0] += 5 * DAY
        refresh(second, variant="second")

    assert found(opened(second)) == before
    assert cleaned(made) == []
    clock[0] += 8 * DAY
    assert cleaned(made), "nobody has refreshed the second for a week"


def test_what_answers_another_config_keeps_its_versions(made, monkeypatch):
    monkeypatch.setattr("rag_assets.store.clean_up.RUNNING", timedelta(0))
    second = second_config(made, variant="{parser: pdfium, chunking: small, serializer: json}")
    refresh(second, variant="second")
    before = found(opened(second))
    made.write("series0/report0.md", project.report(0, edition=7))
    refresh(made.config)

    for _ in range(2):
        clean_up_tables(made.store, made.config, STEPS, keep_days=0, log=print)

    assert found(opened(second)) == before


def test_a_table_that_is_used_between_two_clean_ups_is_not_taken_for_long_unnamed(retuned, clock):
    """Found unnamed twice, it was named in between."""
    made = retuned
    cleaned(made)
    clock[0] += 6 * DAY
    reconfigure(made, "chunking: tiny", "chunking: small")
    refresh(made.config)
    clock[0] += 1 * DAY
    reconfigure(made, "chunking: small", "chunking: tiny")
    refresh(made.config)
    clock[0] += 1 * DAY
    assert cleaned(made) == []


def test_tables_of_the_release_before_addresses_go_too(made, clock):
    """A new name for each recipe is theirs; the hash in none is no reason to keep them for ever."""
    store, tables = made.store, made.config.tables_of("default")
    former = tables.chunks.rpartition("-")[0]
    store.append(former, store.read(tables.chunks), schema=store.schema(tables.chunks))
    assert cleaned(made) == []
    clock[0] += 8 * DAY
    assert cleaned(made) == [former]
    assert {"document_files", "table_rows", "images"} <= {*store.names()}


def exported_from(made: Project, source: str) -> list[str]:
    """The exported tables of a source, by their names in the store."""
    return [
        name
        for name in exports.names(made.store)
        if (exports.identity(made.store, name) or ("",))[0] == source
    ]


def test_exported_tables_of_a_source_that_was_renamed_go_after_a_week(made, clock):
    held = exported_from(made, "lists")
    assert held
    sync.record(
        made.store,
        target="/".join(["exports", *exports.identity(made.store, held[0])]),
        failures=[sync.Failure("1", "is broken", "a row")],
    )
    reconfigure(made, "name: lists", "name: lists-2")
    refresh(made.config)
    assert cleaned(made) == []
    clock[0] += 8 * DAY
    assert bytes_to_free(made.store, made.config, STEPS, keep_days=7) > 0

    assert cleaned(made) == held

    assert exported_from(made, "lists") == []
    assert exported_from(made, "lists-2")
    assert exported_from(made, "laboratory")
    assert not any(name.startswith("exports/") for name in sync.quarantined_targets(made.store))
    assert found(opened(made.config))


def test_exported_tables_of_a_source_that_comes_back_stay(made, clock):
    held = exports.names(made.store)
    reconfigure(made, "name: lists", "name: lists-2")
    assert cleaned(made) == []
    clock[0] += 8 * DAY
    reconfigure(made, "name: lists-2", "name: lists")
    refresh(made.config)

    assert cleaned(made) == []
    assert exports.names(made.store) == held


def test_what_a_clean_up_would_free_is_told_before(made):
    made.write("series0/report0.md", project.report(0, edition=7))
    refresh(made.config)
    with (
        patch.object(clean_up, "RUNNING", timedelta(0)),
        patch.object(reclaim, "RUNNING", timedelta(0)),
    ):
        told = bytes_to_free(made.store, made.config, STEPS, keep_days=0)
        versions = {name: made.store.versions(name) for name in made.store.names()}
        assert told > 0
        done = clean_up_tables(made.store, made.config, STEPS, keep_days=0, log=print)
        assert done.bytes_freed >= told
        assert any(made.store.versions(name) != before for name, before in versions.items())
