"""Sections: the headings above each element.

Formats with a structure of their own (DOCX, PPTX, HTML, Markdown) give the level of a heading. In
a PDF a heading is only larger type: its level follows from its section number ("3.2.1" is level 3)
and otherwise from its type size, placed among the sizes of the numbered headings.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rag_assets.documents.elements.element import Element
from rag_assets.schemas import HEADINGS

_NUMBER = re.compile(
    r"(?:(?:chapter|section|appendix|kapitel|avsnitt|bilaga)\s+)?"
    r"(?P<number>\d{1,2}(?:\.\d{1,2})*|[A-Z](?:\.\d{1,2})+)[.:)]?\s+[\"'(\[\u201c\u2018]?[^\W\d_]",
    re.IGNORECASE,
)


def with_sections(elements: Sequence[Element], *, slides: bool = False) -> list[Element]:
    """`elements` with the level of each heading and the section path of each element.

    Args:
        elements: All elements of one document, in reading order.
        slides: Each page is a section of its own: no heading reaches into the next page.
    """
    levels = _levels(elements)
    return list(_placed(elements, levels, slides=slides))


def section_depth(heading: str) -> int | None:
    """How deep the section number of a heading is: 3 for "3.2.1 Samples", None without one."""
    match = _NUMBER.match(heading)
    return match.group("number").count(".") + 1 if match else None


def _placed(
    elements: Sequence[Element], levels: Mapping[int, int], *, slides: bool
) -> Iterator[Element]:
    open_headings: list[tuple[int, str]] = []
    path: tuple[str, ...] = ()
    page = None
    for position, element in enumerate(elements):
        if slides and element.page != page:
            page, path = element.page, ()
            open_headings.clear()
        level = levels.get(position)
        if level is not None:
            while open_headings and open_headings[-1][0] >= level:
                open_headings.pop()
            open_headings.append((level, " ".join(element.text.split())))
            path = tuple(title for _, title in open_headings)
        is_placed = element.level == level and element.section_path == path
        yield element if is_placed else element._replace(level=level, section_path=path)


def _levels(elements: Sequence[Element]) -> dict[int, int]:
    """Level of each heading by its position; the outermost level that is given becomes 1."""
    headings = {
        position: element
        for position, element in enumerate(elements)
        if element.type in HEADINGS and element.text
    }
    given = [heading.level for heading in headings.values() if heading.level is not None]
    outermost = min(given, default=1)
    by_size = _levels_by_size(list(headings.values()))
    levels = {}
    for position, heading in headings.items():
        if heading.level is not None:
            levels[position] = heading.level - outermost + 1
        else:
            size = heading.font_size or 0.0
            levels[position] = section_depth(heading.text) or by_size.get(size, 1)
    return levels


def _levels_by_size(headings: Sequence[Element]) -> dict[float, int]:
    """Level of each type size: that of its numbered headings, else one below the next larger.

    Numbers that begin anew in smaller type, such as those of clauses in an appendix, say nothing
    of the level: smaller type is never above larger type that is numbered.
    """
    sizes = sorted({heading.font_size or 0.0 for heading in headings}, reverse=True)
    levels: dict[float, int] = {}
    above = numbered = 0
    for size in sizes:
        depths = Counter(
            depth
            for heading in headings
            if (heading.font_size or 0.0) == size and (depth := section_depth(heading.text))
        )
        depth = depths.most_common(1)[0][0] if depths else 0
        if depth and depth >= numbered:
            above = numbered = depth
        else:
            above = max(above, numbered) + 1
        levels[size] = above
    return levels
