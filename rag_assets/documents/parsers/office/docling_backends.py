"""docling's readers of Office files and web pages, corrected where they lose something.

They read a heading, and all text of a slide, as one string: 10^3 becomes 103 or 10 3. Here such
marks are written into the file in memory before docling reads it. For a picture on a web page
docling keeps neither its link nor, if it has a caption, its alternative text. One damaged or
oversized picture would make docling fail on a whole Office file: here it becomes a figure that says
why it has no picture. Only the worker that parses imports this module, as it imports docling.
"""

# ruff: noqa: TID253 - nothing but docling's worker imports this module

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from bs4 import NavigableString, Tag
from docling.backend.html_backend import HTMLDocumentBackend
from docling.backend.mspowerpoint_backend import MsPowerpointDocumentBackend
from docling.backend.msword_backend import MsWordDocumentBackend
from docling_core.types.doc import (
    DoclingDocument,
    NodeItem,
    PictureItem,
    PictureMeta,
    RefItem,
    Size,
)
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from PIL.Image import Image
from pptx.exc import InvalidXmlError
from pptx.oxml.xmlchemy import BaseOxmlElement
from pptx.shapes.picture import Picture

from rag_assets.documents.elements.element import raised
from rag_assets.documents.parsers.description import ParseError
from rag_assets.documents.parsers.office.picture_meta import ABOVE, ALT, BELOW, GLUE, LINK, PROBLEM
from rag_assets.documents.parsers.pictures import UNKNOWN, link_of, reduced_if_large

_HEADING = re.compile(r"h[1-6]|title", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation|header|footer)?|footer|breadcrumbs?|menu|sidebar)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Names that themes and generators of web pages give to what stands beside the text."""
MOST_PIECES = 2_000
"""The most pieces of one line that are marked: the time for one grows with the number of all."""
_UNFOLDED = ["tabpanel", "region"]
"""Roles of what a page shows once its tab or heading is clicked."""
_WITHIN_A_LINE = re.compile(
    "a|abbr|b|bdi|bdo|big|cite|code|data|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike"
    "|strong|sub|sup|time|tt|u|var"
)
"""Tags that change how letters of a line look, and begin no line."""


class HtmlBackend(HTMLDocumentBackend):
    """Keeps exponents and indices of headings, alternative texts, and where pictures lie.

    Deleted words go; navigation and what stands below the text is marked as beside it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        """Read the page and mark it."""
        super().__init__(*args, **options)
        for heading in self.soup.find_all(_HEADING) if self.soup else ():
            for script in heading.find_all(["sup", "sub"]):
                _unwrap(script)
            for link in heading.find_all("a"):
                if not any(map(str.isalnum, link.get_text())) and not link.find("img"):
                    link.decompose()  # leads to the heading itself
            heading.smooth()
        for tag in self.soup.find_all("del") if self.soup else ():
            tag.decompose()
        for tag in self.soup.find_all(role=_UNFOLDED) if self.soup else ():
            for how in ("hidden", "style", "aria-hidden"):
                tag.attrs.pop(how, None)
        for tag in self.soup.find_all(_is_aside) if self.soup else ():
            _set_aside(tag)
        for text in list(self.soup.find_all(string=True)) if self.soup else ():
            if type(text) is NavigableString and _goes_on(text):
                text.replace_with(GLUE + text)
        base = self.soup.find("base", href=True) if self.soup else None
        self._base = _value(base, "href") if base else ""

    def _emit_image(self, img_tag: Tag, doc: DoclingDocument) -> RefItem | None:
        img_tag["alt"] = alternative = " ".join(_value(img_tag, "alt").split())
        reference = super()._emit_image(img_tag, doc)
        link = link_of(_value(img_tag, "src"), base=self._base)
        if reference:
            picture = reference.resolve(doc)
            assert isinstance(picture, PictureItem)
            picture.meta = PictureMeta.model_validate({ALT: alternative, LINK: link})
        return reference


class DocxBackend(MsWordDocumentBackend):
    """Keeps exponents of headings, and the figures whose pictures cannot be read."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Read the document and mark it."""
        self._problem: str | None = None
        super().__init__(*args, **options)
        for paragraph in self.docx_obj.paragraphs if self.docx_obj else ():
            name = (paragraph.style.name or "") if paragraph.style else ""
            if _HEADING.fullmatch(name.replace("heading ", "h").replace("Heading ", "h")):
                before = ""
                for run in paragraph.runs:
                    marked = raised(run.text, before=before)
                    if run.font.superscript and marked != run.text:
                        run.text = marked
                    before = run.text or before

    def _get_paragraph_elements(self, paragraph: Paragraph) -> Any:
        """The runs of a paragraph, marked where no blank stands before them."""
        content, glued, before = self._get_paragraph_content(paragraph), [], " "
        for text, *others in content:
            goes_on = text and not text[0].isspace() and not before[-1].isspace()
            glued.append((GLUE + text if goes_on else text, *others))
            before = text or before
        self._last_paragraph_content = paragraph._p, glued
        elements = super()._get_paragraph_elements(paragraph)
        self._last_paragraph_content = paragraph._p, content
        return elements

    def _get_image_from_relationship(
        self, element: Any, rel_attr: str, image_type: str = "image"
    ) -> bytes | None:
        """The bytes of the picture that is added next; None if docling must not read it."""
        data = super()._get_image_from_relationship(element, rel_attr, image_type)
        self._problem = None if data is None else UNKNOWN
        try:
            return reduced_if_large(data) if data else data
        except ParseError as error:
            self._problem = str(error)
            return None

    def _add_picture_to_doc(
        self,
        doc: DoclingDocument,
        parent: NodeItem | None,
        pil_image: Image | None,
        is_spacer: bool = False,
    ) -> RefItem:
        reference = super()._add_picture_to_doc(doc, parent, pil_image, is_spacer)
        if pil_image is None and self._problem:
            _set_problem(reference, doc, self._problem)
        self._problem = None
        return reference


class PptxBackend(MsPowerpointDocumentBackend):
    """Keeps exponents, and the figures whose pictures cannot be read."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Read the slides and mark them."""
        super().__init__(*args, **options)
        for slide in self.pptx_obj.slides if self.pptx_obj else ():
            for above, before in _above_the_line(slide.element):
                above.text = raised(above.text or "", before=before)

    def _handle_pictures(
        self,
        shape: Picture,
        parent_slide: NodeItem | None,
        slide_ind: int,
        doc: DoclingDocument,
        slide_size: Size,
    ) -> None:
        known, problem = len(doc.pictures), UNKNOWN
        try:
            _reduce_picture(shape)
            super()._handle_pictures(shape, parent_slide, slide_ind, doc, slide_size)
        except ParseError as error:
            problem = str(error)
        if len(doc.pictures) == known:
            place = None
            with suppress(InvalidXmlError, ValueError, AttributeError):  # a malformed shape
                place = self._generate_prov(shape, slide_ind, "", slide_size)
            doc.add_picture(parent=parent_slide, prov=place)
        added = doc.pictures[-1]
        if added.image is None:
            _set_problem(added.get_ref(), doc, problem)


def _reduce_picture(shape: Picture) -> None:
    """Replace the picture of a shape in memory by a smaller one, if it is too large.

    Raises:
        ParseError: It is damaged, or too large.
    """
    try:
        part = shape.part.related_part(shape._element.blip_rId or "")
    except (KeyError, ValueError, AttributeError, InvalidXmlError) as error:
        raise ParseError("does not lie in the file: insert it instead of a link to it") from error
    stored = part.blob
    reduced = reduced_if_large(stored)
    if reduced is not stored:
        part.blob = reduced


def _set_problem(reference: RefItem, doc: DoclingDocument, problem: str) -> None:
    """Store at a picture without pixels why it has none."""
    picture = reference.resolve(doc)
    assert isinstance(picture, PictureItem)
    picture.meta = PictureMeta.model_validate({PROBLEM: f"its picture {problem}"})


def _value(tag: Tag, attribute: str) -> str:
    return str(tag.get(attribute) or "").strip()


def _above_the_line(slide: BaseOxmlElement) -> Iterator[tuple[BaseOxmlElement, str]]:
    """Each piece of text of a slide that is set above the line, and what stands before it."""
    for paragraph in slide.iter(qn("a:p")):
        before = ""
        for run in paragraph.iterfind(qn("a:r")):
            text, properties = run.find(qn("a:t")), run.find(qn("a:rPr"))
            if text is None:
                continue
            baseline = "" if properties is None else properties.get("baseline", "")
            if baseline.strip("0%") and not baseline.startswith("-"):
                yield text, before
            before = text.text or before


def _is_aside(tag: Tag) -> bool:
    """Whether a part of a page leads to other pages, or stands below the text."""
    if tag.name in ("nav", "footer") or _value(tag, "role") in ("navigation", "contentinfo"):
        return True
    named = _ASIDE.search(" ".join([*(tag.get("class") or ()), _value(tag, "id")]))
    if named is None or tag.name not in ("div", "ul", "ol", "p", "section", "aside"):
        return False
    linked = sum(len(link.get_text()) for link in tag.find_all("a"))
    is_last = "footer" in named[0].lower() and _closes_the_page(tag)
    return is_last or 2 * linked >= len(tag.get_text(strip=True))


def _closes_the_page(footer: Tag) -> bool:
    """Whether it is no footer of one of several boxes."""
    same = footer.find_previous(lambda tag: tag.attrs == footer.attrs)
    return same is None and footer.find_next(_HEADING) is None


def _set_aside(tag: Tag) -> None:
    """Make one marked paragraph of what stands beside the text."""
    text = " | ".join(tag.stripped_strings)
    if text and not tag.find(["h1", "main"]) and not tag.find_parent(["table", "pre"]):
        paragraph = Tag(name="p")
        paragraph.string = (BELOW if tag.find_previous("h1") else ABOVE) + text
        tag.replace_with(paragraph)


def _goes_on(text: NavigableString) -> bool:
    """Whether a text goes on with what stands before it, as in `12<b>3</b>45`, without a blank.

    Elements side by side may have a gap by their style, other than in a text or a paragraph.
    """
    if not text or text[0].isspace():
        return False
    node: NavigableString | Tag = text
    while node.previous_sibling is None and node.parent and _is_within_a_line(node.parent):
        node = node.parent
    before = node.previous_sibling
    sides = [each for each in (before, node) if isinstance(each, Tag)]
    names = {each.name for each in (node.parent, *sides) if each}
    is_in_text = len(sides) < 2 or not names.isdisjoint({"p", "sub", "sup"})
    if not (sides and is_in_text and all(map(_is_within_a_line, sides))):
        return False
    last = before.get_text() if before else ""
    is_short = text.parent is not None and len(text.parent.contents) <= MOST_PIECES
    is_close = bool(last.strip()) and not last[-1].isspace() and is_short
    return is_close and not text.find_parent(["pre", "textarea"])


def _is_within_a_line(tag: Tag) -> bool:
    return _WITHIN_A_LINE.fullmatch(tag.name) is not None


def _unwrap(script: Tag) -> None:
    before = script.previous_sibling
    text = script.get_text()
    if script.name == "sup":
        text = raised(text, before=before.get_text() if before else "")
    script.replace_with(text)
