"""What a refresh says at its end."""

from dataclasses import replace

import pytest

from rag_assets import config as configuration
from rag_assets.change import sync
from rag_assets.operations.problems.run_errors import BLOCKED, HELD_BACK
from rag_assets.serving import cli, refresh_run
from rag_assets.serving.commands import refresh
from rag_assets.serving.refresh_run import RefreshOutcome
from rag_assets.serving.replies import USAGE
from rag_assets.store import Store


def outcome(*tables: str) -> RefreshOutcome:
    return RefreshOutcome(
        variant="default",
        assets={name: {"failed": 1} for name in tables},
        tables=tables,
        errors={},
    )


@pytest.mark.parametrize("arguments", [["refresh"], ["variants", "backfill", "default"]])
def test_a_config_without_a_source_is_wrong_usage_and_builds_nothing(
    tmp_path, monkeypatch, capsys, arguments
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    (tmp_path / configuration.DEFAULT_FILE).write_text("state_dir: state\n")

    assert cli.main(arguments) == USAGE
    said = capsys.readouterr().err
    assert "names no source: add `sources: {documents: FOLDER}`" in said
    assert not (tmp_path / "state").exists()


def test_what_failed_of_a_source_is_named_whether_its_tables_are_or_a_pattern(tmp_path):
    store = Store(tmp_path)
    for target in ("exports/erp/orders", "exports/erp/*", "exports/erp2/orders", "exports/lab/x"):
        failure = sync.Failure("*", f"{target} is down", target, "environment")
        sync.record(store, target=target, failures=[failure])

    named = refresh_run.quarantine_of(store, outcome("exports/erp", "exports/lab/x"))

    assert [entry.failure.label for entry in named] == [
        "exports/erp/*",
        "exports/erp/orders",
        "exports/lab/x",
    ]


def test_a_step_that_a_check_stopped_is_told_in_one_line_below_the_checks():
    reason = f"{BLOCKED}: tokens_fit: observed 3\n  a.md: tokens 300\n  what to do: cut it"
    stopped = replace(outcome(), errors={"check_chunks": reason, "chunks": "first\nsecond"})

    text = "\n".join(refresh._paragraphs(stopped, [], None, "Checks: 1 of 2", 1.0))

    assert f"  check_chunks: {BLOCKED}: tokens_fit: observed 3\n  chunks: first\nsecond" in text


def test_it_ends_with_the_verdict_and_the_next_command():
    said = "PASS: short against default. Next: `rag-assets variants promote short`."
    ended = replace(outcome(), conclusion=said)

    *_, last = refresh._paragraphs(ended, [], None, "Checks: 2 of 2", 1.0)

    assert last == f"Done after 1.0 s: variant default.\n{said}"


def test_it_says_what_can_be_done_with_the_index(tmp_path):
    store, built = Store(tmp_path), replace(outcome(), conclusion="PASS. It serves now.")
    config = configuration.Config(questions={"folder": tmp_path})

    said = refresh._with_next(store, config, built).splitlines()
    assert said[0] == built.conclusion
    assert "`rag-assets serve`" in said[1]
    assert "`rag-assets questions make`" in said[1]
    (tmp_path / "people.jsonl").touch()
    assert "questions make" not in refresh._with_next(store, config, built)

    held = replace(built, conclusion="HOLD. Next: `rag-assets variants promote short`.")
    assert refresh._with_next(store, config, held) == held.conclusion
    failed = replace(built, errors={"chunks": "no space is left"})
    assert refresh._with_next(store, config, failed) == built.conclusion


def test_the_seconds_of_all_rows_are_those_of_the_refresh():
    counts = {"chunks": {"added": 2, "seconds": 3.0}, "question_sets": {"added": 1}}
    timed = replace(outcome(), assets=counts, checking=2.5)

    shown, *_ = refresh._paragraphs(timed, [], None, "Checks: 2 of 2", 10.0)

    seconds = [line.split()[-1] for line in shown.splitlines()[2:]]
    assert seconds == ["3.000", "1", "2.500", "4.500"]
    assert timed.seconds_of(5.0)[refresh_run.STARTING] == 0.0


def test_an_index_that_the_gate_holds_back_is_not_called_a_failed_refresh():
    held = replace(outcome(), errors={"serving_index": f"{HELD_BACK}: 3 questions were lost"})
    failed = replace(held, errors={**held.errors, "chunks": "no space is left"})

    *_, last = refresh._paragraphs(held, [], None, "Checks: 1 of 2", 1.0)
    *_, of_failed = refresh._paragraphs(failed, [], None, "Checks: 1 of 2", 1.0)

    assert last == "The index is built and held back after 1.0 s: variant default."
    assert of_failed.startswith("The refresh failed after")
