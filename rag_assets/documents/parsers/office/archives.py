"""Office files are archives of XML: how large they are unpacked, and what they must not hold.

Python's reader never gives more bytes than an archive declares, so a decompression bomb is found
without unpacking it. A picture that is a bomb is left out; the rest of its document is read.
"""

import re
import shutil
import zipfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from rag_assets.documents.parsers.description import ParseError
from rag_assets.documents.parsers.pictures import LEFT_OUT

OFFICE = "application/vnd.openxmlformats-officedocument."
"""How the media types of Office files begin."""

LARGEST_UNPACKED = 2_000_000_000
"""The most bytes that an Office file may unpack to, the archives in it included."""
LARGEST_RATIO = 200
"""The most bytes that may come of one packed byte of a member that is not small."""
SMALL_MEMBER = 50_000_000
"""A member of up to so many bytes harms nobody, whatever its ratio."""
LARGEST_PICTURE = 100_000_000
"""The most bytes that a picture may unpack to; a larger one is left out."""
MOST_MEMBERS = 50_000
DEEPEST = 3
"""Archives within archives that are looked into."""
PROLOG = 1 << 16
"""The bytes before the first element of an XML file, in which a document type would stand."""

DAMAGED = "is a damaged Office file: restore it from a good copy"
_REMEDY = (
    "save it again with only its text and pictures, or leave it out with sources.documents.exclude"
)
_ARCHIVES = (".zip", ".docx", ".pptx", ".xlsx", ".docm", ".pptm", ".xlsm")
_PICTURE = re.compile(
    r"(?:word|ppt|xl)/media/[^/]*\.(?:png|jpe?g|gif|bmp|tiff?|[ew]mf|wdp|jxr|webp|svg)",
    re.IGNORECASE,
)
_XML = (".xml", ".rels")
_SLIDE = re.compile(r"ppt/slides/slide\d+\.xml")
_ELEMENT = re.compile(r"<[^\W\d]")


@dataclass(frozen=True, slots=True)
class Contents:
    """What an Office file holds."""

    xml_bytes: int
    picture_bytes: int
    slides: int


def inspected(path: str) -> Contents:
    """Look at the list of members and at the first bytes of each XML file.

    Raises:
        ParseError: It is damaged, unpacks to too much, or declares entities of its own.
    """
    with opened(path) as archive:
        _check(archive, left=LARGEST_UNPACKED, depth=1)
        members = archive.infolist()
        for member in members:
            if member.filename.lower().endswith(_XML):
                _check_prolog(archive, member)
    sizes = (member.file_size for member in members if member.filename.lower().endswith(".xml"))
    oversize = _oversize(members)
    pictures = (
        member.file_size
        for member in members
        if _PICTURE.fullmatch(member.filename) and member.filename not in oversize
    )
    slides = sum(_SLIDE.fullmatch(member.filename) is not None for member in members)
    return Contents(sum(sizes), sum(pictures), slides)


@contextmanager
def changed_copy(path: str, parts: Mapping[str, bytes]) -> Generator[str]:
    """The file, or a copy with other `parts` and a reason in place of pictures that are too large.

    Args:
        path: The file.
        parts: What these members are to hold.
    """
    with opened(path) as archive:
        members = archive.infolist()
        reasons = {name: LEFT_OUT + why.encode() for name, why in _oversize(members).items()}
        instead = {**parts, **reasons}
        if not instead:
            yield path
            return
        with TemporaryDirectory(dir=Path(path).parent) as folder:
            copy = Path(folder) / Path(path).name
            with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as kept:
                for member in members:
                    with kept.open(member.filename, "w", force_zip64=True) as target:
                        if member.filename in instead:
                            target.write(instead[member.filename])
                        else:
                            with archive.open(member) as source:
                                shutil.copyfileobj(source, target)
            yield str(copy)


def _oversize(members: Iterable[zipfile.ZipInfo]) -> dict[str, str]:
    """The pictures that are left out, and why."""
    return {
        member.filename: f"unpacks to {_unpacked(member)}: make it smaller"
        for member in members
        if _PICTURE.fullmatch(member.filename)
        and (member.file_size > LARGEST_PICTURE or _is_bomb(member))
    }


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    is_large = member.file_size > SMALL_MEMBER
    return is_large and member.file_size > LARGEST_RATIO * max(member.compress_size, 1)


def _unpacked(member: zipfile.ZipInfo) -> str:
    return f"{member.file_size / 1e6:,.0f} MB of {member.compress_size / 1e6:,.1f}"


def opened(file: str | IO[bytes]) -> zipfile.ZipFile:
    """The archive.

    Raises:
        ParseError: It is damaged.
    """
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise ParseError(DAMAGED) from error


def _check(archive: zipfile.ZipFile, *, left: int, depth: int) -> int:
    """How much of `left` remains once the archive is unpacked, with the archives in it."""
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise ParseError(f"holds {len(members):,} files, more than a document: {_REMEDY}")
    oversize = _oversize(members)
    for member in members:
        if member.filename in oversize:
            continue
        left -= member.file_size
        if left < 0:
            raise ParseError(f"unpacks to more than 2 GB: {_REMEDY}")
        if _is_bomb(member):
            raise ParseError(
                f"holds {member.filename}, which unpacks to {_unpacked(member)}: {_REMEDY}"
            )
        if member.filename.lower().endswith(_ARCHIVES):
            left = _check_nested(archive, member, left=left, depth=depth)
    return left


def _check_nested(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, *, left: int, depth: int
) -> int:
    if depth >= DEEPEST:
        raise ParseError(f"holds archives within archives: {_REMEDY}")
    try:
        with archive.open(member) as packed, zipfile.ZipFile(packed) as nested:
            return _check(nested, left=left, depth=depth + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError):
        return left  # an attachment that is no archive after all: no parser opens it


def _check_prolog(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse a document type: Office files have none, and entities are declared there."""
    try:
        with archive.open(member) as file:
            head = file.read(PROLOG)
    except Exception as error:  # zlib and its kin raise errors of their own
        if isinstance(error, RuntimeError) and "password" in str(error):
            raise ParseError("needs a password: save a copy without one") from error
        raise ParseError(DAMAGED) from error
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = head.decode(encoding, "ignore").replace("\x00", "")
    first = _ELEMENT.search(text)
    prolog = text[: first.start()] if first else text
    if "<!DOCTYPE" in prolog.upper() or (first is None and len(head) == PROLOG):
        raise ParseError(
            f"declares entities of its own in {member.filename}: save it again from the program "
            "that made it"
        )
