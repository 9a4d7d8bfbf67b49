"""One bad picture never costs a document its text: the figure says why it has no picture."""

import io
import random
import struct
import zipfile
import zlib

import PIL.Image
import pytest

from rag_assets.documents.parsers import pictures, preflight
from rag_assets.media.media_types import DOCX
from rag_assets_testing.documents.making import SENTENCE

pytestmark = pytest.mark.usefixtures("in_process")

END = "The end."


def png(width, height, *, pixels=None):
    """A PNG of two colours in so many pixels; `pixels` replaces what it holds."""

    def part(kind, body):
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    if pixels is None:
        pixels = zlib.compress(bytes(height * (1 + (width + 7) // 8)), 1)
    size = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    parts = part(b"IHDR", size) + part(b"IDAT", pixels) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def postscript():
    file = io.BytesIO()
    PIL.Image.new("RGB", (40, 30), "red").save(file, "EPS")
    return file.getvalue()


POSTSCRIPT = postscript()
METAFILE = bytes.fromhex(
    "d7cdc69a 0000 0000 0000 6400 5000 6000 00000000 0000"
    "0100 0900 0003 0c000000 0000 03000000 0000 03000000 0000"
)
"""A drawing of Windows (WMF) without a line in it."""
BAD = {
    "bomb": (png(30_000, 30_000), "pixels: make it smaller"),
    "promise": (png(30_000, 30_000, pixels=b""), "pixels: make it smaller"),
    "truncated": (png(300, 300, pixels=zlib.compress(bytes(300))), "is damaged or no picture"),
    "nonsense": (b"no picture", "put a"),
    "zeros": (b"BM" + bytes(60_000_000), "MB of 0.1: make it smaller"),
    "postscript": (POSTSCRIPT, "is of a kind that is not read here"),
    "metafile": (METAFILE, "is of a kind that is not read here"),
}
SMALL = png(40, 30)


def word(path, picture):
    import docx

    made = docx.Document()
    made.add_paragraph(SENTENCE)
    made.add_picture(io.BytesIO(SMALL))
    made.add_paragraph(END)
    made.save(path)
    return with_picture(path, "word/media/image1.png", picture)


def slides(path, picture):
    import pptx

    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = END
    slide.placeholders[1].text = SENTENCE
    slide.shapes.add_picture(io.BytesIO(SMALL), 0, 0)
    made.save(str(path))
    return with_picture(path, "ppt/media/image1.png", picture)


def with_picture(path, name, picture):
    """Put a picture in the place of the one in an Office file."""
    with zipfile.ZipFile(path) as old:
        parts = {each: old.read(each) for each in old.namelist()}
    assert name in parts
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for each, part in (parts | {name: picture}).items():
            new.writestr(each, part)
    return path


@pytest.mark.parametrize(("make", "suffix"), [(word, ".docx"), (slides, ".pptx")])
def test_an_office_file_is_read_whatever_its_pictures_are(project, make, suffix):
    for name, (picture, _) in BAD.items():
        make(project.folder / f"{name}{suffix}", picture)
    make(project.folder / f"good{suffix}", SMALL)
    project.list_files()
    assert project.parse().failures == []
    for name, (_, reason) in BAD.items():
        rows = project.elements(f"{name}{suffix}")
        text = " ".join(row["text"] for row in rows)
        assert SENTENCE.strip() in text
        assert END in text
        (figure,) = (row for row in rows if row["type"] == "figure")
        assert (figure["image"], figure["problem"][:12]) == (None, "its picture ")
        assert reason in figure["problem"], name
    (figure,) = (row for row in project.elements(f"good{suffix}") if row["type"] == "figure")
    assert figure["image"]
    assert figure["problem"] is None


def test_a_slide_that_only_links_to_its_picture_says_so(project):
    path = slides(project.folder / "a.pptx", SMALL)
    with zipfile.ZipFile(path) as archive:
        page = archive.read("ppt/slides/slide1.xml").replace(b"r:embed=", b"r:link=")
    with_picture(path, "ppt/slides/slide1.xml", page)
    project.list_files()
    assert project.parse().failures == []
    (figure,) = (row for row in project.elements("a.pptx") if row["type"] == "figure")
    assert "does not lie in the file" in figure["problem"]


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_a_text_is_read_whatever_the_pictures_beside_it_are(project, suffix):
    for name, (picture, _) in BAD.items():
        project.write(f"{name}.png", picture)
        shown = f"![x]({name}.png)" if suffix == ".md" else f"<img alt=x src={name}.png>"
        project.write(f"{name}{suffix}", f"{SENTENCE}\n\n{shown}\n\n{END}")
    project.list_files()
    project.parse()
    for name in BAD:
        rows = project.elements(f"{name}{suffix}")
        assert SENTENCE.strip() in " ".join(row["text"] for row in rows)
        (figure,) = (row for row in rows if row["type"] == "figure")
        assert figure["image"] is None
        assert figure["problem"].startswith(f"{name}.png: "), name


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "CMYK"])
def test_a_large_picture_inside_a_file_is_kept_as_it_would_be(monkeypatch, mode):
    monkeypatch.setattr(pictures, "LONGEST_SIDE", 50)
    monkeypatch.setattr(pictures, "LARGE", 100)
    drawn = PIL.Image.effect_mandelbrot((300, 200), (-2, -1, 1, 1), 20).convert(mode)
    file = io.BytesIO()
    drawn.save(file, "TIFF")
    with PIL.Image.open(io.BytesIO(pictures.reduced_if_large(file.getvalue()))) as smaller:
        assert max(smaller.size) == 50
        assert pictures.image_of(smaller) == pictures.image_of(drawn)


def test_a_picture_that_is_not_large_is_left_alone():
    assert pictures.reduced_if_large(SMALL) is SMALL
    assert pictures.reduced_if_large(b"<svg/>") == b"<svg/>"


def test_a_file_has_more_time_for_more_pictures_and_none_for_those_that_are_left_out(tmp_path):
    def work(picture):
        path = str(word(tmp_path / "a.docx", picture))
        return preflight.Inspection.of(preflight.inspect(path, DOCX, 9)).work

    photo = random.Random(0).randbytes(5_000_000)
    assert work(photo) == work(SMALL) + 5
    assert work(BAD["zeros"][0]) == work(SMALL)
