"""Pictures as elements store them: reduced in size, as PNG, photographs as JPEG.

`link_of` reads where a picture lies that a file links to.
"""

import posixpath
from dataclasses import asdict
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from rag_assets.documents.elements.element import Image
from rag_assets.documents.parsers.description import ParseError
from rag_assets.workers import Json

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

FUNCTION = f"{__name__}:read"
DATA = "data:"
"""Begins the link of a picture that stands in the text."""
LEFT_OUT = b"rag-assets: "
"""Marks the text that replaces a picture in an Office file; the reason follows it."""
UNKNOWN = "is of a kind that is not read here, such as WMF or EMF: put a PNG or JPEG in its place"
"""Why most pictures without pixels have none."""
DRAWINGS = ("WMF", "EMF", "EPS")
"""Formats, as Pillow calls them, that it leaves to the machine to draw: Windows, Ghostscript."""
LARGEST_FILE = 50_000_000
"""A file beside a document that has more bytes is not read."""
MOST_PIXELS = 178_956_970
"""Pillow refuses larger pictures as decompression bombs: they could use up a worker's memory or
time, and their document would be lost with them."""
LARGE = 25_000_000
"""Pixels from which a picture inside an Office file is made smaller before docling copies it."""
LONGEST_SIDE = 2_000
"""Pixels; a larger picture is made smaller."""
MOST_PNG_BYTES = 300_000
"""A picture that takes more as PNG is a photograph: it is kept as JPEG."""
JPEG_QUALITY = 85


def read(path: str) -> Json:
    """The picture in a file, as JSON.

    Raises:
        ParseError: It is none, damaged, too large, or a drawing.
    """
    from PIL import ImageOps

    return asdict(image_of(ImageOps.exif_transpose(decoded(path))))


def reduced_if_large(data: bytes) -> bytes:
    """The bytes of a picture of an Office file; a large picture becomes a smaller PNG.

    Formats that Pillow does not know are returned unchanged: docling may know them.

    Raises:
        ParseError: It is damaged, too large, or a drawing.
    """
    from PIL import UnidentifiedImageError

    if data.startswith(LEFT_OUT):
        raise ParseError(data.removeprefix(LEFT_OUT).decode())
    try:
        picture = decoded(BytesIO(data))
    except ParseError as error:
        if isinstance(error.__cause__, UnidentifiedImageError):
            return data
        raise
    if picture.width * picture.height <= LARGE:
        return data
    return _written(_reduced(picture), "PNG")


def decoded(file: str | BytesIO) -> "Picture":
    """A picture with its pixels loaded.

    Raises:
        ParseError: It is none, damaged, too large, or a drawing.
    """
    from PIL import Image

    try:
        with Image.open(file) as picture:
            if picture.format in DRAWINGS:
                raise ParseError(UNKNOWN)
            if picture.width * picture.height > MOST_PIXELS:
                raise ParseError(
                    f"has {picture.width:,} x {picture.height:,} pixels, more than "
                    f"{MOST_PIXELS:,}: make it smaller"
                )
            picture.load()
            return picture
    except ParseError:
        raise
    except Image.DecompressionBombError as error:
        raise ParseError(f"has more than {MOST_PIXELS:,} pixels: make it smaller") from error
    except MemoryError as error:
        raise ParseError("takes more memory than a parser has: make it smaller") from error
    except Exception as error:  # the readers of Pillow raise what they like
        raise ParseError(
            f"is damaged or no picture ({type(error).__name__}): put a sound PNG or JPEG in its "
            "place"
        ) from error


def link_of(target: str, *, base: str = "") -> str | None:
    """The path of a picture beside the file that shows it, or its `data:` link.

    Args:
        target: The target as the file writes it, percent-encoded.
        base: The place, relative to the file, from which its targets start.

    Returns:
        A path relative to the file; None for an address of the web, and for a path from the root
        of a server or a disk.
    """
    if target[: len(DATA)].lower() == DATA:
        return DATA + target[len(DATA) :]
    try:
        place, start = urlsplit(target), urlsplit(base)
    except ValueError:
        return None
    if not place.path or any(
        part.scheme or part.netloc or part.path.startswith("/") for part in (place, start)
    ):
        return None
    return posixpath.join(posixpath.dirname(unquote(start.path)), unquote(place.path))


def image_of(picture: "Picture") -> Image:
    """`picture` as an element holds it; what is transparent becomes white."""
    flat = _reduced(picture)
    data, media_type = _written(flat, "PNG"), "image/png"
    if len(data) > MOST_PNG_BYTES:
        data, media_type = _written(flat, "JPEG"), "image/jpeg"
    return Image.of(data, media_type=media_type, width=flat.width, height=flat.height)


def _reduced(picture: "Picture") -> "Picture":
    flat = _flat(picture)
    flat.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return flat


def _flat(picture: "Picture") -> "Picture":
    import PIL.Image

    if not picture.has_transparency_data:
        return picture.convert("RGB")
    layer = picture.convert("RGBA")
    flat = PIL.Image.new("RGB", layer.size, "white")
    flat.paste(layer, mask=layer.getchannel("A"))
    return flat


def _written(picture: "Picture", form: str) -> bytes:
    file = BytesIO()
    picture.save(file, form, quality=JPEG_QUALITY)
    return file.getvalue()
