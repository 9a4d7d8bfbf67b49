"""What a file is, told by its bytes; its name is only held against them.

Every file gets a media type (or none), one of `schemas.FILE_STATUSES` and, unless it is `ok`, one
sentence that says what is wrong and what to do. Files are read in bounded blocks and never
executed or unpacked; a PDF is opened only where its bytes say that it is encrypted.
"""

import codecs
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO

from rag_assets.media.encodings import HEAD, code_page_of, utf16_of
from rag_assets.media.media_types import DOCX, HTML, MARKDOWN, PDF, PLAIN, PPTX, SUFFIXES, XLSX
from rag_assets.sources.files import data_texts, mails

OLE = "application/x-ole-storage"
ZIP = "application/zip"

BLOCK = 1 << 20
PDF_HEADER_WITHIN = 1_024
OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_NAMES = {
    PDF: "a PDF",
    DOCX: "a Word document (DOCX)",
    PPTX: "a PowerPoint file (PPTX)",
    XLSX: "an Excel workbook (XLSX)",
    HTML: "an HTML page",
    MARKDOWN: "Markdown text",
    PLAIN: "plain text",
    OLE: "an old Office file",
    ZIP: "a ZIP archive",
    "image/png": "a PNG image",
    "image/jpeg": "a JPEG image",
    "image/gif": "a GIF image",
    "image/tiff": "a TIFF image",
    "image/bmp": "a BMP image",
    "image/webp": "a WebP image",
    "application/gzip": "a gzip archive",
    "application/x-7z-compressed": "a 7-Zip archive",
    "application/vnd.rar": "a RAR archive",
    "application/x-msdownload": "a Windows program",
    "application/x-executable": "a program",
    "application/vnd.sqlite3": "an SQLite database",
    "application/vnd.apache.parquet": "a Parquet file",
    "application/rtf": "a rich text file (RTF)",
    "application/yaml": "a YAML file",
    "application/epub+zip": "an EPUB book",
    "application/vnd.oasis.opendocument.text": "an OpenDocument text",
    "application/vnd.oasis.opendocument.presentation": "an OpenDocument presentation",
    "application/vnd.oasis.opendocument.spreadsheet": "an OpenDocument spreadsheet",
    **{kind: name for kind, (name, _) in data_texts.KINDS.items()},
}

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x7fELF", "application/x-executable"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"{\\rtf", "application/rtf"),
)

_CLAIMS = {
    "pdf": PDF,
    "docx": DOCX,
    "pptx": PPTX,
    "xlsx": XLSX,
    "doc": OLE,
    "ppt": OLE,
    "xls": OLE,
    "html": HTML,
    "htm": HTML,
    "xhtml": HTML,
    "md": MARKDOWN,
    "markdown": MARKDOWN,
    "txt": PLAIN,
    "text": PLAIN,
}
"""What an extension says that the file is; other extensions say nothing."""

_OTHER_TEXTS = {
    "csv": data_texts.TABLE,
    "tsv": data_texts.TABLE,
    "ipynb": data_texts.NOTEBOOK,
    "json": data_texts.JSON,
    "jsonl": data_texts.JSON,
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "xml": data_texts.XML,
}
"""Text whose name says that it holds data; of other text the content tells."""

_HTML_START = re.compile(
    rb"(?:\s|<!--.*?-->|<\?xml[^>]*\?>)*+<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_HTML_TAG = re.compile(rb"<(?:p|div|h[1-6]|table|ul|ol|span|a|br|section|article)\b", re.I)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class Detected:
    """What was found out about one file."""

    media_type: str | None
    status: str = "ok"
    reason: str | None = None


def examine(file: BinaryIO, *, name: str, size: int) -> Detected:
    """Say what the seekable `file` called `name` of `size` bytes is, and whether to parse it.

    Raises:
        OSError: The file cannot be read.
    """
    if not size:
        return Detected(None, "empty", f"{name} is empty: restore it or delete it")
    head = _head(file)
    media_type = _binary_type(file, head) or _text_type(file, head, name=name, size=size)
    if media_type is None:
        return Detected(None, "unsupported", _unknown(name))
    return (
        _locked(file, name, media_type)
        or _damaged(name, media_type)
        or _judged(file, name=name, media_type=media_type)
    )


def _unknown(name: str) -> str:
    if _CLAIMS.get(_extension(name)) in (PLAIN, MARKDOWN, HTML):
        return (
            f"{name} is no text: it holds NUL or other control characters; save it again as UTF-8"
        )
    return f"{name} is of an unknown binary type: save it as PDF to index it"


def described(media_type: str | None) -> str:
    """A media type in plain words: `a PDF`, `an HTML page`."""
    return _NAMES.get(media_type or "", media_type or "of an unknown type")


def _judged(file: BinaryIO, *, name: str, media_type: str) -> Detected:
    claim = _CLAIMS.get(_extension(name))
    what = described(media_type)
    is_data = media_type in data_texts.KINDS and claim in (MARKDOWN, PLAIN)
    if claim is not None and claim != media_type and not is_data:
        remedy = "rename it" if media_type in SUFFIXES else "replace it by what it should be"
        reason = f"{name} is named as {described(claim)} but is {what}: {remedy}"
        return Detected(media_type, "mislabelled", reason)
    if media_type not in SUFFIXES:
        return Detected(media_type, "unsupported", f"{name} is {what}: {_remedy(media_type)}")
    if media_type in (MARKDOWN, PLAIN) and _is_blank(file):
        return Detected(media_type, "empty", f"{name} holds only blanks: restore it or delete it")
    return Detected(media_type)


def _remedy(media_type: str) -> str:
    if kind := data_texts.KINDS.get(media_type):
        return kind[1]
    if media_type.startswith("image/"):
        return "put it into a PDF to index it"
    if media_type == OLE:
        return "save it as DOCX or PPTX to index it"
    if media_type in ("application/vnd.sqlite3", "application/vnd.apache.parquet"):
        return "name it under sources.tables to index its rows"
    if media_type == "application/yaml":
        return "rename it to .txt to index it as text"
    if media_type in (ZIP, "application/gzip", "application/x-7z-compressed"):
        return "unpack it to index what it holds"
    return "save it as PDF to index it, or leave it out with sources.documents.exclude"


def _binary_type(file: BinaryIO, head: bytes) -> str | None:
    if head.startswith(b"%PDF-"):
        return PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(file)
    if head.startswith(OLE_MAGIC):
        return OLE
    if head.startswith(b"BM") and b"\x00" in head[:32]:
        return "image/bmp"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith(b"MZ") and b"\x00" in head[:128]:
        return "application/x-msdownload"
    for magic, media_type in _MAGIC:
        if head.startswith(magic):
            return media_type
    if b"%PDF-" in head[:PDF_HEADER_WITHIN] and not _is_text(file, head):
        return PDF
    return None


DAMAGED_ZIP = "application/zip; damaged"


def _zip_type(file: BinaryIO) -> str:
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            members = {member.filename for member in archive.infolist()}
            if any(member.flag_bits & 1 for member in archive.infolist()):
                return f"{ZIP}; encrypted"
            if "mimetype" in members and archive.getinfo("mimetype").file_size < 100:
                return archive.read("mimetype").decode("ascii", "replace").strip()
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        NotImplementedError,
        ValueError,
    ):
        return DAMAGED_ZIP
    for part, media_type in (
        ("word/document.xml", DOCX),
        ("ppt/presentation.xml", PPTX),
        ("xl/workbook.xml", XLSX),
    ):
        if part in members:
            return media_type
    return ZIP


def _text_type(file: BinaryIO, head: bytes, *, name: str, size: int) -> str | None:
    if not _is_text(file, head):
        return None
    start, extension = _without_mark(head), _extension(name)
    if _HTML_START.match(start):
        return HTML
    if other := _OTHER_TEXTS.get(extension):
        return other
    claim = _CLAIMS.get(extension)
    if claim == HTML and _HTML_TAG.search(start):
        return mails.mail_in(head) or HTML
    if kind := data_texts.data_in(file, head=head, size=size):
        return kind
    return MARKDOWN if claim == MARKDOWN else PLAIN


def _locked(file: BinaryIO, name: str, media_type: str) -> Detected | None:
    """The finding for a file that needs a password."""
    remedy = "save a copy without a password to index it"
    if media_type == PDF and _holds(file, b"/Encrypt") and _needs_password(file):
        return Detected(PDF, "encrypted", f"{name} is a PDF with a password: {remedy}")
    if media_type == OLE and _holds(file, "EncryptedPackage".encode("utf-16-le")):
        return Detected(OLE, "encrypted", f"{name} is an Office file with a password: {remedy}")
    if media_type == f"{ZIP}; encrypted":
        return Detected(ZIP, "encrypted", f"{name} is a ZIP archive with a password: {remedy}")
    return None


def _damaged(name: str, media_type: str) -> Detected | None:
    if media_type != DAMAGED_ZIP:
        return None
    reason = f"{name} is a ZIP or Office file cut short or damaged: restore it from a good copy"
    return Detected(ZIP, "unreadable", reason)


def _needs_password(file: BinaryIO) -> bool:
    """Whether the PDF opens only with a password; one that merely restricts its use does not."""
    import pypdfium2

    file.seek(0)
    try:
        pypdfium2.PdfDocument(file).close()
    except pypdfium2.PdfiumError as error:
        return "password" in str(error).lower() or "security" in str(error).lower()
    return False


def _is_text(file: BinaryIO, head: bytes) -> bool:
    """Whether the whole file is text: UTF-8, UTF-16, or in a code page."""
    if utf16 := utf16_of(head):
        return _decodes(file, utf16)
    if b"\x00" in head:
        return False
    if _decodes(file, "utf-8-sig") or _decodes(file, "cp1252"):
        return True
    file.seek(0)
    page = code_page_of(file).name
    return _decodes(file, page, errors="replace" if page == "utf-8-sig" else "strict")


def _decodes(file: BinaryIO, encoding: str, *, errors: str = "strict") -> bool:
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    try:
        for block in _blocks(file):
            if _CONTROL.search(decoder.decode(block)):
                return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _is_blank(file: BinaryIO) -> bool:
    return all(not block.strip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n\f\v") for block in _blocks(file))


def _holds(file: BinaryIO, wanted: bytes) -> bool:
    """Whether `wanted` occurs anywhere in the file, also across two blocks."""
    tail = b""
    for block in _blocks(file):
        if wanted in tail + block:
            return True
        tail = block[-len(wanted) :]
    return False


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while block := file.read(BLOCK):
        yield block


def _head(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(HEAD)


def _without_mark(head: bytes) -> bytes:
    """The first bytes in an ASCII-compatible encoding, without a byte order mark."""
    if utf16 := utf16_of(head):
        return head.decode(utf16, "ignore").encode("utf-8")
    return head.removeprefix(codecs.BOM_UTF8)


def _extension(name: str) -> str:
    return PurePosixPath(name).suffix.removeprefix(".").lower()
