"""A report without a language model: an outline, what to read, and one table of what is named."""

import pytest

from rag_assets.answering.assistant import Assistant
from rag_assets.answering.reporting.cited_report import from_json, to_json
from rag_assets.answering.reporting.forms import as_docx, as_html, as_markdown
from rag_assets.citations.kinds import Cell, Span
from rag_assets.retrieval.filters import Filters
from rag_assets.store import Store
from rag_assets_testing.faults import pipeline
from rag_assets_tests.answering import project

LAPTOP = """\
# Laptop

## Screen

The laptop's screen has 14 inches. {}

## Battery life

It runs for nine hours. {}
""".format(*(" ".join(f"Model {n} of {what} is like it." for n in range(24)) for what in "ab"))
"""Each section is a chunk of its own."""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    home = tmp_path_factory.mktemp("project")
    config = project.built(home)
    (home / "documents" / "laptop.md").write_text(LAPTOP)
    pipeline.refresh(config)
    return Assistant(Store.of(config), config, "default").report


def test_sections_list_the_passages_to_read(report):
    found = report("Write a report on springs:\n- stiffness of springs\n- salt spray\n- Invar")
    assert [section.title for section in found.sections] == [
        "Stiffness of springs",
        "Salt spray",
        "Invar",
    ]
    first = found.sections[0].sentences[0]
    assert first.text == "Its stiffness is 12 N/mm at room temperature."
    assert first.compared == "verbatim"
    assert "- Its stiffness is 12 N/mm at room temperature. [1]" in as_markdown(found)
    assert "No language model wrote it" in as_markdown(found)
    assert "Taken as one topic" not in as_markdown(found)
    assert found.comparison is None


def test_a_prompt_without_a_list_is_one_topic_and_the_report_says_what_it_needs(report):
    shown = as_markdown(report("Write a report on springs covering stiffness and paint"))
    assert "Taken as one topic: for sections of its own, list them in the prompt" in shown
    assert "answering.report.decomposer" in shown


def test_what_is_named_stands_side_by_side_and_nothing_else(report):
    found = report("Compare AlMg3 and Invar")
    assert found.comparison is not None
    assert found.comparison.names == ("AlMg3", "Invar")
    density = found.comparison.lines[-1]
    assert (density.heading, *map(str, density.values)) == ("density", "2.66", "8.05")
    assert {each.row_key for each in found.citations if isinstance(each, Cell)} == {"1", "2"}
    assert from_json(to_json(found)) == found


def test_the_comparison_stands_in_each_form(report):
    found = report("Compare AlMg3 and Invar")
    assert "|  | AlMg3 [1] | Invar [2] |" in as_markdown(found)
    assert "| density | 2.66 | 8.05 |" in as_markdown(found)
    cards = {each.place: () for each in found.citations}
    assert "<tr><td>density</td><td>2.66</td><td>8.05</td></tr>" in as_html(found, cards)
    assert as_docx(found)


def test_where_tables_are_filtered_none_is_compared(report):
    found = report("Compare AlMg3 and Invar", filters=Filters(domain="document"))
    assert found.comparison is None


def test_a_heading_in_other_words_covers_a_sub_topic(report):
    found = report("Write a report on the laptop:\n- screen size\n- weight limits\n- lifetime")
    titles = [section.title for section in found.sections]
    assert "Lifetime" in titles
    [lifetime] = [section for section in found.sections if section.title == "Lifetime"]
    cited = [each for sentence in lifetime.sentences for each in sentence.citations]
    assert {each.section for each in cited if isinstance(each, Span)} == {"Laptop > Battery life"}


def test_a_name_that_is_not_there_stays_not_covered(report):
    found = report("Report on the laptop:\n- screen size\n- battery life\n- Kestrel 900 docks")
    assert [each.title for each in found.not_covered] == ["Kestrel 900 docks"]
