"""Pictures as elements hold them: small enough to store, as PNG, and photographs as JPEG."""

from io import BytesIO
from typing import TYPE_CHECKING

from rag_assets.documents.elements import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

LONGEST_SIDE = 2_000
"""Pixels; a larger picture is made smaller."""
MOST_PNG_BYTES = 300_000
"""A picture that takes more as PNG is a photograph: it is kept as JPEG."""
JPEG_QUALITY = 85


def image_of(picture: "Picture") -> Image:
    """`picture` as an element holds it; what is transparent becomes white."""
    flat = _flat(picture)
    flat.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    data, media_type = _written(flat, "PNG"), "image/png"
    if len(data) > MOST_PNG_BYTES:
        data, media_type = _written(flat, "JPEG"), "image/jpeg"
    return Image.of(data, media_type=media_type, width=flat.width, height=flat.height)


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
