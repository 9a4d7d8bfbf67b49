"""The numbers that places have in a list of sources, and texts that cannot be taken for them."""

import re
from collections.abc import Iterable

from rag_assets.citations.kinds import Citation

_MARK = re.compile(r"\[(\d+(?:\s*[,;\u2013-]\s*\d+)*(?:, superseded)?)\]")


def without_marks(text: str) -> str:
    """Words of a source in which nothing looks like a citation of ours: its `[2]` is escaped."""
    return _MARK.sub(r"\\[\1\\]", text)


def numbered_places(citations: Iterable[Citation]) -> dict[str, int]:
    """The places that are cited, in the order in which they are, with their numbers from 1."""
    places = dict.fromkeys(citation.place for citation in citations)
    return {place: number for number, place in enumerate(places, start=1)}
