"""What repeats at the edges of the pages of a web site: navigation, legal notices, dates of change.

As in PDFs such lines are page furniture: they stay in the document, and are in no chunk. A text
repeats if at least three pages of a site, and a third of them, hold it; in a short one dates and
page numbers may differ, and no other number. What repeats between other words, such as a warning,
is no furniture, nor are all words of a page.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.documents.chunks.regions import LEFT_OUT, Block
from rag_assets.media.media_types import HTML
from rag_assets.schemas import HEADINGS
from rag_assets.store import Store

FEWEST_PAGES, LEAST_SHARE = 3, 1 / 3
_ASIDE = (*LEFT_OUT, *HEADINGS)
LONGEST = 1_000
"""The most characters of a text that may be furniture."""

_DATED = 100
"""The most characters of a text in which dates and page numbers may differ."""
_DATE = re.compile(
    r"""\b(?:
      \d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d | (?:19|20)\d\d(?:[./-]\d{1,2}){0,2}
    | \d{1,2}(?=\.?\s[^\W\d]+\s(?:19|20)\d\d\b) | \d{1,2}(?=,?\s(?:19|20)\d\d\b) | \d{1,2}:\d\d
    | (?<=\bpage\s)\d+ | (?<=\bsida\s)\d+ | (?<=\bseite\s)\d+
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def repeated_texts(
    store: Store, elements: str, files: pa.Table, *, version: int
) -> dict[str, frozenset[str]]:
    """For each web page those of its texts that its site repeats; nothing for other documents.

    Args:
        store: Holds the elements.
        elements: The generation of their table.
        files: Documents of the manifest with `document_id`, `source`, `uri` and `media_type`.
        version: The version of the table.
    """
    pages = files.filter(pc.equal(files["media_type"], HTML)).to_pylist()
    if len(pages) < FEWEST_PAGES:
        return {}
    sites = {
        page["document_id"]: (page["source"], *page["uri"].split("/")[:-1][:1]) for page in pages
    }
    held: dict[str, set[str]] = {page: set() for page in sites}
    for part in parts_of([*sites]):
        where = f"{is_one_of('document_id', part)} AND length(text) <= {LONGEST}"
        texts = store.read(
            elements, columns=["document_id", "text"], where=where, version=version
        ).to_pydict()
        for document, text in zip(*texts.values(), strict=True):
            held[document].add(_key(text))
    sizes = Counter(sites.values())
    counts = Counter((sites[page], key) for page, keys in held.items() for key in keys)
    found = {
        page: frozenset(
            key
            for key in keys
            if counts[sites[page], key] >= max(FEWEST_PAGES, LEAST_SHARE * sizes[sites[page]])
        )
        for page, keys in held.items()
    }
    return {page: keys for page, keys in found.items() if keys}


def set_aside(blocks: Sequence[Block], repeated: frozenset[str]) -> list[Block]:
    """`blocks` of a page with the repeated ones at its edges as page headers and footers."""
    if all(each.type in _ASIDE or _key(each.text) in repeated for each in blocks):
        return list(blocks)
    kept = list(blocks)
    for places, kind in (
        (range(len(kept)), "page_header"),
        (range(len(kept))[::-1], "page_footer"),
    ):
        for place in _edge(kept, places, repeated):
            if kind == "page_footer" or kept[place].type not in HEADINGS:
                kept[place] = kept[place]._replace(type=kind)
    return kept


def _edge(
    blocks: Sequence[Block], places: Iterable[int], repeated: frozenset[str]
) -> Iterator[int]:
    for place in places:
        block = blocks[place]
        if _key(block.text) in repeated:
            yield place
        elif block.type not in _ASIDE:
            return


def _key(text: str) -> str:
    """The words of a text; two texts with the same are one. Dates of a short one do not count."""
    return " ".join((_DATE.sub("0", text) if len(text) <= _DATED else text).split())
