"""docling's readers of Office files and pages, for what they forget.

They read a heading, and all text of a slide, as one string: 10^3 becomes 103 or 10 3. Here the
marks are written into the file in memory before docling reads it. Of a picture on a web page they
forget where it lies and, where it has a caption, its alternative text. Only the worker that parses
imports this module: it imports docling.
"""

# ruff: noqa: TID253 - nothing but docling's worker imports this module

import re
from collections.abc import Iterator
from typing import Any

from bs4 import Tag
from docling.backend.html_backend import HTMLDocumentBackend
from docling.backend.mspowerpoint_backend import MsPowerpointDocumentBackend
from docling.backend.msword_backend import MsWordDocumentBackend
from docling_core.types.doc import DoclingDocument, PictureItem, PictureMeta, RefItem
from docx.oxml.ns import qn
from pptx.oxml.xmlchemy import BaseOxmlElement

from rag_assets.documents.elements import EXPONENT
from rag_assets.documents.parsers.office import ALT, LINK
from rag_assets.documents.parsers.pictures import link_of

_HEADING = re.compile(r"h[1-6]|title", re.IGNORECASE)


class Html(HTMLDocumentBackend):
    """Keeps exponents and indices of headings, alternative texts, and where pictures lie."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Read the page and mark it."""
        super().__init__(*args, **options)
        for heading in self.soup.find_all(_HEADING) if self.soup else ():
            for script in heading.find_all(["sup", "sub"]):
                _unwrap(script)
            heading.smooth()
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


class Docx(MsWordDocumentBackend):
    """Keeps exponents of headings."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Read the document and mark it."""
        super().__init__(*args, **options)
        for paragraph in self.docx_obj.paragraphs if self.docx_obj else ():
            name = (paragraph.style.name or "") if paragraph.style else ""
            if _HEADING.fullmatch(name.replace("heading ", "h").replace("Heading ", "h")):
                before = ""
                for run in paragraph.runs:
                    marked = _marked(run.text, before=before)
                    if run.font.superscript and marked != run.text:
                        run.text = marked
                    before = run.text or before


class Pptx(MsPowerpointDocumentBackend):
    """Keeps exponents."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Read the slides and mark them."""
        super().__init__(*args, **options)
        for slide in self.pptx_obj.slides if self.pptx_obj else ():
            for above, before in _above_the_line(slide.element):
                above.text = _marked(above.text or "", before=before)


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


def _unwrap(script: Tag) -> None:
    before = script.previous_sibling
    text = script.get_text()
    if script.name == "sup":
        text = _marked(text, before=before.get_text() if before else "")
    script.replace_with(text)


def _marked(text: str, *, before: str) -> str:
    """Text above the line as it is written in one: 10^3, but not the mark of a footnote."""
    return f"^{text}" if before[-1:].isalnum() and EXPONENT.fullmatch(text) else text
