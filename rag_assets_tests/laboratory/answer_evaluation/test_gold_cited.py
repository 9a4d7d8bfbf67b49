"""Which gold evidence an answer cites."""

import pytest

from rag_assets.answering.quoting.unit_citations import span_of
from rag_assets.citations.kinds import Computed, Rows
from rag_assets.evaluation.gold import DocumentGold, RowGold
from rag_assets.laboratory.answer_evaluation.bench import GoldPlaces, cited_units, places_of
from rag_assets_tests.answering.found import document

TEXT = "The film is thin. Its density is 2.7 g per cubic\ncentimetre. It shines."
HIT = document("film", TEXT, pages=(3,))
PLACES = GoldPlaces({"a/film.pdf": [("shop", "film.md")]}, {"film": TEXT})
QUOTE = DocumentGold("a/film.pdf", None, "Density is 2.7 g per cubic centimetre")
ROWS = Rows("shop", "beams", {}, ("7",), 1)
COMPUTED = Computed("max", (), 0, {}, "", 3, None, "", ROWS)


def test_a_quote_is_cited_by_words_that_touch_it():
    assert PLACES.cites(QUOTE, [span_of(HIT, TEXT.index("Its"), TEXT.index(" It sh"))])
    assert not PLACES.cites(QUOTE, [span_of(HIT, 0, TEXT.index(" Its"))])


def test_a_quote_in_another_document_is_not_cited():
    places = GoldPlaces({"a/film.pdf": [("shop", "other.md")]}, {"film": TEXT})
    assert not places.cites(QUOTE, [span_of(HIT, 0, len(TEXT))])


def test_a_page_is_cited_by_any_words_on_it():
    whole = [span_of(HIT, 0, 5)]
    assert PLACES.cites(DocumentGold("a/film.pdf", 3), whole)
    assert not PLACES.cites(DocumentGold("a/film.pdf", 4), whole)


@pytest.mark.parametrize("citation", [ROWS, COMPUTED])
def test_a_row_is_cited_by_a_plan_that_selects_it(citation: Rows | Computed):
    assert PLACES.cites(RowGold("beams", "7"), [citation])
    assert PLACES.cites(RowGold("shop/beams", "7"), [citation])
    assert not PLACES.cites(RowGold("beams", "8"), [citation])


def test_a_quote_over_the_edge_of_a_unit_counts_by_its_part():
    quote = "in the end it holds. The film is thin"
    assert list(places_of(quote, "The film is thin. More follows.")) == []
    assert list(places_of(quote, "It holds. The film is thin")) == []
    held = "At first nothing. In the end it holds"
    assert list(places_of(quote, held)) == [(held.index("In the"), len(held))]


def test_units_are_counted_once():
    spans = [span_of(HIT, 0, 3), span_of(HIT, 4, 9)]
    assert len(cited_units([*spans, ROWS, COMPUTED])) == 3
