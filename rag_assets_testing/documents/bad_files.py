"""Files that do harm to parsers, and whole ones with damage done to them."""

import io
import random
import zipfile
from pathlib import Path

from rag_assets_testing.documents.making import SENTENCE, pdf, without_pages

ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]><d>&i;</d>"
)
"""A billion laughs."""


def write_all(folder: Path, *, many_pages: int = 2_000) -> dict[str, str]:
    """Write each kind of bad file; for each name what its reason says, or `` if it is parsed."""
    import pymupdf

    folder.mkdir(parents=True, exist_ok=True)
    good = pdf(folder / "good.pdf", [f"<h1>1 Scope</h1><p>{SENTENCE}</p>"]).read_bytes()
    html = "<!DOCTYPE html><html><body><h1>Hello</h1><p>no PDF</p></body></html>"
    (folder / "empty.pdf").write_bytes(b"")
    (folder / "garbage.pdf").write_bytes(random.Random(0).randbytes(50_000))
    (folder / "page.pdf").write_text(html)
    slides(folder / "slides.pdf")
    (folder / "half.pdf").write_bytes(good[: len(good) // 2])
    (folder / "junk_before.pdf").write_bytes(b"\n\n junk \n" + good)
    without_pages(folder / "no_pages.pdf")
    locked = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "o"}
    pdf(folder / "locked.pdf", ["<p>secret</p>"], user_pw="secret", **locked)
    pdf(folder / "owner_only.pdf", ["<p>readable</p>"], user_pw="", permissions=0, **locked)
    pdf(folder / "giant.pdf", ["<p>wide</p>"], width=14_000, height=14_000)
    _long(folder / "long.pdf", pages=many_pages)
    _bookmarks(folder / "bookmarks.pdf", depth=500)
    word(folder / "good.docx")
    word(folder / "bomb.docx", media=b"\0" * 60_000_000)
    word(folder / "entities.docx", document=ENTITIES)
    word(folder / "nested.docx", inner=4)
    (folder / "damaged.docx").write_bytes((folder / "good.docx").read_bytes()[:500])
    (folder / "cut.docx").write_bytes(b"PK\x03\x04 and nothing more")
    (folder / "deep.html").write_text("<div>" * 5_000 + "deep" + "</div>" * 5_000)
    (folder / "entities.html").write_text(ENTITIES.replace("<d>", "<html><p>").replace("</d>", ""))
    return {
        "good.pdf": "",
        "junk_before.pdf": "",
        "owner_only.pdf": "",
        "long.pdf": "",
        "bookmarks.pdf": "",
        "good.docx": "",
        "empty.pdf": "not a readable PDF",
        "garbage.pdf": "not a readable PDF",
        "page.pdf": "not a readable PDF",
        "slides.pdf": "not a readable PDF",
        "half.pdf": "not a readable PDF",
        "no_pages.pdf": "not a readable PDF",
        "locked.pdf": "needs a password",
        "giant.pdf": "larger than 5,000 pt; make it smaller",
        "bomb.docx": "save it again with only its text and pictures",
        "entities.docx": "declares entities",
        "nested.docx": "archives within archives: save it again with only",
        "damaged.docx": "damaged Office file",
        "cut.docx": "damaged Office file",
        "deep.html": "*",
        "entities.html": "*",
    }


def seeds(folder: Path) -> list[Path]:
    """One small whole file of each format."""
    folder.mkdir(parents=True, exist_ok=True)
    page = f"<h1>1 Scope</h1><p>{SENTENCE}</p><ul><li>a</li></ul>"
    (folder / "a.html").write_text(f"<html><body>{page}<table><tr><td>1</td></tr></table></body>")
    (folder / "a.md").write_text(f"# Title\n\n{SENTENCE}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    return [
        pdf(folder / "a.pdf", [page]),
        pdf(folder / "b.pdf", [page, "<p>Second.</p>"], deflate=True, garbage=3),
        word(folder / "a.docx"),
        slides(folder / "a.pptx"),
        folder / "a.html",
        folder / "a.md",
    ]


def mutated(seed: Path, *, by: random.Random) -> bytes:
    """The bytes of `seed` with damage: of an archive also inside one of its files."""
    content = seed.read_bytes()
    if seed.suffix not in (".docx", ".pptx") or by.random() < 0.3:
        return _damaged(content, by)
    packed = io.BytesIO()
    with zipfile.ZipFile(seed) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        chosen = by.choice([name for name in old.namelist() if name.endswith((".xml", ".rels"))])
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, _damaged(part, by) if name == chosen else part)
    return packed.getvalue()


def _damaged(content: bytes, by: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(by.choice([1, 1, 2, 5, 20])):
        if not data:
            break
        start = by.randrange(len(data))
        end = min(len(data), start + by.choice([1, 4, 16, 200]))
        what = by.randrange(5)
        if what == 0:
            data[start:end] = by.randbytes(end - start)
        elif what == 1:
            del data[start:end]
        elif what == 2:
            data[start:start] = data[start:end] * by.choice([1, 3, 50])
        elif what == 3:
            data[start] ^= 1 << by.randrange(8)
        elif by.random() < 0.3:
            del data[start:]
    return bytes(data)


def word(path: Path, *, document: str | None = None, media: bytes = b"", inner: int = 0) -> Path:
    """A DOCX; `document` replaces its main part, `inner` is how deep archives lie in it."""
    import docx

    made = docx.Document()
    made.add_heading("Scope", 1)
    made.add_paragraph(SENTENCE)
    made.add_table(2, 2).cell(0, 0).text = "cell"
    made.save(path)
    if not (document or media or inner):
        return path
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    if document:
        parts["word/document.xml"] = document.encode()
    if media:
        parts["word/media/a.bin"] = media
    if inner:
        parts["word/embeddings/a.zip"] = _archive(inner)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, part in parts.items():
            new.writestr(name, part)
    return path


def _archive(depth: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.zip", _archive(depth - 1) if depth > 1 else b"end")
    return packed.getvalue()


def slides(path: Path) -> Path:
    """A PPTX with two slides."""
    import pptx

    made = pptx.Presentation()
    for number in (1, 2):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text = SENTENCE
    made.save(str(path))
    return path


def _long(path: Path, *, pages: int) -> None:
    import pymupdf

    document = pymupdf.open()
    for number in range(pages):
        page = document.new_page()
        page.insert_text((72, 72), f"{number + 1}. Section {number + 1}", fontsize=16)
        page.insert_textbox((72, 100, 520, 760), f"{SENTENCE} {number} " * 5, fontsize=10)
    document.save(path)


def _bookmarks(path: Path, *, depth: int) -> None:
    import pymupdf

    document = pymupdf.open()
    document.new_page().insert_text((72, 72), SENTENCE)
    document.set_toc([[level, f"Level {level}", 1] for level in range(1, depth + 1)])
    document.save(path)
