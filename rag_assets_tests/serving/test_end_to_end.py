"""A small project, refreshed twice, searched, measured and looked at from the command line."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from rag_assets import config as configuration
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK, PARTLY, USAGE
from rag_assets.store import Store
from rag_assets_testing import small_project
from rag_assets_testing.scripted_language_model import ScriptedServer, answers, empty

COMMAND = (
    "import json, sys; from rag_assets.serving import cli\n"
    "code = cli.main(sys.argv[1:])\n"
    f"print(json.dumps({{'code': code, 'heavy': sorted({set(small_project.HEAVY)!r} & "
    "sys.modules.keys())}))"
)


@dataclass(frozen=True)
class Refreshed:
    """What one refresh said and left behind."""

    answer: dict
    code: int
    data_versions: dict[str, str]
    progress: str
    heavy: tuple[str, ...] = ()


def refresh(project: Path, *options: str) -> Refreshed:
    """Refresh in this process."""
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as progress,
    ):
        patch.chdir(project)
        patch.setenv(configuration.PATH_VARIABLE, str(project / "rag_assets.yaml"))
        code = cli.main(["refresh", "--json", *options])
    answer = json.loads(out.getvalue().strip().splitlines()[-1])
    return Refreshed(answer, code, data_versions(project), progress.getvalue())


def refresh_elsewhere(project: Path) -> Refreshed:
    """Refresh in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "refresh", "--json"],
        cwd=project,
        env={**os.environ, configuration.PATH_VARIABLE: str(project / "rag_assets.yaml")},
        capture_output=True,
        text=True,
        check=True,
    )
    answer, facts = map(json.loads, done.stdout.strip().splitlines())
    heavy = tuple(facts["heavy"])
    return Refreshed(answer, facts["code"], data_versions(project), done.stderr, heavy)


def data_versions(project: Path) -> dict[str, str]:
    """That of each asset, as the UI shows it."""
    with dg.DagsterInstance.from_config(str(project / "state/dagster")) as instance:
        return {
            key.to_user_string(): event.asset_materialization.tags["dagster/data_version"]
            for key in instance.all_asset_keys()
            if (event := instance.get_latest_materialization_event(key))
        }


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return small_project.make(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def first(project):
    return refresh(project)


@pytest.fixture(scope="module")
def second(project, first):
    return refresh_elsewhere(project)


@pytest.fixture
def here(project, first, monkeypatch):
    """The refreshed project as the working directory."""
    monkeypatch.chdir(project)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    return project


def test_the_first_refresh_builds_everything_and_says_how_much(first):
    assert first.code == 0, first.progress
    assert first.answer["variant"] == "default"
    assert first.answer["quarantine"] == []
    assert first.answer["errors"] == {}
    assert first.answer["checks"]["failed"] == []
    assert first.answer["checks"]["expectations"] > 40
    assert Path(first.answer["checks"]["page"]).is_file()
    counts = first.answer["assets"]
    assert counts["document_files"]["added"] == 2
    assert counts["parsed_documents"]["added"] == 2
    assert counts["table_rows"]["added"] == 4
    assert counts["row_vectors"]["embedded"] == 4
    assert counts["joint_index"]["added"] == counts["chunk_vectors"]["added"] + 4
    assert all("seconds" in numbers for numbers in counts.values())
    assert set(first.data_versions) == set(counts)
    assert "Embedding passages" in first.progress.splitlines()


def test_the_second_refresh_does_nothing_and_imports_nothing_heavy(first, second):
    for key, counts in second.answer["assets"].items():
        work = {name: counts.get(name, 0) for name in ("added", "changed", "removed", "embedded")}
        assert not any(work.values()), (key, work)
    assert second.code == 0
    assert second.heavy == ()
    assert second.data_versions == first.data_versions


def test_runs_and_checks_stand_where_the_ui_shows_them(project, second):
    with dg.DagsterInstance.from_config(str(project / "state/dagster")) as instance:
        assert [run.is_success for run in instance.get_runs()] == [True, True]
        key = dg.AssetCheckKey(dg.AssetKey("chunks"), "must_hold")
        records = instance.event_log_storage.get_asset_check_execution_history(key, limit=9)
        assert [record.status.value for record in records] == ["SUCCEEDED", "SUCCEEDED"]
        assert {record.partition for record in records} == {"default"}
        shown = records[0].evaluation.metadata
    assert "tokens_fit | yes" in shown["expectations"].value
    assert Path(shown["report"].value).is_file()


def test_search_shows_what_was_found_with_its_source(here, capsys):
    assert cli.main(["search", "which alloy bears salt", "--top-k", "1"]) == OK

    text = capsys.readouterr().out
    assert text.startswith("1. salt.md, Salt spray")
    assert "AlMg3 bears salt for 500 hours" in text


def test_search_says_what_was_searched_too_and_when_a_language_model_failed(
    here, capsys, monkeypatch
):
    fusion = json.dumps({"twice": {"signals": ["bm25"], "query_fusion": {"rewriter": "model"}}})
    monkeypatch.setenv("RAG_ASSETS__RETRIEVAL__RETRIEVERS", fusion)
    asked = ["search", "which alloy bears salt", "--retriever", "twice"]
    with ScriptedServer([answers('{"rewrites": ["salt spray"]}'), empty()]) as server:
        entry = {"base_url": server.url, "model": server.model}
        monkeypatch.setenv("RAG_ASSETS__LANGUAGE_MODELS", json.dumps({"writer": entry}))
        assert cli.main(asked) == OK
        assert capsys.readouterr().out.rstrip().endswith("Searched too: salt spray")
        assert cli.main([*asked, "--json"]) == OK
        assert json.loads(capsys.readouterr().out)["rewrites"] == ["salt spray"]
        assert server.calls == 1

        asked[1] = "which alloy hardly expands"
        assert cli.main([*asked, "--json"]) == OK
        record = json.loads(capsys.readouterr().out)
        assert cli.main(asked) == OK
        text = capsys.readouterr().out
    why = "the language model writer gave no rewrites (empty: the answer holds no text)"
    assert (record["rewrites"], record["not_rewritten"]) == ([], why)
    assert f"Only the query itself was searched: {why}." in text


def test_search_answers_programs_and_keeps_to_its_filters(here, capsys):
    arguments = ["--domain", "table", "--table", "alloys", "--json"]
    assert cli.main(["search", "density of Invar", *arguments]) == OK

    record = json.loads(capsys.readouterr().out)
    assert record["retriever"] == "best"
    assert record["hits"][0]["row_key"] == "2"
    assert {hit["table"] for hit in record["hits"]} == {"alloys"}


def test_an_explanation_shows_each_arm_of_each_domain(here, capsys):
    arguments = ["search", "density of Invar", "--retriever", "hybrid_late_fusion", "--explain"]
    assert cli.main(arguments) == OK
    shown = capsys.readouterr().out
    assert "document/bm25" in shown
    assert "Milliseconds: " in shown

    assert cli.main([*arguments, "--json"]) == OK
    lines = json.loads(capsys.readouterr().out)["explanation"]
    assert {"result", "document", "table", "table/dense"} <= {line["stage"] for line in lines}


def test_a_retriever_that_the_config_lacks_is_named_with_those_it_has(here, capsys):
    for command in (["search", "x"], ["evaluate", "--questions", "questions.jsonl"]):
        assert cli.main([*command, "--retriever", "magic"]) == FAILED
        assert "no retriever is named 'magic'; there are baseline" in capsys.readouterr().err


def test_several_searches_come_from_stdin(here, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("Invar\n\nsalt spray\n"))
    assert cli.main(["search", "-", "--retriever", "bm25", "--json"]) == OK

    searches = json.loads(capsys.readouterr().out)["searches"]
    assert [search["query"] for search in searches] == ["Invar", "salt spray"]
    assert searches[1]["hits"][0]["uri"] == "salt.md"


@pytest.mark.parametrize(("option", "there"), [("--source", "documents"), ("--table", "alloys")])
def test_a_filter_by_a_name_that_is_nowhere_is_refused_with_those_there_are(
    here, capsys, option, there
):
    asked = ["search", "Invar", "--retriever", "bm25", option]
    assert cli.main([*asked, "nowhere"]) == USAGE
    said = capsys.readouterr().err
    assert f"there is no {option[2:]} nowhere; there are: " in said
    assert there in said
    assert cli.main([*asked, there]) == OK


def test_a_blank_query_is_refused_in_one_sentence(here, capsys):
    assert cli.main(["search", " "]) == FAILED
    assert "is empty" in capsys.readouterr().err


def test_status_reads_the_tables(here, capsys):
    assert cli.main(["status", "--json"]) == OK

    record = json.loads(capsys.readouterr().out)
    assert record["serving"] == "default"
    assert record["shared"]["table_rows"]["rows"] == 4
    assert record["variants"]["default"]["joint_index"]["complete"]
    unbuilt = record["variants"]["json_rows"]["joint_index"]
    assert (unbuilt["rows"], unbuilt["complete"], unbuilt["data_version"]) == (0, False, "absent")
    assert record["checks"]["failed"] == []
    shared = [record["variants"][name]["chunk_vectors"] for name in ("default", "json_rows")]
    assert shared[0] == shared[1], "variants with the same parser and model share the table"


def test_evaluate_measures_a_file_of_questions(here, capsys):
    arguments = ["--questions", "questions.jsonl", "--retriever", "bm25", "--json"]
    assert cli.main(["evaluate", *arguments]) == OK

    record = json.loads(capsys.readouterr().out)
    assert record["questions"] == 2
    assert {row["retriever"] for row in record["summary"]} == {"bm25"}
    assert Path(record["report"]).is_file()


def test_evaluate_says_which_retriever_is_better(here, capsys):
    assert cli.main(["evaluate", "--questions", "questions.jsonl"]) == OK

    text = capsys.readouterr().out
    assert "Paired differences, 95 % intervals" in text
    assert "not separable at n = " in text


def test_evaluate_keeps_the_retriever_that_two_questions_cannot_better(here, capsys):
    assert cli.main(["evaluate", "--choose", "--json"]) == OK

    said = capsys.readouterr()
    record = json.loads(said.out)
    assert (record["proposed"], record["is_better"]) == ("best", False)
    assert record["means"].keys() >= {
        "best",
        "bm25",
        "dense 0.5 with bm25 and lookup, distribution_based, reranked",
    }
    assert "cross-validated in 2 folds" in record["protocol"]
    assert f"(1 of {len(record['means'])})" in said.err


def test_evaluate_names_a_file_that_is_not_there(here, capsys):
    assert cli.main(["evaluate", "--questions", "nothing.jsonl"]) == FAILED
    assert "nothing.jsonl" in capsys.readouterr().err


def test_a_second_refresh_waits_for_the_first_and_says_so(here):
    store = Store(here / "state")
    with store.lock("index", log=lambda _: None):
        waiting = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "refresh", "--json"],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        line = waiting.stderr.readline()
        waiting.kill()
        waiting.communicate()
    assert line == f"waiting for process {os.getpid()}, which is working on index\n"


@pytest.mark.nightly(
    guards=[
        "rag_assets/operations/problems/lost_runs.py",
        "rag_assets/serving/dagster_instance.py",
        "rag_assets/serving/job_runs.py",
    ]
)
def test_a_killed_refresh_leaves_nothing_that_stops_the_next_one(tmp_path):
    """It dies while it holds the pool `gpu`, with a run that can no longer say that it ended."""
    project = small_project.make(tmp_path)
    dying = subprocess.Popen(
        [sys.executable, "-m", "rag_assets.serving.cli", "refresh"],
        cwd=project,
        env={**os.environ, configuration.PATH_VARIABLE: str(project / "rag_assets.yaml")},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    for line in dying.stderr:
        if "Embedding" in line:
            break
    dying.kill()
    dying.communicate()

    assert refresh_elsewhere(project).code == OK
    with dg.DagsterInstance.from_config(str(project / "state/dagster")) as instance:
        statuses = sorted(run.status.value for run in instance.get_runs())
    assert statuses == ["FAILURE", "SUCCESS"]


def test_a_failing_table_is_named_and_the_rest_is_built(here, second):
    config = here / "rag_assets.yaml"
    config.write_text(config.read_text().replace("[alloys,", "[alloys, welds,"))
    (here / "documents/broken.pdf").write_bytes(b"%PDF-1.7\nnothing of the kind")

    refreshed = refresh(here, "--variant", "json_rows")

    assert refreshed.code == PARTLY, refreshed.progress
    assert refreshed.answer["variant"] == "json_rows"
    reasons = {entry["what"]: entry["reason"] for entry in refreshed.answer["quarantine"]}
    assert any("welds" in what and "welds" in reason for what, reason in reasons.items())
    assert any("broken.pdf" in what for what in reasons)
    assert refreshed.answer["assets"]["joint_index"]["added"] > 0
    failed = refreshed.answer["checks"]["failed"]
    assert {(each["asset"], each["expectation"], each["severity"]) for each in failed} == {
        ("parsed_documents", "few_documents_failed", "warning"),
        ("parsed_documents", "no_document_failed", "warning"),
    }
    missing = {each["key"] for each in refreshed.answer["missing"]}
    assert {"source_unreadable:laboratory/welds", "units_failed:broken.pdf"} <= missing


def test_a_variant_is_built_by_the_one_job_for_it_without_its_sources(here, capsys):
    built = cli.main(["variants", "backfill", "json_rows", "--json"])
    assert built == PARTLY  # broken.pdf stays left out

    assets = json.loads(capsys.readouterr().out)["assets"]
    assert "joint_index" in assets
    assert not {"document_files", "table_rows", "exports/laboratory"} & assets.keys()
    with dg.DagsterInstance.from_config(str(here / "state/dagster")) as instance:
        run = instance.get_runs(limit=1)[0]
    assert (run.job_name, run.tags["dagster/partition"]) == ("backfill_variant", "json_rows")
