"""Parsed documents are held against what their authors say of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.laboratory.experiments import outlines
from rag_assets.laboratory.experiments.outlines import Bookmark
from rag_assets.laboratory.experiments.parser_comparison import (
    Heading,
    Quote,
    Score,
    heading_score,
    page_score,
    share,
    shown,
    words_of,
)


def shares(score: Score) -> tuple[float, float]:
    """Recall and precision of headings."""
    return tuple(share(score, "matched", of=whole) for whole in ("bookmarks", "headings"))


def test_headings_match_by_words_whatever_their_number_and_case():
    outline = [Bookmark("Samples and Methods", 3, 1), Bookmark("Creep at 700 °C", 4, 2)]
    found = [Heading("2 SAMPLES AND METHODS", 3, 1), Heading("2.1. Creep at 700°C", 4, 2)]
    score = heading_score(outline, found)
    assert shares(score) == (1.0, 1.0)
    assert (score["right page"], score["right level"]) == (2, 2)


def test_a_heading_far_from_its_bookmark_or_not_in_the_outline_counts_against_the_parser():
    outline = [Bookmark("Results", 9, 1), Bookmark("Creep", 10, 2)]
    found = [Heading("Results", 4, 1), Heading("Creep", 11, 1), Heading("Note", 11, 1)]
    score = heading_score(outline, found)
    assert shares(score) == (1 / 2, 1 / 3)
    assert (score["right page"], score["right level"]) == (0, 1)


def test_levels_are_compared_after_the_shift_that_fits_most():
    outline = [Bookmark(title, 1, level) for title, level in zip("abcd", (2, 3, 3, 4), strict=True)]
    found = [Heading(title, 1, level) for title, level in zip("abcd", (1, 2, 2, 2), strict=True)]
    assert heading_score(outline, found)["right level"] == 3


def test_equal_headings_are_matched_one_to_one_with_the_nearest():
    outline = [Bookmark("Summary", 2, 1), Bookmark("Summary", 8, 1)]
    assert heading_score(outline, [Heading("Summary", 8, 1)])["matched"] == 1
    both = [Heading("Summary", 8, 1), Heading("Summary", 2, 1)]
    assert heading_score(outline, both)["right page"] == 2


def test_headings_are_found_to_no_share_of_an_outline_that_is_not_there():
    score = heading_score([], [Heading("Summary", 8, 1)])
    found = [shown(score, "matched", of=whole) for whole in ("bookmarks", "headings")]
    assert found == ["no bookmarks", "0.0%"]


def test_a_heading_that_is_only_a_number_is_compared_as_it_is():
    assert words_of("A.1 ") == words_of("a 1")
    assert words_of("304") == "304"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), max_size=8))
def test_an_outline_matches_itself(pairs):
    outline = [Bookmark(title, page, 1) for title, page in pairs]
    score = heading_score(outline, [Heading(title, page, 1) for title, page in pairs])
    assert score["matched"] == score["right page"] == len(pairs)


def test_quotes_are_looked_for_on_their_page_first():
    pages = {1: "The rotor was forged.", 2: "Its hard-\nness is 220 HB."}
    quotes = [
        Quote("rotor was FORGED", 1),
        Quote("hardness is 220 HB", 1),
        Quote("forged. Its hardness", 1),
        Quote("cast", 2),
    ]
    score = page_score(quotes, pages)
    assert score == {"quotes": 4, "found": 3, "right page": 1}
    assert share(score, "right page", of="found") == pytest.approx(1 / 3)


def test_the_outline_of_a_pdf_is_read_with_pages_and_levels(tmp_path):
    pymupdf = pytest.importorskip("pymupdf")
    document = pymupdf.open()
    for _ in range(3):
        document.new_page()
    document.set_toc([[1, "Scope", 1], [2, "Test  pieces", 2], [1, "Results", 3]])
    document.save(tmp_path / "report.pdf")
    read = outlines.read(str(tmp_path / "report.pdf"))
    assert [Bookmark(**entry) for entry in read] == [
        Bookmark("Scope", 1, 1),
        Bookmark("Test pieces", 2, 2),
        Bookmark("Results", 3, 1),
    ]
