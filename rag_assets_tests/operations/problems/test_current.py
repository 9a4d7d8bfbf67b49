"""What a state says is wrong, and what is left out of its index."""

import json
import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

from rag_assets import quality, schemas
from rag_assets.change import sync
from rag_assets.change.sync import Failure
from rag_assets.config import Config
from rag_assets.findings.finding import Finding
from rag_assets.operations.problems.current import state_problems
from rag_assets.operations.problems.disk import disk_use
from rag_assets.operations.problems.skipped_inputs import entries_of, left_out
from rag_assets.process import user_cache
from rag_assets.serving.check_summary import check_summary
from rag_assets.sources import readability
from rag_assets.sources.readability import Look
from rag_assets.store import Store
from rag_assets_testing.faults import damaging, project
from rag_assets_testing.faults.built import small
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_tests.quality.subject import Table, subject_of

ODT = "is an OpenDocument text: save it as PDF to index it"


@pytest.fixture
def config(tmp_path):
    tables = [{"name": "erp", "url": f"sqlite:///{tmp_path}/erp.sqlite"}]
    return Config.model_validate({"state_dir": tmp_path / "state", "sources": {"tables": tables}})


@pytest.fixture
def store(config):
    return Store.of(config)


def groups(store: Store, config: Config) -> list[Finding]:
    return left_out(store, config, entries_of(store, config))


def elements_of(config: Config) -> str:
    return config.tables_of("default").elements


def manifest(store: Store, **statuses: str) -> None:
    """A manifest of files by their ids, with what is wrong with each."""
    row = {"source": "documents", "size": 1, "modified": 0, "fingerprint": "", "sha256": "0"}
    rows = [
        row | {"document_id": key, "uri": key, "status": status, "row_fingerprint": key}
        for key, status in statuses.items()
    ]
    files = pa.Table.from_pylist(rows, schema=schemas.DOCUMENT_FILES)
    store.append(schemas.DOCUMENT_FILES_TABLE, files, schema=schemas.DOCUMENT_FILES)


def test_files_that_failed_for_one_reason_are_one_group(store, config):
    names = [f"folder/{number}.odt" for number in range(16)]
    failures = [Failure(name, f"{name.rpartition('/')[2]} {ODT}", name) for name in names]
    failures += [
        Failure("a", "a.pdf: page 3: it is broken", "a.pdf"),
        Failure("b", "b.pdf: page 12: it is broken", "b.pdf"),
    ]
    manifest(store, **dict.fromkeys(names, "unsupported"), a="ok", b="ok")
    sync.record(store, target=elements_of(config), failures=failures)

    first, second = groups(store, config)

    shown = "folder/0.odt, folder/1.odt, folder/10.odt, ..."
    assert first.subject == f"16 documents: {shown}"
    assert first.reason == "ODT: an OpenDocument text"
    assert first.remedy.startswith("save it as PDF to index it; if it is to stay so: "), (
        "no parser reads it"
    )
    assert second.names == ("a.pdf", "b.pdf")
    assert "--retry-failed" in second.remedy, "a parser could not read it, and may now"
    assert groups(store, config) == [
        each for each in state_problems(store, config) if each.kind == "units_failed"
    ]


def test_a_table_whose_files_are_cut_short_is_told_with_its_folder(store, config):
    manifest(store, a="ok")
    damaging.damage(
        damaging.folder_of(store, schemas.DOCUMENT_FILES_TABLE), files="data/*", how="half"
    )
    [found] = state_problems(store, config)
    assert (found.kind, found.subject) == ("table_damaged", schemas.DOCUMENT_FILES_TABLE)
    assert f"delete the folder {found.subject}.lance" in found.remedy


def test_a_file_that_fails_on_the_way_to_two_tables_is_told_once(store, config):
    failure = Failure("a", "a.md cannot be read: give the right to read it", "a.md")
    for target in (schemas.DOCUMENT_FILES_TABLE, elements_of(config)):
        sync.record(store, target=target, failures=[failure])
    assert [each.names for each in groups(store, config)] == [("a.md",)]


def test_what_ran_into_a_limit_says_when_it_is_tried_again(store, config):
    failure = Failure("deep", "deep.html: took longer than 90 s", "deep.html", "limit")
    sync.record(store, target=elements_of(config), failures=[failure])
    [group] = groups(store, config)
    assert group.reason == "HTML: took longer than 90 s"
    assert f"tried again on {date.today() + timedelta(days=1)}, or at once" in group.remedy


def test_rows_of_a_table_are_one_group_and_are_not_worth_a_retry(store, config):
    failures = [
        Failure(f"{row}", f"two rows have the key {row}: make it unique", f"erp/parts row {row}")
        for row in range(3)
    ]
    sync.record(store, target="exports/erp/parts", failures=failures)
    [group] = groups(store, config)
    assert group.assets == ("exports/erp/parts",)
    assert group.subject.startswith("3 rows: erp/parts row 0, ")
    assert "--retry-failed" not in group.remedy


def test_a_source_that_cannot_be_read_is_one_problem_and_no_unit(store, config):
    failures = [Failure("*", "erp is down: start it", "erp/parts", "environment")]
    sync.record(store, target="exports/erp/parts", failures=failures)

    readability.note(store, "erp", whole=Look("erp is down: start it"), parts={})

    [problem] = state_problems(store, config)
    assert (problem.kind, problem.subject) == ("source_unreadable", "erp")
    assert problem.key == "source_unreadable:erp"
    assert problem.assets == ("exports/erp",)


def test_what_the_config_no_longer_names_is_no_problem(store, config):
    sync.record(
        store,
        target="exports/gone/parts",
        failures=[Failure("*", "is down", "gone/parts", "environment"), Failure("1", "x", "y")],
    )
    readability.note(store, "gone", whole=Look("is down"), parts={})
    sync.record(store, target="elements__other-0123456789ab", failures=[Failure("1", "x", "y")])
    assert state_problems(store, config) == []


def test_a_failed_check_of_a_source_that_the_config_no_longer_names_is_no_problem(store, config):
    table = Table()
    table.totals["oversized_chunks"] = 3
    for source in ("erp", "gone"):
        subject = replace(subject_of(table), asset=f"exports/{source}")
        quality.result_of(subject, store=store, log=print)

    [problem] = state_problems(store, config)
    assert problem.subject.startswith("exports/erp")
    assert [each.asset for each in check_summary(store, config).failed] == ["exports/erp"]


def test_a_check_fails_since_it_first_failed(store, config, monkeypatch):
    table = Table()
    table.totals["oversized_chunks"] = 3
    quality.result_of(subject_of(table), store=store, log=print)
    [first] = state_problems(store, config)
    assert first.kind == "check_failed"
    assert "tokens_fit" in first.subject
    assert "checks.chunks.tokens_fit" in first.remedy

    monkeypatch.setattr(quality.results, "now", lambda: "2099-01-01T00:00:00+00:00")
    monkeypatch.setattr(quality.checked_tables, "now", lambda: "2099-01-01T00:00:00+00:00")
    table.version, table.totals["oversized_chunks"] = "2", 4
    quality.result_of(subject_of(table), store=store, log=print)
    [second] = state_problems(store, config)
    assert (second.key, second.since) == (first.key, first.since)
    assert second.reason != first.reason

    table.version, table.totals["oversized_chunks"] = "3", 0
    quality.result_of(subject_of(table), store=store, log=print)
    assert state_problems(store, config) == []


@pytest.fixture
def made(tmp_path):
    made = small(tmp_path)
    with hashing(made.home / "ledger"):
        yield made


def age(store: Store, *, hours: float) -> None:
    """Let all passes have ended a while ago."""
    at = (datetime.now(UTC) - timedelta(hours=hours)).timestamp()
    for file in (store.root / "completed").glob("*.json"):
        os.utime(file, (at, at))


def stale(made: project.Project) -> list[Finding]:
    return [each for each in state_problems(made.store, made.config) if each.kind == "index_stale"]


def test_an_index_that_a_killed_run_left_behind_is_stale_until_it_is_refreshed(made):
    age(made.store, hours=30)
    assert stale(made) == []
    joint = made.config.tables_of("default").joint
    made.store.reopen(joint)
    age(made.store, hours=2)

    [problem] = stale(made)
    assert problem.subject == "variant default"
    assert problem.reason.startswith("joint_index is not finished")
    with made.store.lock(joint, log=print):
        assert stale(made) == [], "somebody is working on it"

    refresh(made.config)
    age(made.store, hours=2)
    assert stale(made) == []


def test_a_clock_that_was_ahead_does_not_hide_a_stale_index(made):
    made.store.reopen(made.config.tables_of("default").joint)
    age(made.store, hours=-24 * 365)

    [problem] = stale(made)
    assert problem.reason.startswith("joint_index is not finished")


def test_an_index_that_a_failed_check_holds_back_is_told_as_the_check(made):
    config = made.config
    made.store.reopen(config.tables_of("default").joint)
    age(made.store, hours=2)
    table = Table()
    table.totals["oversized_chunks"] = 3
    chunks = replace(subject_of(table), table=lambda _: config.tables_of("default").chunks)
    quality.result_of(chunks, store=made.store, log=print)

    [problem] = state_problems(made.store, config)

    assert (problem.kind, problem.subject) == ("check_failed", "chunks of default: tokens_fit")


def test_a_failed_check_of_a_shared_table_is_told_of_the_variant_that_serves(made):
    """A variant that is added, and shares the table, makes it no other problem."""
    table = Table()
    table.totals["oversized_chunks"] = 3
    chunks = made.config.tables_of("default").chunks
    subject = replace(subject_of(table), table=lambda _: chunks)
    quality.result_of(subject, store=made.store, log=print)
    more = made.config.variants | {"third": made.config.variants["default"]}
    config = made.config.model_copy(update={"variants": more})

    [problem] = state_problems(made.store, config)
    assert problem.subject == "chunks of default: tokens_fit"


def test_an_input_that_moved_on_makes_the_index_stale(made):
    elements = made.store.known_as(made.config.tables_of("default").elements)
    file = made.store.root / "completed" / f"{elements}.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | {"data_version": "another"}))
    assert stale(made) == [], "a run may be between two steps"
    age(made.store, hours=2)

    [problem] = stale(made)

    assert "made from older inputs" in problem.reason
    assert datetime.now(UTC) - problem.since > timedelta(hours=1)


def test_a_state_that_was_never_refreshed_has_no_problem(config, store):
    assert state_problems(store, config) == []


def test_the_disk_use_of_a_state_is_told_by_kind(tmp_path, monkeypatch):
    cache = tmp_path.with_name("cache of the user")
    monkeypatch.setenv(user_cache.VARIABLE, str(cache))
    for name, size in {"lance/a.lance/data/x": 5, "cache/c": 3, "completed/t.json": 2}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(size))
    (tmp_path / "tables.json").write_bytes(b"1")
    cache.mkdir()
    (cache / "graph").write_bytes(bytes(7))
    use = disk_use(tmp_path)
    assert use.by_kind == {"tables": 5, "caches": 3, "records": 3}
    assert use.total == 11
    assert (use.cache, use.shared) == (cache, 7)
