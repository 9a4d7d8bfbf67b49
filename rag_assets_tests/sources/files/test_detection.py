import io
import zipfile

import pypdfium2 as pdfium
import pytest
from docx import Document
from openpyxl import Workbook
from pptx import Presentation

from rag_assets.schemas import FILE_STATUSES
from rag_assets.sources.files import detection
from rag_assets.sources.files.detection import examine


def pdf() -> bytes:
    document = pdfium.PdfDocument.new()
    document.new_page(200, 200)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def saved(document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in names:
            file.writestr(name, "x")
    return buffer.getvalue()


OFFICE_WITH_PASSWORD = (
    detection.OLE_MAGIC + b"\x00" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\x00" * 400
)
OLD_WORD = detection.OLE_MAGIC + b"\x00" * 600 + "WordDocument".encode("utf-16-le")


def found(content: bytes, name: str) -> detection.Detected:
    finding = examine(io.BytesIO(content), name=name, size=len(content))
    assert finding.status in FILE_STATUSES
    assert (finding.reason is None) == (finding.status == "ok")
    return finding


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.pdf", pdf(), detection.PDF),
        ("no_extension", pdf(), detection.PDF),
        ("junk_before.pdf", b"\r\n junk \x00\xfe" + pdf(), detection.PDF),
        ("a.docx", saved(Document()), detection.DOCX),
        ("a.pptx", saved(Presentation()), detection.PPTX),
        ("a.xlsx", saved(Workbook()), detection.XLSX),
        ("a.html", b"<!-- saved -->\n<!DOCTYPE html><html><p>hi</p></html>", detection.HTML),
        ("fragment.htm", b"<div>hi</div>", detection.HTML),
        ("utf16.html", "<html>å</html>".encode("utf-16"), detection.HTML),
        ("a.md", b"# Title\n", detection.MARKDOWN),
        ("badge.MD", b"<div align=center>\n\n# Title\n</div>", detection.MARKDOWN),
        ("about_pdf.md", b"A file starts with %PDF-1.4", detection.MARKDOWN),
        ("a.txt", "Stål i Göteborg".encode(), detection.PLAIN),
        ("latin.txt", "Stål i Göteborg".encode("cp1252"), detection.PLAIN),
        ("broken.txt", "“Árbol”, Ítem".encode() + b" \xff", detection.PLAIN),
        ("utf16.txt", "Stål i Göteborg".encode("utf-16"), detection.PLAIN),
        ("no_mark.txt", "Stål i Göteborg".encode("utf-16-le"), detection.PLAIN),
        ("no_mark.md", "# Δοκιμή χάλυβα\n".encode("utf-16-be"), detection.MARKDOWN),
        ("no_mark.html", "<html>å</html>".encode("utf-16-le"), detection.HTML),
        ("README", b"read me", detection.PLAIN),
    ],
)
def test_what_a_file_is_comes_from_its_bytes(name, content, media_type):
    assert found(content, name) == detection.Detected(media_type)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("page.pdf", b"<!doctype html><html></html>", "is an HTML page"),
        ("slides.pdf", saved(Presentation()), "is a PowerPoint file (PPTX)"),
        ("report.docx", pdf(), "is a PDF"),
        ("notes.pdf", b"just text", "is plain text"),
        ("page.txt", b"<html><body>x</body></html>", "is an HTML page"),
        ("picture.pdf", b"\x89PNG\r\n\x1a\n" + b"\x00" * 40, "is a PNG image"),
        ("old.docx", OLD_WORD, "is an old Office file"),
        ("archive.docx", archive("a.txt"), "is a ZIP archive"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_mislabelled(name, content, said):
    finding = found(content, name)
    assert finding.status == "mislabelled"
    assert said in finding.reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("photo.jpg", b"\xff\xd8\xff\xe0" + b"\x00" * 40),
        ("archive.zip", archive("a.txt")),
        ("program.exe", b"MZ\x90\x00" + b"\x00" * 200),
        ("table.csv", b"a,b\n1,2\n"),
        ("data.json", b'{"a": 1}'),
        ("old.doc", OLD_WORD),
        ("noise.bin", bytes(range(256))),
        ("hole.txt", b"text with a hole:\x00 here, and more text that follows it"),
    ],
)
def test_other_types_are_unsupported_and_say_what_to_do(name, content):
    finding = found(content, name)
    assert finding.status == "unsupported"
    assert ": " in finding.reason


def test_an_empty_or_blank_file_is_empty():
    assert found(b"", "a.pdf").status == "empty"
    assert found(b" \n\t\n", "a.md").status == "empty"
    assert found("\ufeff \n".encode(), "a.md").status == "empty"


def test_a_file_with_a_password_is_encrypted_whatever_its_name():
    assert found(OFFICE_WITH_PASSWORD, "a.docx").status == "encrypted"
    assert found(OFFICE_WITH_PASSWORD, "a.pptx").status == "encrypted"


def test_a_pdf_is_encrypted_only_if_it_does_not_open():
    pymupdf = pytest.importorskip("pymupdf")

    def locked(user: str) -> bytes:
        document = pymupdf.open()
        document.new_page()
        return document.tobytes(
            encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", user_pw=user
        )

    assert found(locked("secret"), "a.pdf").status == "encrypted"
    assert found(locked(""), "a.pdf") == detection.Detected(detection.PDF)


def test_a_truncated_office_file_is_unreadable():
    content = saved(Document())
    finding = found(content[: len(content) // 2], "a.docx")
    assert finding.status == "unreadable"
    assert "restore" in finding.reason


def test_an_archive_whose_first_member_is_damaged_is_unreadable():
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip")
    content = bytearray(written.getvalue())
    content[38:46] = b"\xff" * 8  # the member's data begin behind its header and its name
    found = examine(io.BytesIO(content), name="book.epub", size=len(content))
    assert found.status == "unreadable"


def test_a_character_cut_by_a_block_is_still_text(monkeypatch):
    monkeypatch.setattr(detection, "BLOCK", 3)
    assert found("aåäö".encode() * 9, "a.txt").status == "ok"


def test_encryption_is_found_across_two_blocks(monkeypatch):
    monkeypatch.setattr(detection, "BLOCK", 613)
    assert found(OFFICE_WITH_PASSWORD, "a.docx").status == "encrypted"
