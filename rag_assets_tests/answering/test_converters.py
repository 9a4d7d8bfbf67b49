"""There and back through the forms of hosted models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.answer import Sentence
from rag_assets.answering.citations import Cell, Span
from rag_assets.answering.converters import (
    ForeignCitationError,
    Given,
    from_anthropic,
    from_openai,
    to_anthropic,
    to_openai,
)

GIVEN = (
    Given("u1", "h1", "docs", "a.pdf", "A", "One is first. Two is second.", pages=(2, 3)),
    Given("u2", "h2", "docs", "b.md", "B", "Three is third."),
)
URLS = {"u1": "https://example.org/u1", "u2": "https://example.org/u2"}
NAMES = {url: unit for unit, url in URLS.items()}
CELL = Cell("u2", "h2", "lab", "steels", "7", "rm", "Strength", 355, "MPa")


@st.composite
def spans(draw: st.DrawFn) -> Span:
    source = draw(st.sampled_from(GIVEN))
    start = draw(st.integers(0, len(source.text) - 1))
    return source.span(start, draw(st.integers(start + 1, len(source.text))))


sentences = st.lists(
    st.builds(
        Sentence,
        st.text(alphabet="ab.", min_size=1, max_size=9),
        st.lists(spans(), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


@given(sentences)
def test_characters_survive_there_and_back(said: list[Sentence]):
    blocks = to_anthropic(said, GIVEN, form="char_location")
    assert from_anthropic(blocks, GIVEN) == tuple(said)


@given(sentences)
def test_pages_keep_the_words(said: list[Sentence]):
    back = from_anthropic(to_anthropic(said, GIVEN, form="page_location"), GIVEN)
    for before, after in zip(said, back, strict=True):
        paged = [each for each in before.citations if isinstance(each, Span) and each.pages]
        assert [(c.unit_id, c.text) for c in paged] == [
            (c.unit_id, c.text) for c in after.citations if isinstance(c, Span)
        ]


@given(sentences)
def test_search_results_keep_the_source_and_the_words(said: list[Sentence]):
    back = from_anthropic(to_anthropic(said, GIVEN, form="search_result_location"), GIVEN)
    for before, after in zip(said, back, strict=True):
        kept = [(c.unit_id, c.text) for c in before.citations if isinstance(c, Span)]
        assert [(c.unit_id, c.text) for c in after.citations if isinstance(c, Span)] == kept


@given(sentences)
def test_annotations_keep_the_units_of_each_sentence(said: list[Sentence]):
    output = to_openai(said, urls=URLS)
    back = from_openai(output, GIVEN, names=NAMES)
    cited = [each for each in said if each.citations]
    for before, after in zip(cited, [each for each in back if each.citations], strict=True):
        assert after.text == before.text
        assert {getattr(c, "unit_id", "") for c in after.citations} == {
            getattr(c, "unit_id", "") for c in before.citations
        }


def test_pages_end_behind_the_last_one():
    said = [Sentence("One.", (GIVEN[0].span(0, 3),))]
    [block] = to_anthropic(said, GIVEN, form="page_location")
    assert block["citations"] == [
        {
            "type": "page_location",
            "cited_text": "One",
            "document_index": 0,
            "document_title": "A",
            "start_page_number": 2,
            "end_page_number": 4,
        }
    ]


def test_a_cell_is_sent_as_a_search_result_in_words():
    [block] = to_anthropic([Sentence("x", (CELL,))], GIVEN, form="char_location")
    [citation] = block["citations"]
    assert citation["type"] == "search_result_location"
    assert citation["cited_text"] == "Strength: 355 MPa"


def test_a_file_citation_holds_for_the_words_before_it():
    output = {
        "text": "One is first. Nobody knows.",
        "annotations": [{"type": "file_citation", "index": 13, "file_id": "f1", "filename": "a"}],
    }
    first, second = from_openai(output, GIVEN, names={"f1": "u1"})
    assert (first.text, len(first.citations)) == ("One is first.", 1)
    assert (second.text, second.citations) == ("Nobody knows.", ())


@pytest.mark.parametrize(
    ("citation", "says"),
    [
        ({"type": "web"}, "no citation of the type 'web'"),
        ({"type": "char_location", "document_index": 5}, "2 sources were given"),
        (
            {
                "type": "char_location",
                "document_index": 1,
                "start_char_index": 3,
                "end_char_index": 99,
            },
            "source 1 has 15",
        ),
    ],
)
def test_a_citation_of_what_was_not_given_is_refused(citation: dict, says: str):
    with pytest.raises(ForeignCitationError, match=says):
        from_anthropic([{"type": "text", "text": "x", "citations": [citation]}], GIVEN)
