"""Questions whose gold lies in a superseded version are named, and count in no mean."""

import json

import pytest

from rag_assets.evaluation.evaluate import evaluate_file
from rag_assets.evaluation.evaluation_report import render
from rag_assets.serving.evaluation_text import scores
from rag_assets_tests.retrieval.corpus import VARIANT
from rag_assets_tests.retrieval.versioned import built, family_rows, write_families

QUESTIONS = [
    {"id": "new", "question": "What does v3 say of the pump?", "gold": ["doc:v3.md"]},
    {"id": "old", "question": "What did v1 say of the pump?", "gold": ["doc:v1.md"]},
    {"id": "other", "question": "What does other say?", "gold": ["doc:other.md"]},
]


@pytest.fixture
def project(tmp_path):
    store, config = built(tmp_path / "state", ["v1.md", "v2.md", "v3.md", "other.md"])
    write_families(store, config, family_rows())
    return store, config, tmp_path / "questions.jsonl"


def evaluated(project, questions=QUESTIONS, **retrieval):
    store, config, path = project
    path.write_text("\n".join(map(json.dumps, questions)), "utf-8")
    if retrieval:
        changed = config.retrieval.model_copy(update=retrieval)
        config = config.model_copy(update={"retrieval": changed})
    return evaluate_file(
        store, config, path=path, variant=VARIANT, retrievers=["bm25"], arms={}, log=lambda _: None
    )


def test_they_are_kept_apart_and_named(project):
    result = evaluated(project)
    assert result.record.questions == 2
    [apart] = result.record.superseded
    assert apart.question_id == "questions/old"
    assert apart.first_rank is not None
    assert "Gold that is superseded" in render(result)
    assert "1 question" in scores(result)


def test_where_all_versions_are_searched_nothing_is_apart(project):
    result = evaluated(project, versions="all")
    assert (result.record.questions, result.record.versions) == (3, "all")
    assert not result.record.superseded


def test_questions_that_are_all_superseded_are_measured_after_all(project):
    result = evaluated(project, QUESTIONS[1:2])
    assert result.record.questions == 1
    assert not result.record.superseded
