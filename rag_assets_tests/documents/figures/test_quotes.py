"""The words of a quote are marked where they stand, or not at all."""

import pytest

from rag_assets.documents.figures.quotes import find_quotes, letters_of, places
from rag_assets.documents.parsers.engines.page_view import PageView
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


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_a_line_has_one_box_whichever_way_the_page_is_turned(paper, tmp_path, turned):
    import pymupdf

    with pymupdf.open(paper) as document:
        document[0].set_rotation(turned)
        document.save(tmp_path / "turned.pdf")
    [(left, _, right, _)] = found(paper, FIRST)["boxes"]
    [(x0, y0, x1, y1)] = found(tmp_path / "turned.pdf", FIRST)["boxes"]
    assert max(x1 - x0, y1 - y0) == pytest.approx(right - left, abs=0.1)


def test_words_that_are_written_up_the_page_have_one_box(tmp_path):
    pymupdf = pytest.importorskip("pymupdf")
    with pymupdf.open() as document:
        document.new_page().insert_text((300, 600), "Length of the rail in mm", rotate=90)
        document.save(tmp_path / "label.pdf")
    [(x0, y0, x1, y1)] = found(tmp_path / "label.pdf", "of the rail")["boxes"]
    assert y1 - y0 > 3 * (x1 - x0)


def test_signs_between_letters_and_blanks_of_a_listing_belong_to_their_line(tmp_path):
    pymupdf = pytest.importorskip("pymupdf")
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((60, 100), "1 /*------------------*- C++ -*-----------------*")
        page.insert_text((60, 120), "12              dimensions")
        document.save(tmp_path / "listing.pdf")
    [(left, _, right, _)] = found(tmp_path / "listing.pdf", "1 /*- C++")["boxes"]
    assert right - left > 100
    [(left, _, right, _)] = found(tmp_path / "listing.pdf", "12 dimensions")["boxes"]
    assert right - left > 80


def test_words_from_right_to_left_have_one_box_for_each_line(tmp_path):
    pymupdf = pytest.importorskip("pymupdf")
    said = "הרתכים של מסגרות השילדה עומדים ברמת איכות ב וכל ריתוך נבדק לפני הצביעה בידי מהנדס"
    path = pdf(tmp_path / "hebrew.pdf", [f'<p dir="rtl" style="font-size:20pt">{said}</p>'])
    with PageView(str(path)) as view:
        text = "".join(letter for letter, _ in view.letters(1))
    lines = found(path, text)["boxes"]
    assert len(lines) == 2
    with pymupdf.open(path) as document:
        bottom = document[0].get_text("words")[-1][3]
    assert max(box[3] for box in lines) == pytest.approx(bottom, abs=8)


def test_a_page_without_letters_is_shown_and_nothing_is_marked_as_said(paper, tmp_path):
    import pymupdf

    with pymupdf.open(paper) as printed, pymupdf.open() as scanned:
        page = scanned.new_page()
        page.insert_image(page.rect, pixmap=printed[0].get_pixmap(dpi=60))
        scanned.save(tmp_path / "scan.pdf")
    placed = found(tmp_path / "scan.pdf", FIRST, blocks=[[(60, 60, 540, 80)]])
    assert placed["boxes"] == []
    assert placed["picture"]
