"""What stands under the headings of a report's documents, where a search found nothing of a part.

A section is often headed in other words than a prompt asks for it: *Battery life* holds the
lifetime. So the encoder compares the headings with a sub-topic; then the sections beside the units
that were found are looked through. What is found has the names and numbers of the sub-topic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_assets.answering.reporting.composing import holds_names, is_about, not_found
from rag_assets.answering.reporting.gathering import FoundFor, GatheredUnits
from rag_assets.config import RetrieverName
from rag_assets.retrieval.filters import SECTION_MARK, Filters
from rag_assets.retrieval.hits import Hit

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

FITS_FROM = 0.4
"""Cosine of a heading with a sub-topic from which its section is read."""
HEADINGS = 2
"""Headings that are read for a sub-topic, and sections that are looked through beside units."""
UNITS = 3
"""Units of a section that are taken."""
DOCUMENTS = 10
"""Documents whose headings are compared."""
MOST_UNITS = 20_000
"""Units of a document whose headings are read."""

Section = tuple[str, str]
"""Address of a document, and the path of headings in it."""


def with_headings(
    gathered: GatheredUnits,
    index: "VariantIndex",
    *,
    filters: Filters | None,
    retriever: RetrieverName | None,
) -> GatheredUnits:
    """`gathered`; the parts of which nothing was found are looked for once more by headings.

    Args:
        gathered: What the searches found.
        index: What was searched.
        filters: What may be found.
        retriever: What searches within a section.
    """
    allowed = filters or Filters()

    def read(section: Section, part: FoundFor) -> Sequence[Hit]:
        inside = replace(allowed, uri=section[0], section=section[1])
        found = index.search(part.part.question, retriever=retriever, top_k=UNITS, filters=inside)
        return found.hits

    def headed(part: FoundFor) -> Iterator[Hit]:
        for section in _fitting(part.part.title, sections, index):
            yield from (hit for hit in read(section, part) if holds_names(hit, part.part))
        for section in _beside(part.candidates):
            yield from (hit for hit in read(section, part) if is_about(hit, part.part))

    lacking = [part for part in gathered.by_part if not_found(part)]
    sections = _sections(gathered.units, index, allowed) if lacking else []
    parts = tuple(
        replace(part, headed=tuple({hit.unit_id: hit for hit in headed(part)}.values()))
        if part in lacking
        else part
        for part in gathered.by_part
    )
    return replace(gathered, by_part=parts)


def _sections(units: Sequence[Hit], index: "VariantIndex", allowed: Filters) -> list[Section]:
    """The sections of the documents that `units` are of."""
    addresses = dict.fromkeys(hit.uri for hit in units if hit.domain == "document")
    found: dict[Section, None] = {}
    for address in [*addresses][:DOCUMENTS]:
        inside = replace(allowed, uri=address)
        rows = index.select(inside, ["section"], most=MOST_UNITS)
        found |= {(address, path): None for path in rows["section"].to_pylist() if path}
    return [*found]


def _fitting(title: str, sections: Sequence[Section], index: "VariantIndex") -> list[Section]:
    """The sections whose last heading fits `title`, the best first."""
    if not sections:
        return []
    headings = [path.split(SECTION_MARK)[-1] for _, path in sections]
    vectors = index.encoder.embed_queries([title, *headings])
    fits = vectors[1:] @ vectors[0]
    best = (-fits).argsort(kind="stable")[:HEADINGS]
    return [sections[place] for place in best if fits[place] >= FITS_FROM]


def _beside(hits: Sequence[Hit]) -> list[Section]:
    """The sections around those of the best hits: what stands under the heading above."""
    above = dict.fromkeys(
        (hit.uri, hit.section.rpartition(SECTION_MARK)[0])
        for hit in hits
        if hit.domain == "document" and SECTION_MARK in hit.section
    )
    return [*above][:HEADINGS]
