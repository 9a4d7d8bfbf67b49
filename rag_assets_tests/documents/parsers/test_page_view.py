"""Pictures, words and drawings of real pages."""

from io import BytesIO

import pytest
from PIL import Image

from rag_assets.documents.parsers.engines.page_view import PageView
from rag_assets_testing.documents.making import report


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return report(tmp_path_factory.mktemp("pages") / "report.pdf")


def opened(image):
    return Image.open(BytesIO(image.data))


def test_a_picture_shows_its_part_of_the_page(path):
    with PageView(str(path)) as view:
        bar = view.picture(2, (396, 570, 418, 688))
        blank = view.picture(2, (60, 740, 300, 800))
    assert opened(bar).getpixel((bar.width // 2, bar.height // 2)) == (51, 102, 179)
    assert opened(blank).getextrema() == ((255, 255),) * 3
    assert (bar.media_type, opened(bar).format) == ("image/png", "PNG")
    assert bar.height == pytest.approx((688 - 570 + 4) * 2, abs=2)


def test_nothing_beside_the_page_is_a_picture(path):
    with PageView(str(path)) as view:
        assert view.picture(1, (700, 100, 800, 200)) is None
        assert view.picture(1, (100, 100, 100, 100)) is None


def test_words_lie_where_they_are_shown_whatever_rotation_and_crop(tmp_path):
    import pymupdf

    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((300, 500), "Sideways S690", rotate=90, fontsize=20)
    page.set_cropbox(pymupdf.Rect(50, 50, 560, 800))
    page.set_rotation(90)
    document.save(tmp_path / "turned.pdf")
    with PageView(str(tmp_path / "turned.pdf")) as view:
        words = {word.text: word.box for word in view.words(1)}
        shown = opened(view.picture(1, words["S690"])).convert("L")
    assert words["Sideways"][2] < words["S690"][0]
    assert words["Sideways"][1] == pytest.approx(words["S690"][1], abs=1)
    assert shown.width > shown.height
    assert shown.getextrema()[0] < 100


def test_words_in_a_box_and_their_size(path):
    with PageView(str(path)) as view:
        cells = [word.text for word in view.words_in(1, (80, 500, 500, 522))]
        title, section = (view.type_size(1, (50, y, 550, y + 35)) for y in (75, 200))
        assert view.type_size(1, (500, 0, 510, 10)) is None
    assert cells == ["Steel", "Yield", "strength", "Elongation"]
    assert title > section


def test_rules_and_frames_are_no_drawing(path):
    with PageView(str(path)) as view:
        assert not view.has_drawing(1, (80, 498, 500, 588))
        assert view.has_drawing(2, (150, 500, 450, 700))
