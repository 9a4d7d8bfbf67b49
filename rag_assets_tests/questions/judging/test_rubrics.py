"""Rubrics are files; what they say is complete, and known by its hash."""

from importlib import resources

import pytest

from rag_assets.config import JudgeSettings
from rag_assets.config.evaluation import RUBRICS
from rag_assets.questions.judging.rubrics import OVERALL, PACKAGE, read_rubric
from rag_assets.questions.judging.verdicts import JudgedItem


def test_every_file_is_a_name_of_the_config():
    files = (resources.files(PACKAGE) / "rubrics").iterdir()
    assert sorted(file.name.removesuffix(".toml") for file in files) == sorted(RUBRICS)


def test_a_judge_asks_in_the_order_that_kept_judgments_are_known_by():
    asked = JudgeSettings(model="writer").rubrics
    assert asked[:3] == ["answer_scores", "answer_ranking", "correctness"]
    assert asked[3:6] == ["faithfulness", "answer_relevancy", "context_relevancy"]
    assert asked[6:9] == ["report_scores", "hit_relevance", "sentence_support"]


@pytest.mark.parametrize("name", RUBRICS)
def test_the_prompt_names_each_dimension_with_its_scale(name):
    rubric = read_rubric(name)
    for dimension, one in rubric.dimensions.items():
        assert f"- {dimension}" in rubric.system
        assert one.asks in rubric.system
    assert "$" not in rubric.system
    assert rubric.task in rubric.system
    assert {*rubric.optional} <= {*rubric.parts}


def test_the_weights_of_p4_sum_to_one_and_those_of_p3_to_a_share():
    report, context = read_rubric("report_scores"), read_rubric("context_relevancy")
    assert [*report.weights.values()] == [0.25, 0.20, 0.20, 0.15, 0.10, 0.10]
    assert report.scale_of(OVERALL) == pytest.approx((1, 5))
    assert context.scale_of(OVERALL) == (0, 1)


def test_another_word_is_another_rubric():
    rubric = read_rubric("faithfulness")
    assert rubric.hash == read_rubric("faithfulness").hash
    assert rubric.model_copy(update={"task": "You guess."}).hash != rubric.hash


def test_a_rubric_applies_where_its_texts_are_there():
    answer = JudgedItem("answer", {"question": "Which?", "answer": "That.", "reference": ""})
    assert not read_rubric("answer_scores").applies_to(answer)
    assert read_rubric("correctness").applies_to(answer)
    assert not read_rubric("context_relevancy").applies_to(answer)
