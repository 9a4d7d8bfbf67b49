"""A trial builds other indexes beside those that serve, judges them, and leaves no trace."""

import json
import multiprocessing
import os
import signal
from pathlib import Path
from unittest.mock import patch

import dagster as dg
import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.config import AnnSearch
from rag_assets.operations.doctor.examining import examine
from rag_assets.operations.doctor.subjects import Practice
from rag_assets.operations.index_trial import trying as trial
from rag_assets.operations.index_trial.job import trial_job
from rag_assets.operations.index_trial.settings import UnfitSettingsError, settings_of
from rag_assets.operations.index_trial.trying import SERVING, TRIED, Trial, try_index
from rag_assets.operations.serving_index.promotion import promote_refreshed
from rag_assets.retrieval.serving import open_serving
from rag_assets.serving import cli
from rag_assets.store import MissingIndexError, Store, serving_pointer
from rag_assets.store.branches import PREFIX, drop_all, trial_lock
from rag_assets.store.search_indexes import index_names
from rag_assets.store.serving_pointer import QuerySide
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import clean_up_at_once, refresh
from rag_assets_testing.faults.project import Project
from rag_assets_tests.operations import gated, static_rows
from rag_assets_tests.operations.gated import hashed_queries

QUERY = f"How much does {gated.name_of(7)} bear?"


@built_once
def served(home: Path) -> Project:
    """A project that searches by words, with questions, and serves."""
    made = gated.make(home)
    gated.ask(made, gated.questions(documents=100, rows=100))
    gated.build(made)
    promote_refreshed(made.store, made.config, log=print)
    return made


@pytest.fixture
def made(tmp_path) -> Project:
    return served(tmp_path)


@pytest.fixture(scope="module")
def dense(tmp_path_factory) -> static_rows.Made:
    """A project that searches by vectors, with questions."""
    return static_rows.make(tmp_path_factory.mktemp("dense"))


def tried(made: Project, *words: str, keep: bool = False, log=lambda _: None) -> Trial:
    config = made.config
    with hashed_queries():
        return try_index(made.store, config, settings_of(config, words), keep=keep, log=log)


def tried_on_vectors(made: static_rows.Made, *words: str) -> Trial:
    config = made.config()
    return try_index(made.store, config, settings_of(config, words), keep=False, log=print)


def answers(made: Project) -> list[str]:
    with hashed_queries():
        return [hit.unit_id for hit in open_serving(made.store, made.config).search(QUERY).hits]


def files(store: Store, *below: str) -> dict[str, int]:
    """The bytes of each file of tables whose path has one of these parts."""
    root = store.root / "lance"
    return {
        str(path.relative_to(root)): path.stat().st_size
        for path in root.rglob("*")
        if path.is_file() and {*below} & {*path.parts}
    }


def branches(store: Store) -> list[str]:
    return [name for table in store.generations() for name in store.dataset(table).branches.list()]


def findings(made: Project) -> list[str]:
    done = examine(Practice(made.store, made.config, ["default"], print))
    return [
        f"{each.rule.code} {each.subject}" for each in done.faults if "default" in each.variants
    ]


def reconfigure(made: Project, lines: str) -> None:
    made.file.write_text(made.file.read_text() + lines)


def test_an_index_that_ranks_alike_passes_and_copies_no_row(made):
    before, rows = answers(made), files(made.store, "data")
    versions = files(made.store, "_versions")
    number = serving_pointer.number_now(made.store)
    during: list[object] = []

    def judged(*sides, log):
        during.append(files(made.store, "data"))
        during.append(answers(made))
        return verdict_of(*sides, log=log)

    verdict_of = trial.judge_sides
    with patch.object(trial, "judge_sides", judged):
        found = tried(made, "index.text.longest_word=30")

    assert found.verdict.outcome == "PASS"
    assert yaml.safe_load(found.settings.lines) == {"index": {"text": {"longest_word": 30}}}
    assert during == [rows, before]
    assert files(made.store, "data") == rows
    assert files(made.store, "_versions") == versions, "the tables have no new version"
    assert files(made.store, "tree") == {}
    assert branches(made.store) == []
    assert answers(made) == before
    assert serving_pointer.number_now(made.store) == number
    assert [one.column for one in found.built] == ["text"]
    assert found.built[0].bytes > 0
    assert {*found.latency} == {SERVING, TRIED}
    assert found.latency_ratio


def test_a_tokenizer_that_cuts_no_words_fails(made):
    found = tried(made, "index.text.tokenizer=raw")
    assert found.verdict.outcome == "FAIL"
    assert found.verdict.lost
    assert "promote" not in found.verdict.remedy
    assert "try other settings" in found.verdict.remedy


def test_without_questions_known_items_are_asked(made):
    gated.ask(made, [])
    found = tried(made, "index.text.tokenizer=raw")
    assert found.verdict.known_items
    assert found.verdict.outcome == "HOLD"
    assert tried(made, "index.text.longest_word=30").verdict.outcome == "PASS"


def test_one_list_of_many_is_not_enough(dense):
    found = tried_on_vectors(dense, "index.vectors.partitions=200", "retrieval.ann.probes=1")
    assert found.verdict.outcome == "FAIL"
    assert found.verdict.difference.estimate < -0.1


def test_a_shortened_vector_that_is_refined_passes_and_says_what_to_put_into_the_config(dense):
    given = ["index.vectors.type=ivf_sq", "retrieval.ann.refine=5"]
    found = tried_on_vectors(dense, *given)
    assert found.verdict.outcome == "PASS"
    rows = dense.store.count(dense.config().tables_of("default").joint)
    assert yaml.safe_load(found.settings.lines) == {
        "index": {"vectors": {"type": "ivf_sq"}, "ann_from_rows": rows},
        "retrieval": {"ann": {"refine": 5}},
    }
    assert (found.built[0].column, found.built[0].bytes_serving) == ("vector", 0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["text.stem=true"], "KEY=VALUE, with a key that begins with index.text"),
        (["index.text.stem"], "KEY=VALUE"),
        (["index.text.stem=perhaps"], "index.text.stem: Input should be a valid boolean"),
        (["index.text.stemm=true"], "index.text.stemm: there is no such key"),
        (["index.text.language=Klingon"], "index.text.language"),
        (["index.text.language=Swedish"], "language needs stem: true"),
        (["index.text.shortest_ngram=2"], "need tokenizer: ngram"),
        (["index.vectors.type=hnsw"], "index.vectors.type"),
        (["index.vectors.sub_vectors=8"], "sub_vectors needs type: ivf_pq"),
        (["retrieval.ann.probes=0"], "retrieval.ann.probes"),
        (["index.ann_from_rows=[1"], "not valid YAML"),
    ],
)
def test_settings_that_are_not_allowed_are_refused(made, words, says):
    with pytest.raises(UnfitSettingsError, match=says.replace("[", r"\[")):
        settings_of(made.config, words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["index.vectors.partitions=100000"], "partitions = 100,000 is more than its 401 units"),
        (["index.vectors.type=ivf_pq", "index.vectors.sub_vectors=7"], "does not divide"),
        (["retrieval.ann.refine=3"], "nothing to refine"),
        (
            ["index.vectors.partitions=4", "retrieval.ann.probes=9"],
            "9 lists of an index",
        ),
        (["index.text.stem=true"], "does not search by bm25"),
        (["index.ann_from_rows=5000"], "searched like that already"),
    ],
)
def test_settings_that_make_no_sense_on_what_serves_are_refused_before_any_work(dense, words, says):
    with pytest.raises(UnfitSettingsError, match=says):
        tried_on_vectors(dense, *words)
    assert branches(dense.store) == []


def test_settings_that_serve_already_are_refused(made):
    with pytest.raises(UnfitSettingsError, match="searched like that already"):
        tried(made, "index.text.stem=false")
    with pytest.raises(UnfitSettingsError, match="does not search by dense"):
        tried(made, "retrieval.ann.probes=3")


def test_without_an_index_there_is_nothing_to_try(made):
    made.store.drop(made.config.tables_of("default").joint)
    with pytest.raises(MissingIndexError, match="default"):
        tried(made, "index.text.stem=true")


def test_kept_indexes_are_used_again_and_go_with_the_next_clean_up(made):
    before, rows = answers(made), files(made.store, "data")
    first = tried(made, "index.text.stem=true", keep=True)
    again = tried(made, "index.text.stem=true", keep=True)

    assert first.is_kept
    assert first.built[0].seconds > 0
    assert again.built[0].seconds == 0
    assert again.verdict.difference == first.verdict.difference
    assert branches(made.store)[0].startswith(PREFIX)
    assert findings(made) == []
    assert answers(made) == before
    clean_up_at_once(made.config)
    assert branches(made.store) == []
    assert files(made.store, "tree") == {}
    assert files(made.store, "data") == rows


def test_a_clean_up_leaves_what_a_running_trial_uses(made):
    """Not even the rows that were edited since, which nothing else names."""
    tried(made, "index.text.stem=true", keep=True)
    name = made.config.tables_of("default").joint
    [branch] = made.store.dataset(name).branches.list()
    with trial_lock(made.store, log=print):
        made.write("alloy000.md", gated.text_of(0, strength=999))
        with hashing():
            refresh(made.config)
        clean_up_at_once(made.config)
        table = made.store.open(name).branches.checkout(branch)
        texts = table.to_lance().to_table(columns=["text"])["text"].to_pylist()
        assert sum("bears 200 MPa" in text for text in texts) == 1
        drop_all(made.store, name)
    clean_up_at_once(made.config)
    assert findings(made) == []


def _killed(home: Path) -> None:
    made = Project(home)
    with patch.object(trial, "judge_sides", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)):
        tried(made, "index.text.stem=true")


def test_a_killed_trial_is_no_damage_and_goes_with_the_next_clean_up(made):
    before, rows = answers(made), files(made.store, "data")
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(made.home,))
    process.start()
    process.join()

    assert process.exitcode == -signal.SIGKILL
    assert branches(made.store)
    assert findings(made) == []
    assert answers(made) == before
    clean_up_at_once(made.config)
    assert (branches(made.store), files(made.store, "tree")) == ([], {})
    assert files(made.store, "data") == rows
    assert answers(made) == before


def test_what_passed_is_built_and_judged_by_the_next_refresh(made):
    found = tried(made, "index.text.stem=true")
    reconfigure(made, found.settings.lines)
    said: list[str] = []
    gated.build(made)
    with hashed_queries():
        done = promote_refreshed(made.store, made.config, log=said.append)

    assert done.status == "moved"
    pointer = serving_pointer.current(made.store)
    assert pointer
    assert pointer.complete_set.indexes == index_names(made.store, pointer.complete_set.joint)
    assert pointer.verdict
    assert pointer.verdict["difference"], "the questions were asked"
    assert said == [], "the rankings of the trial were taken over"
    assert findings(made) == []
    with pytest.raises(UnfitSettingsError, match="searched like that already"):
        tried(made, "index.text.stem=true")


def test_an_edit_of_the_indexes_that_makes_it_worse_is_held(made):
    before = answers(made)
    reconfigure(made, "index: {text: {tokenizer: raw}}\n")
    gated.build(made)
    done = promote_refreshed(made.store, made.config, log=print)

    assert done.status == "held"
    assert done.verdict
    assert done.verdict.outcome == "FAIL"
    assert answers(made) == before


def test_how_an_index_is_searched_stays_as_it_was_promoted(dense):
    before = dense.config().retrieval
    edited = before.model_copy(update={"ann": AnnSearch(probes=3)})
    assert QuerySide.of(before).within(edited).ann == AnnSearch()
    assert QuerySide.of(edited).within(before).ann == AnnSearch(probes=3)


def test_the_command_prints_the_verdict_and_the_lines(dense, monkeypatch, capsys):
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(dense.home / "rag_assets.yaml"))
    code = cli.main(["try-index", "index.vectors.partitions=4"])
    shown = capsys.readouterr()
    assert code == 0
    assert shown.out.startswith("PASS: index.vectors.partitions=4")
    assert "partitions: 4" in shown.out
    assert "in shuffled turns" in shown.out

    code = cli.main(
        ["try-index", "--json", "index.vectors.partitions=200", "retrieval.ann.probes=1"]
    )
    assert code == 1
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "FAIL"
    assert {"latency_ratio", "built", "lines"} <= record.keys()
    assert cli.main(["try-index", "index.vectors.type=best"]) == 2


def test_the_job_shows_the_verdict_in_the_ui(made):
    job = trial_job(made.config)
    assert isinstance(job, dg.JobDefinition)

    def run(*settings: str) -> dg.ExecuteInProcessResult:
        asked = {"ops": {"try_indexes": {"config": {"settings": [*settings]}}}}
        return job.execute_in_process(run_config=asked, raise_on_error=False)

    with hashed_queries():
        done = run("index.text.tokenizer=raw")
    [output] = done.filter_events(lambda event: event.event_type_value == "STEP_OUTPUT")
    metadata = output.step_output_data.metadata
    assert "FAIL: index.text.tokenizer=raw" in str(metadata["verdict"].value)
    assert not run("index.text.tokenizer=best").success
