"""The table of made questions follows the documents, and what people decided is kept."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import config as configuration
from rag_assets import schemas
from rag_assets.config import QuestionSet
from rag_assets.evaluation.questions import (
    brought,
    question_rows,
    read_questions,
    refresh_questions,
)
from rag_assets.questions import counts
from rag_assets.questions.draft import split_of
from rag_assets.questions.making import GENERATED, INPUTS_A_COMMIT, refresh_generated
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.store import Store
from rag_assets_testing import effort
from rag_assets_tests.questions.first_sentences import FirstSentences

DOCUMENTS = 300


class Project:
    """Documents, their manifest, and the questions that are made of them."""

    def __init__(self, home, *, documents=DOCUMENTS):
        self.home = home
        (home / "documents").mkdir(parents=True)
        (home / "rag_assets.yaml").write_text("state_dir: state\nsources: {documents: documents}\n")
        self.config = configuration.load(home / "rag_assets.yaml")
        self.store = Store.of(self.config)
        for number in range(documents):
            self.write(number, f"Report {number} tells of steel. It says no more")

    def write(self, number, text):
        (self.home / "documents" / f"{number}.md").write_text(text)

    def remove(self, number):
        (self.home / "documents" / f"{number}.md").unlink()

    def text(self, number):
        """Of a document; empty where it is not there."""
        file = self.home / "documents" / f"{number}.md"
        return file.read_text() if file.exists() else ""

    def make(self, sentences):
        silent = {"log": lambda _: None}
        refresh_document_files(
            self.store, self.config.sources.documents, allow_shrink=True, **silent
        )
        return refresh_generated(self.store, self.config, [sentences.maker], **silent)

    def ask(self):
        return refresh_questions(self.store, self.config, log=lambda _: None)

    def decide(self, **decision):
        file = self.config.questions.review_file
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as lines:
            lines.write(json.dumps(decision) + "\n")

    @property
    def made(self):
        rows = self.store.read(GENERATED.table)
        return rows.sort_by("question_id").to_pylist()


@pytest.fixture
def few(tmp_path):
    """A project of three documents whose questions were made."""
    project = Project(tmp_path, documents=3)
    project.make(FirstSentences())
    return project


def test_an_edited_document_of_300_makes_its_own_questions_again_and_no_others(tmp_path):
    project = Project(tmp_path)
    assert project.make(FirstSentences()).added == DOCUMENTS
    project.write(7, "Report 7 tells of brass. It says more")
    again = FirstSentences()
    report = project.make(again)

    assert (report.changed, report.added, report.removed) == (1, 0, 0)
    assert report.unchanged == DOCUMENTS - 1
    assert len(again.asked) == 1
    assert {row["question"] for row in project.made if row["input_id"] == again.asked[0]} == {
        "Report 7 tells of brass",
        "It says more",
    }
    nothing = FirstSentences()
    assert project.make(nothing).unchanged == DOCUMENTS
    assert nothing.asked == []


NUMBERS = st.integers(0, 5)
EDIT = st.tuples(st.sampled_from(["write", "remove", "copy", "rename", "make"]), NUMBERS, NUMBERS)


@effort.examples(4, at_night=60)
@given(edits=st.lists(EDIT, min_size=3, max_size=12))
def test_a_refresh_after_edits_equals_a_rebuild(tmp_path_factory, edits):
    project = Project(tmp_path_factory.mktemp("edited"), documents=4)
    project.make(FirstSentences())
    for what, number, other in edits:
        if what == "make":
            project.make(FirstSentences())
        elif what == "write":
            project.write(number, f"Report {number} tells of brass {other}. It says more")
        elif text := project.text(number):
            if what in ("remove", "rename"):
                project.remove(number)
            if what in ("copy", "rename"):
                project.write(other, text)
    project.make(FirstSentences())
    project.ask()
    fresh = Project(tmp_path_factory.mktemp("fresh"), documents=0)
    for number in range(6):
        if text := project.text(number):
            fresh.write(number, text)
    fresh.make(FirstSentences())
    fresh.ask()

    assert project.made == fresh.made
    assert read_questions(project.store) == read_questions(fresh.store)


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    project = Project(tmp_path / "killed", documents=3 * INPUTS_A_COMMIT)
    killed = FirstSentences(dies_after=2 * INPUTS_A_COMMIT + 1)
    with pytest.raises(KeyboardInterrupt):
        project.make(killed)
    rest = FirstSentences()
    project.make(rest)

    assert len(rest.asked) < 3 * INPUTS_A_COMMIT
    assert {*killed.asked, *rest.asked} == {row["input_id"] for row in project.made}
    whole = Project(tmp_path / "whole", documents=3 * INPUTS_A_COMMIT)
    whole.make(FirstSentences())
    assert project.made == whole.made


def test_what_got_no_answer_is_named_and_tried_again(tmp_path):
    project = Project(tmp_path, documents=3)
    report = project.make(FirstSentences(failing={"1.md"}))
    assert [(one.label, one.kind) for one in report.failures] == [("1.md", "environment")]
    again = FirstSentences()

    assert project.make(again).failed == 0
    assert len(again.asked) == 1


def test_all_questions_of_a_document_are_in_one_split(few):
    assert {row["input_id"]: row["split"] for row in few.made} == {
        row["input_id"]: split_of(row["input_id"]) for row in few.made
    }
    assert {split_of(str(number)) for number in range(20)} == {"dev", "test"}


def test_a_share_of_the_documents_is_to_train_on_and_measures_nothing(tmp_path):
    project = Project(tmp_path, documents=20)
    project.make(FirstSentences())
    project.ask()
    questions = project.config.questions.model_copy(update={"train": 0.5})
    project.config = project.config.model_copy(update={"questions": questions})
    project.ask()

    rows = question_rows(project.store).to_pylist()
    measured = {one.question_id for one in read_questions(project.store)}
    to_train = {row["question_id"] for row in rows if row["split"] == "train"}
    assert len(rows) / 4 < len(to_train) < len(rows) * 3 / 4
    assert measured == {row["question_id"] for row in rows} - to_train


def test_it_is_counted_what_was_made_and_why_something_was_left_out(few):
    few.write(1, "Short. It is long enough")
    few.make(FirstSentences())

    assert sum(row["questions"] for row in counts.counted(few.store)) == 5
    example = {"left_out": "too short: no words", "question": "Short"}
    assert counts.left_out(few.store) == [
        {"origin": "known_items", "reason": "too short", "questions": 1, **example}
    ]


def test_a_question_of_several_documents_is_asked_only_where_a_person_kept_it(few):
    few.ask()

    asked = sorted(question.text for question in read_questions(few.store))
    assert len(few.made) == 6
    assert asked == [f"Report {number} tells of steel" for number in range(3)]

    kept = next(row for row in few.made if row["question"] == "It says no more")
    few.decide(id=kept["question_id"], decision="keep")
    few.ask()

    asked = {question.question_id for question in read_questions(few.store)}
    assert kept["question_id"] in asked
    assert len(asked) == 4


def test_what_was_dropped_is_not_asked_and_what_was_reworded_is_asked_so(few):
    first, second, *_ = (row for row in few.made if row["question"].startswith("Report"))
    few.decide(id=first["question_id"], decision="drop")
    few.decide(id=second["question_id"], decision="drop")
    few.decide(id=second["question_id"], decision="keep", question="Of what is it told?")
    few.decide(id="known_items/not made", decision="drop")
    few.ask()
    asked = {question.question_id: question.text for question in read_questions(few.store)}

    assert first["question_id"] not in asked
    assert asked[second["question_id"]] == "Of what is it told?"


def test_what_people_decided_outlives_that_the_questions_are_made_again(few):
    first = few.made[0]
    few.decide(id=first["question_id"], decision="drop")
    before = few.config.questions.review_file.read_bytes()
    few.write(1, "It says no more. Report 1 tells of steel")  # the same questions
    few.make(FirstSentences())
    few.ask()

    assert first["question_id"] in {row["question_id"] for row in few.made}
    assert first["question_id"] not in {one.question_id for one in read_questions(few.store)}
    assert few.config.questions.review_file.read_bytes() == before


def test_a_bad_decision_is_named_with_its_line_and_remedy(few):
    few.decide(id="known_items/1", decision="perhaps")
    report = few.ask()

    assert [one.reason for one in report.failures] == [
        "review.jsonl line 1: decision = 'perhaps': write keep or drop"
    ]
    assert report.added == 3


def test_questions_of_people_are_a_set_of_their_own(few):
    file = few.config.questions.people_file
    file.parent.mkdir()
    line = {"id": "1", "question": "Which steel?", "gold": ["doc:1.md"], "origin": "asked"}
    file.write_text(json.dumps(line) + "\n{not json\n")
    report = few.ask()

    (own,) = (one for one in read_questions(few.store) if one.question_set == "people")
    assert own.text == "Which steel?"
    assert "people.jsonl line 2" in report.failures[0].reason


def test_another_model_or_chunking_of_the_variant_makes_nothing_again(few):
    variants = {
        name: recipe.model_copy(update={"chunking": "fixed_512"})
        for name, recipe in few.config.variants.items()
    }
    few.config = few.config.model_copy(update={"variants": variants})
    again = FirstSentences()

    assert few.make(again).unchanged == 3
    assert again.asked == []


def test_a_question_has_the_columns_of_its_table(few):
    for row in few.made:
        assert set(schemas.GENERATED_QUESTIONS.names) == set(row)
        assert row["document_id"] == row["input_id"]
        assert row["question_id"].startswith("known_items/")


def test_made_questions_stand_back_where_people_brought_their_own(few):
    few.ask()
    made = read_questions(few.store)
    people = replace(made[0], question_id="own/1", question_set="own")

    assert brought([*made, people], few.config) == [people]
    assert brought(made, few.config) == made

    of_program = QuestionSet(name="own", path=Path("x.jsonl"), generated=True)
    evaluation = few.config.evaluation.model_copy(update={"questions": [of_program]})
    config = few.config.model_copy(update={"evaluation": evaluation})
    assert brought([*made, people], config) == [*made, people]


def test_questions_that_a_sign_tells_apart_are_two(few):
    few.write(1, "Which steel is used below -5 °C?. Which steel is used below 5 °C?")
    few.make(FirstSentences())
    few.ask()

    asked = {question.text for question in read_questions(few.store)}
    assert {"Which steel is used below -5 °C?", "Which steel is used below 5 °C?"} <= asked
