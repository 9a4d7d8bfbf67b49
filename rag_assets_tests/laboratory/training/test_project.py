"""From questions to a promoted variant: pairs, training, index, gate and the way back."""

import json
from functools import partial

import pyarrow as pa
import pytest

from rag_assets import config as configuration
from rag_assets import schemas
from rag_assets.config import EmbeddingModel, QuestionSet
from rag_assets.config.training import newest_weights
from rag_assets.evaluation.questions import parse, read_questions, refresh_questions
from rag_assets.laboratory.training import pairs
from rag_assets.laboratory.training.leakage import LeakageError
from rag_assets.laboratory.training.pairs import PairsError, refresh_pairs
from rag_assets.laboratory.training.trainers import TrainingError, read_pairs, retriever_weights
from rag_assets.serving.cli import main
from rag_assets.store import Store, serving_pointer
from rag_assets.store.complete_sets import set_of_recipe
from rag_assets_testing import small_project
from rag_assets_tests.laboratory.training import project

START = [
    "tiny",
    pytest.param("minilm", marks=pytest.mark.nightly(guards=["rag_assets/laboratory/training"])),
]
"""The model that is trained."""


@pytest.fixture(scope="module", params=START)
def write(request, tmp_path_factory):
    """Writes the project; `asked` are its questions."""
    home = tmp_path_factory.mktemp("project")
    is_tiny = request.param == project.TINY
    config = project.with_tiny_model(home) if is_tiny else project.CONFIG
    return partial(project.write, home, config=config)


@pytest.fixture(scope="module")
def home(write):
    """The project, built and promoted, with nothing trained."""
    home = write().parent
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("RAG_ASSETS_CONFIG", str(home / "rag_assets.yaml"))
        assert main(["refresh", "--variant", "default"]) == 0
        yield home


@pytest.fixture
def config(home):
    return configuration.load(home / "rag_assets.yaml")


@pytest.fixture
def asked(write, home, config):
    """Asks other questions; the project's own are asked again afterwards."""

    def ask(questions):
        write(asked=questions)
        refresh_questions(Store.of(config), config, log=print)
        return refresh_pairs(Store.of(config), config, log=print)

    yield ask
    write()
    refresh_questions(Store.of(config), config, log=print)


def test_questions_of_the_split_train_measure_nothing(config):
    assert {one.split for one in read_questions(Store.of(config))} == {"test"}


def test_a_file_is_measured_by_its_other_questions(home, tmp_path):
    asked = QuestionSet(name="q", path=home / "questions.jsonl")
    assert {one.split for one in parse(asked).measured} == {"test"}
    alone = QuestionSet(name="q", path=tmp_path / "alone.jsonl")
    alone.path.write_text("".join(f"{json.dumps(one)}\n" for one in project.questions()[:3]))
    assert len(parse(alone).measured) == 3, "whoever names such a file wants it measured"


def test_pairs_hold_right_units_and_wrong_ones(config, asked):
    report, left_out = asked(project.questions())

    rows = read_pairs(Store.of(config)).to_pylist()
    assert report.rows == len(rows) == project.TRAIN
    assert not left_out
    assert {row["part"] for row in rows} == {"train", "validation"}
    texts = {question: text.partition("\n\n")[2].strip() for _, text, question in project.facts()}
    for row in rows:
        assert texts[row["question"]] in row["text"]
        assert row["negatives"]
        assert row["unit_id"] not in row["negative_ids"]
        assert row["text"] not in row["negatives"], "a copy of what is right is not wrong"
    again, _ = asked(project.questions())
    assert not again.touched


def test_bridging_evidence_is_no_negative(config, asked):
    _, text, _ = project.facts()[1]
    questions = project.questions()
    questions[0]["support"] = questions[1]["gold"]
    asked(questions)

    [row] = [
        row
        for row in read_pairs(Store.of(config)).to_pylist()
        if row["question_id"].endswith("/q0")
    ]
    assert not any(text.partition("\n\n")[2].strip() in each for each in row["negatives"])


def test_what_is_right_for_the_same_question_is_no_negative(config, asked):
    questions = project.questions()
    first, second = questions[2:4]  # of documents that are one chunk each
    second["question"] = str(first["question"]).upper()  # each line names one of two answers
    asked(questions)

    rows = {row["question_id"]: row for row in read_pairs(Store.of(config)).to_pylist()}
    one, other = (rows[f"questions/{each['id']}"] for each in (first, second))
    assert one["unit_id"] not in other["negative_ids"]
    assert other["unit_id"] not in one["negative_ids"]


def test_a_document_of_both_splits_is_refused(asked):
    questions = project.questions()
    questions[-1]["gold"] = questions[0]["gold"]
    with pytest.raises(LeakageError, match=r"/q0 \(train\) and questions/q47: both have gold in"):
        asked(questions)


def test_a_copied_text_is_refused(asked):
    questions = project.questions()
    questions[-1]["gold"] = [f"doc:{project.COPY}"]
    with pytest.raises(LeakageError, match="q47: a text of one contains the other's"):
        asked(questions)


def test_a_notice_that_ends_documents_of_both_splits_gives_nothing_away(config, asked):
    _, left_out = asked(project.questions()[1:])

    assert not left_out
    assert "questions/q1" in {
        row["question_id"] for row in read_pairs(Store.of(config)).to_pylist()
    }


def test_a_former_version_in_the_other_split_is_refused(config, asked, monkeypatch):
    questions = project.questions()
    store = Store.of(config)
    pin = set_of_recipe(store, config, "default").families
    uris = {each["gold"][0].removeprefix("doc:"): each for each in (questions[0], questions[-1])}
    rows = store.read(pin.table).to_pylist()
    changed = [row | {"family": "f" if row["uri"] in uris else row["family"]} for row in rows]
    read = Store.read

    def of_families(self, name, **given):
        if name != pin.table:
            return read(self, name, **given)
        found = pa.Table.from_pylist([row for row in changed if row["family"]])
        return found.select(given.get("columns") or found.column_names)

    monkeypatch.setattr(Store, "read", of_families)
    with pytest.raises(LeakageError, match=f"gold in a version of documents/{min(uris)}"):
        asked(questions)


def test_too_few_questions_are_told_with_what_to_do(asked):
    questions = [*project.questions()[:3], *project.questions()[project.TRAIN :]]
    questions[-1]["gold"] = [f"doc:{project.facts()[5][0]}"]
    with pytest.raises(PairsError) as told:
        asked(questions)
    assert "3 questions of the split train are left to train on, and 20 are" in str(told.value)
    assert "`train: 0.3` at their entry of evaluation.questions" in str(told.value)
    assert "{" not in str(told.value), "people read it"


@pytest.mark.usefixtures("asked")
def test_made_questions_that_decide_nothing_stand_in_no_ones_way(config):
    """A smoke test measures nothing that counts: a person's question may share its document."""
    questions = project.questions()
    made = [{**one, "id": f"made-{one['id']}", "split": "test"} for one in questions[:3]]
    folder = config.evaluation.questions[0].path.parent
    (folder / "made.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in made), "utf-8")
    sets = [
        *config.evaluation.questions,
        QuestionSet(name="made", path=folder / "made.jsonl", generated=True),
    ]
    evaluation = config.evaluation.model_copy(update={"questions": sets})
    with_made = config.model_copy(update={"evaluation": evaluation})
    store = Store.of(config)
    refresh_questions(store, with_made, log=print)
    _, left_out = refresh_pairs(store, with_made, log=print)

    assert not left_out
    assert store.count(schemas.TRAINING_PAIRS_TABLE) == project.TRAIN


@pytest.mark.usefixtures("asked")
def test_what_a_program_divided_is_left_out_where_it_gives_others_away(write, config):
    """Nobody chose the split of these lines, so that nobody has to mend it."""
    questions = [{**one, "split": "dev"} for one in project.questions()]
    questions[-1]["gold"] = questions[0]["gold"] + questions[-1]["gold"]
    [own] = config.evaluation.questions
    write(asked=questions)
    evaluation = config.evaluation.model_copy(
        update={"questions": [own.model_copy(update={"train": 0.8})]}
    )
    divided = config.model_copy(update={"evaluation": evaluation})
    store = Store.of(config)
    refresh_questions(store, divided, log=print)
    _, left_out = refresh_pairs(store, divided, log=print)

    measured = {one.id for one in read_questions(store)}
    assert measured
    learned = {
        name.removeprefix("questions/") for name in read_pairs(store)["question_id"].to_pylist()
    }
    assert len(learned) >= 20
    assert not learned & measured
    assert sum(left_out.values()) == project.COUNT - len(learned | measured)


def test_a_model_behind_a_server_is_refused(config, asked):
    asked(project.questions())
    hosted = {
        "path": "m",
        "backend": "embeddings_api",
        "max_tokens": 9,
        "endpoint": {"url": "http://x/"},
    }
    start = config.training.retrievers["tuned"].model
    models = {**config.models, start: EmbeddingModel.model_validate(hosted)}
    with pytest.raises(TrainingError, match="backend embeddings_api has no weights"):
        retriever_weights(
            Store.of(config), config.model_copy(update={"models": models}), "tuned", log=print
        )


def test_a_trained_model_is_built_promoted_and_rolled_back(home, write, asked, capsys):
    assert main(["training"]) == 0
    assert "not yet" in capsys.readouterr().out
    assert main(["refresh", "--dry-run", "--variant", "tuned"]) == 0
    assert main(["training", "status", "tunde"]) == 2
    assert "no entry tunde; there are tuned" in capsys.readouterr().err
    assert main(["training", "run", "tuned"]) == 0
    told = capsys.readouterr()
    assert "Next: `rag-assets refresh --variant VARIANT`" in told.out
    assert "step 5 of" in told.err

    assert main(["refresh", "--variant", "tuned"]) == 0
    capsys.readouterr()
    questions = project.questions()
    asked(questions[:1] + [{**one, "split": "test"} for one in questions[1:11]] + questions[11:])
    promoted = main(["variants", "promote", "tuned"])
    assert promoted == 1, "though the pairs are without them by now"
    assert "tuned: its weights learned from 10 of these questions" in capsys.readouterr().out
    write()
    assert main(["variants", "promote", "tuned", "--override", "a test"]) == 0
    store = Store.of(configuration.load())
    first = newest_weights(store.root, "retriever", "tuned")
    pointer = serving_pointer.current(store)
    assert pointer is not None
    assert pointer.complete_set.settings["path"] == str(first)

    text = (home / "rag_assets.yaml").read_text("utf-8")
    (home / "rag_assets.yaml").write_text(text.replace("epochs: 2", "epochs: 1"), "utf-8")
    assert main(["training", "run"]) == 0
    assert newest_weights(store.root, "retriever", "tuned") != first
    capsys.readouterr()
    assert main(["search", project.facts()[-1][2], "--json"]) == 0, "by the weights of its index"
    found = json.loads(capsys.readouterr().out)
    assert found["hits"]
    assert main(["variants", "rollback"]) == 0


def test_pairs_are_exported_for_other_trainers(tmp_path, home, config, asked, capsys):
    first, *others = project.questions()
    asked([first | {"answer": [["hot", 300]]}, *others])
    file = tmp_path / "pairs.jsonl"
    assert main(["training", "export", str(file), "--part", "all"]) == 0
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert len(lines) == project.TRAIN
    answered = [line for line in lines if "answer" in line]
    assert [(line["query"], line["answer"]) for line in answered] == [
        (first["question"], "hot, 300")
    ], "what a generator learns from"
    assert all({*line} - {"answer"} == {"query", "pos", "neg"} for line in lines)
    assert lines[0]["pos"]
    assert lines[0]["neg"]
    assert main(["training", "export"]) == 2
    capsys.readouterr()


def test_wrong_units_are_of_the_domain_of_the_right_one(tmp_path, monkeypatch):
    """A model that learns rows as wrong texts of documents learns that rows are wrong."""
    small_project.make(tmp_path)
    asked = [
        {"id": "salt", "question": "Which alloy bears salt?", "gold": ["doc:salt.md"]},
        {"id": "heat", "question": "What expands with heat?", "gold": ["doc:heat.md"]},
        *(
            {"id": f"a{n}", "question": f"density of {n}", "gold": [f"row:alloys:{n}"]}
            for n in (1, 2)
        ),
    ]
    lines = [json.dumps({**each, "split": "train"}) for each in asked]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines) + "\n")
    with (tmp_path / "rag_assets.yaml").open("a") as file:
        file.write("training: {retrievers: {tuned: {model: minilm}}}\n")
    monkeypatch.setenv("RAG_ASSETS_CONFIG", str(tmp_path / "rag_assets.yaml"))
    monkeypatch.setattr(pairs, "FEWEST_QUESTIONS", 4)
    assert main(["refresh", "--variant", "default"]) == 0
    config = configuration.load()
    refresh_pairs(Store.of(config), config, log=print)

    store = Store.of(config)
    pin = set_of_recipe(store, config, "default").joint
    domains = store.read(pin.table, columns=["unit_id", "domain"], version=pin.version)
    of = dict(zip(*(domains[name].to_pylist() for name in ("unit_id", "domain")), strict=True))
    rows = read_pairs(store).to_pylist()
    assert {row["domain"] for row in rows} == {"document", "table"}
    for row in rows:
        assert row["negative_ids"], "in each domain something is wrong"
        assert {of[unit] for unit in row["negative_ids"]} == {row["domain"]}
