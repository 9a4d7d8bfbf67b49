"""The words of a quote are marked where they stand, or not at all."""

import pytest

from rag_assets.documents.figures.quotes import find_quotes, letters_of, places
from rag_assets_testing.documents.making import pdf

FIRST = "Welds of frame rails meet quality level B."
SECOND = "The throat of a fillet weld is 0.7 times the thinner sheet, and zinc is removed before."


def found(path, quote, *, text=None, before="", pages=(1,), blocks=None):
    quote, whole = letters_of(quote), letters_of(text or quote)
    first, *others = find_quotes(
        str(path),
        page=pages[0],
        pages=pages,
        quotes=[(quote, len(places(quote, letters_of(before))), len(places(quote, whole)))],
        blocks=blocks or [[] for _ in pages],
    )
    assert not others
    return first


@pytest.fixture
def paper(tmp_path):
    pytest.importorskip("pymupdf")
    pages = [f"<p>{FIRST} {SECOND}</p><p>Other words.</p>", f"<p>{FIRST}</p>"]
    return pdf(tmp_path / "paper.pdf", pages)


def test_each_line_of_a_quote_has_one_box(paper):
    placed = found(paper, f"{FIRST} {SECOND}")
    assert placed["page"] == 1
    assert 2 <= len(placed["boxes"]) <= 3
    tops = [box[1] for box in placed["boxes"]]
    assert tops == sorted(tops)
    for x0, y0, x1, y1 in placed["boxes"]:
        assert 0 < x0 < x1 < placed["width"]
        assert 5 < y1 - y0 < 30


def test_case_hyphens_and_ligatures_do_not_count(paper):
    exact = found(paper, SECOND)
    assert found(paper, SECOND.upper().replace("fillet", "fil-\nlet"))["boxes"] == exact["boxes"]
    assert exact["boxes"]


def test_words_that_stand_twice_are_not_marked_unless_the_unit_says_which(paper):
    assert found(paper, FIRST, pages=(1, 2))["boxes"] == []
    twice = f"{FIRST} {SECOND} {FIRST}"
    second = found(paper, FIRST, text=twice, before=f"{FIRST} {SECOND}", pages=(1, 2))
    assert (second["page"], len(second["boxes"])) == (2, 1)


def test_words_outside_the_blocks_of_the_unit_are_not_marked(paper):
    [box] = found(paper, FIRST)["boxes"]
    inside = found(paper, FIRST, pages=(1, 2), blocks=[[box], []])
    assert (inside["page"], inside["boxes"]) == (1, [box])
    assert found(paper, "Other words.", blocks=[[box]])["boxes"] == []


def test_words_that_are_not_there_are_not_marked(paper):
    placed = found(paper, "Nobody wrote this.")
    assert (placed["page"], placed["boxes"]) == (1, [])
    assert placed["picture"]
