"""Units are shown on the page that they stand on."""

from io import BytesIO

import pytest
from PIL import Image

from rag_assets.documents.chunks.location import NotShownError
from rag_assets.documents.figures import page_pictures
from rag_assets.documents.figures.page_pictures import MARK, picture_of
from rag_assets.store.images import keep
from rag_assets_testing.documents.making import SENTENCE, Project, pdf


@pytest.fixture
def project(tmp_path):
    pytest.importorskip("pymupdf")
    made = Project(tmp_path, engine="pymupdf")
    made.execution["parsing"] = "in_process"
    return made


def config_of(project):
    recipe = {"parser": "plain", "chunking": "fixed_256", "model": "minilm"}
    return project.config.from_record(project.config.model_dump() | {"variants": {"only": recipe}})


def shown(project, unit_id, **options):
    return picture_of(project.store, config_of(project), variant="only", unit_id=unit_id, **options)


def built(project):
    project.list_files()
    project.parse()
    project.chunk()
    return project.chunks()


def is_marked(picture: Image.Image, x: float, y: float, *, dpi: int) -> bool:
    """Whether white paper at a place in points has taken the colour of the mark."""
    scale = dpi / 72
    red, green, blue = picture.getpixel((int(x * scale), int(y * scale)))
    return red > 200 and green > 200 and blue < 220 and (red, green, blue) != (255, 255, 255)


def test_the_blocks_of_a_chunk_are_marked_and_nothing_else(project):
    pages = [f"<p>{SENTENCE * 3}</p>", f"<p>{SENTENCE * 40}</p>"]
    pdf(project.folder / "plates.pdf", pages)
    chunks = built(project)
    last = next(chunk for chunk in chunks if chunk["pages"] == [2])

    picture = shown(project, last["chunk_id"], dpi=100)

    assert (picture.kind, picture.uri, picture.page) == ("page", "plates.pdf", 2)
    drawn = Image.open(BytesIO(picture.data))
    assert drawn.size == (827, 1170)
    assert picture.marks >= 1
    assert is_marked(drawn, 59.7, 300, dpi=100)
    assert drawn.getpixel((20, 20)) == (255, 255, 255)


def test_a_unit_of_two_pages_shows_the_one_that_is_asked_for(project):
    pdf(project.folder / "plates.pdf", [f"<p>{SENTENCE * 3}</p>", f"<p>{SENTENCE * 3}</p>"])
    (chunk,) = built(project)
    first = shown(project, chunk["chunk_id"])
    second = shown(project, chunk["chunk_id"], page=2)
    assert (first.page, second.page, first.pages) == (1, 2, (1, 2))
    with pytest.raises(NotShownError, match=r"not on page 3 of plates\.pdf: it is on 1, 2"):
        shown(project, chunk["chunk_id"], page=3)


def test_a_figure_of_a_file_without_pages_to_draw_is_shown_itself(project):
    project.write("notes.md", f"# Notes\n\n{SENTENCE}")
    (chunk,) = built(project)
    with pytest.raises(NotShownError, match=r"notes.md is no PDF"):
        shown(project, chunk["chunk_id"])

    red = BytesIO()
    Image.new("RGB", (4, 3), (255, 0, 0)).save(red, "JPEG")
    from rag_assets.documents.elements.element import Element
    from rag_assets.documents.elements.element import Image as Picture
    from rag_assets.documents.elements.element_rows import pictures

    image = Picture.of(red.getvalue(), media_type="image/jpeg", width=4, height=3)
    keep(project.store, pictures([Element(type="figure", text="", image=image)]), log=print)
    project.store.open(project.chunks_table()).update(values={"image": image.key})

    picture = shown(project, chunk["chunk_id"])
    assert (picture.kind, picture.page) == ("figure", None)
    assert Image.open(BytesIO(picture.data)).size == (4, 3)


def test_what_cannot_be_shown_says_why(project):
    path = pdf(project.folder / "plates.pdf", [f"<p>{SENTENCE}</p>"])
    (chunk,) = built(project)
    with pytest.raises(NotShownError, match="variant only has no chunk 0000"):
        shown(project, "00000000-0000-5000-8000-000000000000")
    path.write_bytes(path.read_bytes() + b"\n% edited")
    with pytest.raises(NotShownError, match=r"plates\.pdf changed while being read: .* refresh"):
        shown(project, chunk["chunk_id"])
    path.unlink()
    with pytest.raises(NotShownError, match=r"plates\.pdf cannot be read \(.*refresh") as gone:
        shown(project, chunk["chunk_id"])
    assert str(path) not in str(gone.value), "who reads it need not know where the state lies"


def test_a_worker_that_cannot_draw_says_so(project, monkeypatch):
    pdf(project.folder / "plates.pdf", [f"<p>{SENTENCE}</p>"])
    (chunk,) = built(project)
    monkeypatch.setattr(page_pictures, "SECONDS", -60.0)
    with pytest.raises(NotShownError, match=r"page 1 of plates.pdf cannot be drawn: took longer"):
        shown(project, chunk["chunk_id"])


def test_marks_are_seen_through():
    assert page_pictures.MARK_OPACITY < 128
    assert MARK[2] == 0
