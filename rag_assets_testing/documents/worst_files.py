"""A folder as it is found on a share: many good files of all kinds, and the worst among them."""

import base64
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from rag_assets_testing.documents import bad_files, making
from rag_assets_testing.documents import data_named_text as data
from rag_assets_testing.documents.making import SENTENCE

LETTERS = "bcdfghklmnprstvz"
VOWELS = "aeiou"
GOOD_ONES = ("good.pdf", "good.docx")
"""What `bad_files` writes beside the bad ones."""
LONG = 10_000
"""Pages."""


def word_of(number: int) -> str:
    """A word that stands in one file alone."""
    syllables = []
    for _ in range(4):
        number, place = divmod(number, len(LETTERS) * len(VOWELS))
        syllables.append(LETTERS[place % len(LETTERS)] + VOWELS[place // len(LETTERS)])
    return "qu" + "".join(syllables) + "x"


def write_good(folder: Path, *, count: int) -> dict[str, str]:
    """Write `count` good files of all kinds in turn; the word of each, by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    words: dict[str, str] = {}
    for number in range(count):
        suffix = [*WRITERS][number % len(WRITERS)]
        name = f"good{number:03}{suffix}"
        words[name] = word_of(number)
        write_one(folder / name, word=words[name])
    return words


def write_one(path: Path, *, word: str) -> None:
    """Write a good file of the kind that its name says, which says `word`."""
    WRITERS[path.suffix](path, f"Specimen {word} was tested. {SENTENCE}")


def _markdown(path: Path, text: str) -> None:
    path.write_text(f"# Test report\n\n{text}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")


def _html(path: Path, text: str) -> None:
    path.write_text(f"<html><body><h1>Test report</h1><p>{text}</p></body></html>")


def _text(path: Path, text: str) -> None:
    path.write_text(f"Test report\n\n{text}\n")


def _pdf(path: Path, text: str) -> None:
    path.write_bytes(pdf_of([text[:80], SENTENCE[:80]]))


def _word(path: Path, text: str) -> None:
    import docx

    made = docx.Document()
    made.add_heading("Test report", 1)
    made.add_paragraph(text)
    made.save(str(path))


def _slides(path: Path, text: str) -> None:
    import pptx

    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Test report"
    slide.placeholders[1].text = text
    made.save(str(path))


WRITERS: Mapping[str, Callable[[Path, str], None]] = {
    ".md": _markdown,
    ".html": _html,
    ".txt": _text,
    ".pdf": _pdf,
    ".docx": _word,
    ".pptx": _slides,
}


def pdf_of(pages: list[str]) -> bytes:
    """A PDF with a line of ASCII on each page, written as fast as can be."""
    first = 4
    kids = " ".join(f"{first + 2 * place} 0 R" for place in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for place, line in enumerate(pages):
        content = f"BT /F1 12 Tf 60 700 Td ({line}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents "
            f"{first + 2 * place + 1} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    parts, places, length = ["%PDF-1.4\n"], ["0000000000 65535 f \n"], 9
    for number, each in enumerate(objects, 1):
        places.append(f"{length:010} 00000 n \n")
        parts.append(f"{number} 0 obj\n{each}\nendobj\n")
        length += len(parts[-1])
    size = len(places)
    end = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{length}\n%%EOF\n"
    return "".join([*parts, f"xref\n0 {size}\n", *places, end]).encode("ascii")


def write_worst(folder: Path) -> list[str]:
    """Write forty files that do harm; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in folder.iterdir()}
    with TemporaryDirectory() as aside:
        bad_files.write_all(Path(aside), many_pages=300)
        for path in Path(aside).iterdir():
            if path.name not in GOOD_ONES:
                (folder / f"worst_{path.name}").write_bytes(path.read_bytes())
    _giants(folder)
    _archives(folder)
    _data(folder)
    return sorted({path.name for path in folder.iterdir()} - before)


def _giants(folder: Path) -> None:
    making.claims_pages(folder / "worst_million.pdf", pages=1_000_000)
    making.claims_pages(folder / "worst_claim.pdf", pages=4_000)
    making.partly_readable(folder / "worst_partly.pdf", "The page that is left")
    long = pdf_of([f"Page {number} of the long one" for number in range(LONG)])
    (folder / "worst_long.pdf").write_bytes(long)
    (folder / "worst_long_cut.pdf").write_bytes(long[: len(long) * 2 // 3])
    (folder / "worst_deep_lists.html").write_text("<ul><li>" * 10_000 + "deep")
    plot = base64.b64encode(_picture(side=20_000)).decode()
    picture = f"# A plot\n\n![a plot](data:image/png;base64,{plot})\n\n{SENTENCE}\n"
    (folder / "worst_giant_picture.md").write_text(picture)
    making.pdf(
        folder / "worst_locked_rc4.pdf",
        ["<p>secret</p>"],
        encryption=2,
        owner_pw="o",
        user_pw="secret",
    )


def _picture(*, side: int) -> bytes:
    """A black PNG of `side` x `side` pixels in a few bytes."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        ends = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", ends)

    rows = (1 + side // 8) * side
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def _archives(folder: Path) -> None:
    bad_files.word(folder / "worst_nested_deep.docx", inner=60)
    sheet = "<w:t>" + "x" * 120_000_000 + "</w:t>"
    bad_files.word(folder / "worst_bomb_of_text.docx", document=sheet)
    slides = bad_files.slides(folder / "worst_cut.pptx").read_bytes()
    (folder / "worst_cut.pptx").write_bytes(slides[: len(slides) // 2])
    (folder / "worst_encrypted.docx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(4_000))
    with zipfile.ZipFile(folder / "worst_archive.pptx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "no slides at all")


def _data(folder: Path) -> None:
    named = {
        "mail": data.mail(),
        "mail_with_attachment": data.mail(attachment=data.NOISE),
        "base64": base64.encodebytes(data.NOISE),
        "uuencoded": data.uuencoded(data.NOISE),
        "dumped": data.dumped(data.NOISE),
        "notebook": data.notebook(picture=data.NOISE),
        "table": data.rows(","),
        "log": data.LOG,
        "nul": f"{SENTENCE}\0{SENTENCE}",
    }
    for name, content in named.items():
        path = folder / f"worst_{name}.txt"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
