"""What a report holds of what was expected of it."""

import json
import math
from dataclasses import replace

import pytest

from rag_assets.answering.quoting.unit_citations import span_of
from rag_assets.answering.reporting.cited_report import ReportSection
from rag_assets.citations.sentences import Sentence
from rag_assets.laboratory.experiments.report_prompts import (
    ReportPromptsError,
    holds_fact,
    measures_of,
    read_report_prompts,
)
from rag_assets_tests.answering.found import document

PROMPT = {
    "id": "one",
    "prompt": "Write a report on springs covering stiffness and paint.",
    "language": "en",
    "sections": [
        {
            "title": "Stiffness",
            "documents_pages": {"spring.md": [1, 2]},
            "facts": ["The stiffness is 12 N/mm."],
        },
        {"title": "Paint", "documents_pages": {"paint.md": []}, "facts": ["The paint is red."]},
    ],
}
FIRST = document("spring", "Its stiffness is 12 N/mm.", pages=(2, 3))
OTHER = document("other", "Nothing of it.", rank=2, pages=(1,))
PAINT = document("paint", "The paint is red.", rank=3)


@pytest.fixture
def prompt(tmp_path):
    (tmp_path / "prompts.json").write_text(json.dumps([PROMPT]))
    [found] = read_report_prompts(tmp_path / "prompts.json")
    return found


def section(*hits):
    told = [Sentence(hit.text, (span_of(hit, 0, len(hit.text)),), "full") for hit in hits]
    return ReportSection("Stiffness", "stiffness", tuple(told))


def test_pages_count_among_the_first_units_and_a_document_without_pages_as_one(prompt):
    found = measures_of(prompt, [OTHER, FIRST, *[OTHER] * 3, PAINT], [])
    assert found["page recall@5"] == pytest.approx(1 / 3)
    assert found["page recall@10"] == pytest.approx(2 / 3)
    assert found["reciprocal rank"] == 1 / 2
    assert (found["documents"], found["pages"]) == (3, 4)


def test_the_gain_of_pages_falls_with_the_rank_of_the_unit_that_shows_a_new_one(prompt):
    best = measures_of(prompt, [FIRST, replace(FIRST, pages=(1,)), PAINT], [])
    assert best["page ndcg@10"] == best["page ndcg@20"] == pytest.approx(1)
    late = measures_of(prompt, [OTHER, FIRST, FIRST, PAINT], [])
    ideal = sum(1 / math.log2(rank + 1) for rank in (1, 2, 3))
    assert late["page ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_sections_and_facts_are_found_by_units_and_told_by_the_report(prompt):
    found = measures_of(prompt, [FIRST, OTHER], [section(FIRST)])
    assert (found["expected sections found"], found["facts found"]) == (0.5, 0.5)
    assert (found["expected sections told"], found["facts told"]) == (0.5, 0.5)
    assert (found["places cited"], found["units cited"]) == (1, 0.5)


def test_a_report_of_nothing_scores_nothing(prompt):
    found = measures_of(prompt, [], [])
    assert {value for name, value in found.items() if not name.startswith("reci")} == {0}


def test_facts_of_a_prompt_that_names_none_are_not_measured(prompt):
    bare = replace(prompt, sections=[replace(each, facts=[]) for each in prompt.sections])
    found = measures_of(bare, [FIRST], [section(FIRST)])
    assert math.isnan(found["facts found"])
    assert math.isnan(found["facts told"])


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("The stiffness of springs is 12 N/mm at rest.", True),
        ("The stiffness is 13 N/mm.", False),
        ("It is 12 N/mm.", True),
        ("It is stiff.", False),
    ],
)
def test_a_fact_is_held_where_its_numbers_and_most_of_its_words_are(text, held):
    assert holds_fact("The stiffness is 12 N/mm.", [text]) is held


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[]", "holds no prompt"),
        ("nonsense", "prompts.json"),
        (json.dumps([{**PROMPT, "sections": []}]), "prompt one names no page"),
        (json.dumps([{**PROMPT, "sections": [{"title": "x"}]}]), "documents_pages"),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path, content, says):
    (tmp_path / "prompts.json").write_text(content)
    with pytest.raises(ReportPromptsError, match=says):
        read_report_prompts(tmp_path / "prompts.json")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ReportPromptsError, match=r"nowhere\.json cannot be read"):
        read_report_prompts(tmp_path / "nowhere.json")


def test_units_of_two_documents_with_one_text_are_two_places(prompt):
    again = replace(FIRST, uri="again.md")
    assert measures_of(prompt, [FIRST, again], [])["pages"] == 4
