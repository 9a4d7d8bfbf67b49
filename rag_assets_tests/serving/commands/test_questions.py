"""`rag-assets questions` on a project that was built."""

import json

import pytest

from rag_assets import config as configuration
from rag_assets import schemas
from rag_assets.evaluation.questions import read_questions
from rag_assets.serving import cli
from rag_assets.serving.replies import OK, PARTLY, USAGE
from rag_assets.store import Store
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import make, report


@built_once
def project(home):
    made = make(home)
    with hashing():
        refresh(made.config)
    return made


@pytest.fixture
def made(tmp_path, monkeypatch):
    built = project(tmp_path / "project")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(built.file))
    return built


@pytest.fixture
def asked(capsys):
    """Runs the command and answers with its code and what it printed."""

    def run(*arguments):
        code = cli.main(["questions", *arguments])
        return code, capsys.readouterr().out

    return run


def test_questions_are_made_once_and_stand_in_their_sets(made, asked):
    code, text = asked("make")
    held = made.store.read(schemas.GENERATED_QUESTIONS_TABLE)

    assert code == OK
    assert "known_items" in text
    assert "from_tables" in text
    assert "rag-assets questions review" in text
    assert {one.question_set for one in read_questions(made.store)} == {
        "known_items",
        "from_tables",
    }
    asked("make")
    assert made.store.read(schemas.GENERATED_QUESTIONS_TABLE) == held


def test_the_asset_tells_what_was_made(made, asked):
    from rag_assets.serving import dagster_instance

    asked("make")
    with dagster_instance.opened(made.config) as instance:
        event = instance.get_latest_materialization_event(dagster_key())
    shown = event.asset_materialization.metadata

    assert {"questions by sort", "left out", "preview", "added"} <= shown.keys()
    sorts = [record.data for record in shown["questions by sort"].records]
    assert {"origin", "kind", "language", "split", "questions"} <= set(sorts[0])


def dagster_key():
    import dagster as dg

    return dg.AssetKey("generated_questions")


def test_a_refresh_makes_no_questions(made):
    from rag_assets.definitions import definitions

    job = definitions(made.config).resolve_job_def("nightly_refresh")
    names = {node.name for node in job.nodes}

    assert "question_sets" in names
    assert "generated_questions" not in names


def test_questions_are_imported_and_counted(made, asked, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("question,gold\nWhich steel?,doc:series0/report0.md\nNo gold?,\n")

    code, text = asked("import", str(file))
    assert code == PARTLY
    assert "mine.csv line 3: gold is empty" in text
    _, text = asked("stats", "--json")
    counted = json.loads(text)["questions"]
    assert [row["questions"] for row in counted if row["origin"] == "people"] == [1]


def test_imported_questions_are_in_the_split_of_what_they_are_about(made, asked, tmp_path):
    asked("make")
    store = Store.of(made.config)
    wanted = store.read(schemas.GENERATED_QUESTIONS_TABLE, where="left_out = ''").to_pylist()
    golds = [json.loads(row["gold"])[0] for row in wanted]
    lines = [
        {
            "id": str(place),
            "question": f"Question {place}?",
            "gold": [
                f"row:{gold['table'].partition('/')[2]}:{gold['row_key']}"
                if "table" in gold
                else f"doc:{gold['uri'].partition('/')[2]}"
            ],
        }
        for place, gold in enumerate(golds)
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    code, _ = asked("import", str(file))
    kept = [json.loads(line) for line in made.config.questions.people_file.open()]

    assert code == OK
    assert [line["split"] for line in kept] == [row["split"] for row in wanted]
    assert {row["split"] for row in wanted} == {"dev", "test"}
    assert any("table" in gold for gold in golds)


def test_it_is_told_what_to_do_about_what_was_left_out_and_lines_that_are_no_decisions(made, asked):
    file = made.config.questions.review_file
    file.parent.mkdir()
    file.write_text('{"id": "from_tables/1", "decision": "maybe"}\n')
    _, text = asked("make")
    left = made.store.read(schemas.GENERATED_QUESTIONS_TABLE, where="left_out != ''").to_pylist()

    assert left
    assert all(row["left_out"] in text for row in left)
    assert "review.jsonl line 1: decision = 'maybe': write keep or drop" in text
    assert "dev  test" in text


def test_a_file_is_for_import_alone(asked, made):
    assert asked("import")[0] == USAGE
    assert asked("make", "x.csv")[0] == USAGE


def test_before_any_question_it_says_how_to_get_some(asked, made):
    code, text = asked()

    assert code == OK
    assert "`rag-assets questions make`" in text


def test_where_nothing_can_be_made_it_says_what_else_to_do(tmp_path, monkeypatch, asked):
    unread = make(tmp_path / "unread", documents=0)
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(unread.file))

    _, text = asked("make")

    assert "rag-assets questions review" not in text
    assert "`rag-assets questions import`" in text


def test_the_doctor_finds_nothing_in_a_state_with_made_questions(made, asked, capsys):
    asked("make")
    with hashing():
        cli.main(["doctor"])
        of_made = capsys.readouterr().out
        made.write("series0/report0.md", report(0, edition=2))
        refresh(made.config)
        capsys.readouterr()
        cli.main(["doctor"])

    assert "generated_questions" not in of_made
    assert "generated_questions" not in capsys.readouterr().out


def test_an_experiment_on_made_questions_alone_is_called_a_smoke_test(made, asked, capsys):
    config = made.file.read_text()
    arms = "[{name: words, retriever: bm25}, {name: others, retriever: {signals: [bm25]}}]"
    made.file.write_text(f"{config}experiments: {{own: {{arms: {arms}}}}}\n")
    asked("make")
    code = cli.main(["experiment", "own"])

    assert code == OK
    assert "Smoke test" in capsys.readouterr().out
