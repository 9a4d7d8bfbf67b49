"""A look at a file before it is parsed: how much work it is, and whether it is worth trying."""

import zipfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.documents.parsers.description import ParseError
from rag_assets.documents.parsers.media_types import DOCX, PDF, PPTX, XLSX
from rag_assets.workers import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FUNCTION = f"{__name__}:inspect"
SECONDS = 60.0

LARGEST_PAGE = 5_000.0
"""Points; larger pages cost a parser minutes and hold plans, not text."""
LARGEST_UNPACKED = 2_000_000_000
"""Bytes that an Office file may unpack to."""
BYTES_A_PAGE = 20_000
"""What counts as a page where there are none, for time limits."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a look at a file found."""

    pages: int
    """Number of pages; an estimate where there are none."""
    oversized: list[int]
    """Pages that are too large to parse."""

    @classmethod
    def of(cls, value: Json | bytes) -> "Inspection":
        """What `inspect` returned, as it came from a worker."""
        return _validator().validate_python(value)


@cache
def _validator() -> "TypeAdapter[Inspection]":
    from pydantic import TypeAdapter

    return TypeAdapter(Inspection)


def inspect(path: str, media_type: str) -> Json:
    """Look at a file without parsing it.

    Returns:
        An `Inspection` as JSON.

    Raises:
        ParseError: It cannot be opened or would unpack to more than the limit.
    """
    if media_type == PDF:
        return asdict(_pdf(path))
    size = _unpacked(path) if media_type in (DOCX, PPTX, XLSX) else Path(path).stat().st_size
    return asdict(Inspection(1 + size // BYTES_A_PAGE, oversized=[]))


def _pdf(path: str) -> Inspection:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        # PDFium may repeat the error of an earlier file, so the file itself has to be encrypted
        if "password" in str(error).lower() and b"/Encrypt" in Path(path).read_bytes():
            raise ParseError("needs a password: save a copy without one") from error
        raise ParseError(
            "is not a readable PDF (damaged, cut short or without pages): restore it from a good "
            "copy"
        ) from error
    with document:
        sizes = [document.get_page_size(index) for index in range(len(document))]
    oversized = [number for number, size in enumerate(sizes, 1) if max(size) > LARGEST_PAGE]
    return Inspection(len(sizes), oversized)


def _unpacked(path: str) -> int:
    """Bytes of XML inside an Office file.

    Raises:
        ParseError: All of it would unpack to more than `LARGEST_UNPACKED`, or it is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile as error:
        raise ParseError("is a damaged Office file: restore it from a good copy") from error
    if sum(member.file_size for member in members) > LARGEST_UNPACKED:
        raise ParseError("unpacks to more than 2 GB: it is not taken for a document")
    return sum(member.file_size for member in members if member.filename.endswith(".xml"))
