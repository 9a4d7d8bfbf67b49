"""Made questions that a person keeps, drops and rewords."""

import sys

import pytest

from rag_assets.evaluation.questions import read_questions
from rag_assets.serving import question_labels
from rag_assets_tests.questions.first_sentences import FirstSentences
from rag_assets_tests.questions.labellers import Labeller
from rag_assets_tests.questions.test_making import Project


@pytest.fixture
def made(tmp_path):
    """A project of three documents, whose questions were made."""
    project = Project(tmp_path, documents=3)
    project.make(FirstSentences())
    return project


@pytest.fixture
def review(made, monkeypatch):
    def review(labeller):
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", labeller)
            patched.setattr(sys, "stderr", labeller.screen)
            return question_labels.review(made.config).record

    return review


def test_decisions_are_written_down_and_count_in_the_sets(made, review):
    lines = {
        "It says no more": ["k"],
        "Report 0 tells of steel": ["d"],
        "Report 1 tells of steel": ["e What does report 1 tell of?", "k"],
        "Report 2 tells of steel": ["s"],
    }
    golds = {}

    def decide(question, items):
        golds.setdefault(question, items)
        return lines[question].pop(0)

    record = review(Labeller(decide))

    assert all(question in gold for question, [gold] in golds.items())
    assert (record["kept"], record["dropped"], record["left"]) == (2, 1, 1)
    made.ask()
    assert {each.text for each in read_questions(made.store)} == {
        "What does report 1 tell of?",
        "Report 2 tells of steel",
        "It says no more",
    }


def test_only_what_was_skipped_is_asked_again(review):
    review(Labeller(lambda question, _: "s" if question.startswith("Report 2") else "k"))
    again = Labeller(lambda *_: "k")

    record = review(again)

    assert [question[:8] for question in again.asked] == ["Report 2"]
    assert (record["kept"], record["left"]) == (1, 0)


def test_without_made_questions_nothing_is_asked(tmp_path):
    project = Project(tmp_path / "none", documents=0)

    assert "left: 0" in question_labels.review(project.config).text
