"""Made questions that a person keeps, drops and rewords."""

import argparse
import sys

import pytest

from rag_assets import config as configuration
from rag_assets.evaluation.gold import DocumentGold, RowGold, to_json
from rag_assets.evaluation.questions import read_questions
from rag_assets.questions import reviewing
from rag_assets.serving import question_labels
from rag_assets.serving.commands.questions import run
from rag_assets.store import Store
from rag_assets.tables.table_rows import refresh_rows
from rag_assets_tests.questions.first_sentences import FirstSentences
from rag_assets_tests.questions.labellers import Labeller
from rag_assets_tests.questions.test_making import Project
from rag_assets_tests.tables.exported_tables import STEEL, write_table


@pytest.fixture
def made(tmp_path):
    """A project of three documents, whose questions were made."""
    project = Project(tmp_path, documents=3)
    project.make(FirstSentences(origin="from_documents"))
    return project


@pytest.fixture
def review(made, monkeypatch):
    def review(labeller):
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", labeller)
            patched.setattr(sys, "stderr", labeller.screen)
            return question_labels.review(made.config).record

    return review


def test_a_sentence_cut_from_a_document_is_no_question_for_people(tmp_path, monkeypatch):
    project = Project(tmp_path, documents=3)
    project.make(FirstSentences(origin="known_items"))
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(tmp_path / "rag_assets.yaml"))
    monkeypatch.setattr(sys, "stdin", Labeller(lambda question, _: pytest.fail(question)))

    assert question_labels.review(project.config).text.startswith("No question waits")
    assert "no questions for people" in run(argparse.Namespace(action="stats", file=None)).text


def test_decisions_are_written_down_and_count_in_the_sets(made, review):
    lines = {
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
    assert (record["kept"], record["dropped"], record["left"]) == (1, 1, 1)
    made.ask()
    assert {each.text for each in read_questions(made.store)} == {
        "What does report 1 tell of?",
        "Report 2 tells of steel",
    }


def test_only_what_was_skipped_is_asked_again(review):
    review(Labeller(lambda question, _: "s" if question.startswith("Report 2") else "k"))
    again = Labeller(lambda *_: "k")

    record = review(again)

    assert [question[:8] for question in again.asked] == ["Report 2"]
    assert (record["kept"], record["left"]) == (1, 0)


def test_without_made_questions_nothing_is_asked(tmp_path):
    project = Project(tmp_path / "none", documents=0)

    assert "No question waits" in question_labels.review(project.config).text


def test_rows_are_shown_as_they_stand_at_the_source(tmp_path):
    store = Store(tmp_path)
    write_table(store, STEEL)
    refresh_rows(store, sources={"db"}, log=lambda _: None)
    gold = (RowGold("db/metals", "1"), DocumentGold("a.md", quote="It melts"))
    row = {"question_id": "x", "question": "How hot?", "answer": "1340", "gold": to_json(gold)}

    [(screen, _)] = reviewing.screens(store, [row], file=tmp_path / "review.jsonl")

    cells = "Material: Steel A; Melting point: 1340; Yield strength: 240 MPa"
    assert [each.text for each in screen.items] == [cells, "It melts"]
