"""The words that a Word file or slides show, counted in the parts of the archive.

A reader that passes over something does not tell. So the words of the elements are held against
those of the body, headers, footers, notes, text boxes, diagrams and charts. Tracked changes, hidden
text and signs follow `as_shown`; formulas, which become LaTeX, do not count, nor do comments.
"""

import zipfile
from collections.abc import Iterator

from lxml import etree

from rag_assets.documents.parsers.office.archives import opened
from rag_assets.documents.parsers.office.as_shown import (
    Node,
    ShownFile,
    attribute,
    child,
    local,
    parsed,
    relations,
)

_BLANKS = frozenset({"tab", "br", "cr", "ptab"})
_OF_FRAME = frozenset({"separator", "continuationSeparator", "continuationNotice"})
"""Notes of Word that hold a line between text and notes."""
_FOLLOWED = frozenset({"slide", "notesSlide", "chart", "footnotes", "endnotes"})
"""Kinds of parts that are shown wherever a part names them; headers and footers are chosen."""


def shown_texts(path: str, shown: ShownFile) -> list[str]:
    """The paragraphs and the labels of charts in all parts that a DOCX or PPTX shows."""
    texts: list[str] = []
    with opened(path) as archive:
        kinds = relations(archive, "").values()
        waiting = [part for kind, part in kinds if kind == "officeDocument"]
        known = {*waiting}
        while waiting:
            part = waiting.pop()
            if part not in archive.NameToInfo:
                continue
            root = parsed(shown.parts.get(part) or archive.read(part))
            texts += _texts(root)
            related = relations(archive, part)
            found = [target for kind, target in related.values() if kind in _FOLLOWED]
            found += [related.get(each, ("", ""))[1] for each in _headers(archive, root)]
            waiting += (new := set(found) - known)
            known |= new
    return texts


def _headers(archive: zipfile.ZipFile, root: Node) -> Iterator[str]:
    """Ids of the headers and footers that the sections of a Word file use."""
    if local(root) != "document":
        return
    settings = "word/settings.xml"
    has_even = settings in archive.NameToInfo and b":evenAndOddHeaders" in archive.read(settings)
    for section in root.iter():
        if local(section) == "sectPr":
            wanted = {
                "default",
                *(["even"] if has_even else []),
                *(["first"] if child(section, "titlePg") is not None else []),
            }
            for each in section:
                if local(each).endswith("Reference") and attribute(each, "type") in wanted:
                    yield attribute(each, "id")


def _texts(root: Node) -> Iterator[str]:
    """The paragraphs of a part, without the boxes inside them; the labels of a chart once each."""
    paragraphs: list[list[str]] = [[]]
    labels: set[str] = set()
    is_notes = local(root) == "notes"
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, node in walk:
        name = local(node)
        if event == "end":
            if name == "p":
                yield "".join(paragraphs.pop())
            continue
        if _is_passed_over(node, name, is_notes=is_notes):
            walk.skip_subtree()
        elif name == "p":
            paragraphs.append([])
        elif name == "t":
            paragraphs[-1].append(node.text or "")
        elif name in _BLANKS:
            paragraphs[-1].append(" ")
        elif name == "noBreakHyphen":
            paragraphs[-1].append("-")
        elif name == "v" and local(root) == "chartSpace" and _is_label(node):
            labels.add(node.text or "")
    yield from labels


def _is_passed_over(node: Node, name: str, *, is_notes: bool) -> bool:
    if name == "sp" and is_notes:
        return attribute(child(node, "nvSpPr", "nvPr", "ph"), "type") != "body"
    if name == "Fallback":
        before = (each for each in node.itersiblings(preceding=True) if local(each) == "Choice")
        return any(local(each) == "t" for choice in before for each in choice.iter())
    return name == "oMath" or attribute(node, "type") in _OF_FRAME


def _is_label(value: Node) -> bool:
    return any(local(each) in ("strCache", "strLit", "lvl", "tx") for each in value.iterancestors())
