"""Word files and slides as their programs show them, for readers that know less.

docling and python-docx pass over signs of Insert > Symbol, letters in fonts such as Symbol and
Wingdings, check boxes of forms, moved sentences, what stands in content controls of a table, and
diagrams. Here the XML of such a file is rewritten first: tracked changes are accepted,
signs become Unicode, and controls give way to what they hold; comments of the XML, at which docling
fails, go. Hidden words, rows, slides and shapes are taken out unless they are to be kept. Parts
that hold nothing of the kind stay as they are.
"""

import posixpath
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias
from xml.sax.saxutils import escape

from lxml import etree

from rag_assets.documents.parsers.description import ParseError
from rag_assets.documents.parsers.office.archives import DAMAGED, opened

Node: TypeAlias = etree._Element

SYMBOL_FONTS = ("Symbol", "Wingdings", "Wingdings 2", "Wingdings 3", "Webdings")
TEXT_PARTS = re.compile(
    r"word/(?!styles|settings|numbering|fontTable|webSettings|comments)[^/]*\.xml"
    r"|ppt/(?:slides|notesSlides)/[^/]*\.xml"
)
"""Members of an archive that may hold text of the document."""

_ACCEPTED = frozenset({"ins", "moveTo", "sdt", "smartTag", "customXml", "fldSimple", "dir", "bdo"})
"""These give way to what they hold."""
_REMOVED = frozenset({"del", "moveFrom"})
_SHAPES = frozenset({"sp", "grpSp", "graphicFrame", "cxnSp", "pic"})
_REWRITTEN = re.compile(
    rb"[<:](?:ins|moveTo|sdt|smartTag|customXml|fldSimple|dir|bdo|del|moveFrom|cellDel|sym|ffData"
    rb"|ruby|vanish|hidden|relIds)[ />]|Symbol|Wingdings|Webdings|\shidden=|<!--"
)
"""What a part holds that has to be rewritten."""
_HIDDEN_SLIDE = re.compile(rb"<(?:\w+:)?sld\b[^>]*\sshow=[\"'](?:0|false)")
_PRIVATE = range(0xF020, 0xF100)
"""The range in which programs put the letters of a font of signs."""
_BOX, _TICKED_BOX = "\u2610", "\u2612"
_OFF = ("0", "false", "off", "none")


@dataclass(slots=True)
class ShownFile:
    """A file as its program shows it."""

    parts: dict[str, bytes] = field(default_factory=dict)
    """The parts that had to be rewritten, by their names in the archive."""
    hidden: list[str] = field(default_factory=list)
    """The texts that were taken out because the program does not show them."""
    hidden_slides: list[str] = field(default_factory=list)
    """The parts of the slides among them."""


def as_shown(path: str, *, keep_hidden: bool) -> ShownFile:
    """Rewrite the parts of a DOCX or PPTX.

    Raises:
        ParseError: It is damaged.
    """
    shown = ShownFile()
    with opened(path) as archive:
        styles = _Styles.of(archive)
        names = list(filter(TEXT_PARTS.fullmatch, archive.namelist()))
        if not keep_hidden:
            slides = (name for name in names if name.startswith("ppt/slides/"))
            shown.hidden_slides = [
                name for name in slides if _HIDDEN_SLIDE.search(archive.read(name))
            ]
        for name in names:
            data = archive.read(name)
            is_hidden = not {name, *_targets(archive, name)}.isdisjoint(shown.hidden_slides)
            if is_hidden or styles.fonts or styles.hidden or _REWRITTEN.search(data):
                root = parsed(data)
                part = _Part(archive, name, styles, shown, keep_hidden=keep_hidden)
                part.clear(root) if is_hidden else part.rewrite(root)
                shown.parts[name] = etree.tostring(root, encoding="UTF-8", standalone=True)
        for name in archive.namelist():
            if name.endswith(".rels") and (complete := _without_missing(archive, name)):
                shown.parts[name] = complete
    return shown


def parsed(data: bytes) -> Node:
    """The root of a part of an archive."""
    safe = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True
    )
    try:
        return etree.fromstring(data, safe)
    except etree.XMLSyntaxError as error:
        raise ParseError(DAMAGED) from error


def local(node: Node) -> str:
    """The name of a node without its namespace; empty for an instruction."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def attribute(node: Node | None, name: str) -> str:
    """An attribute by its name, whatever its namespace; empty without one."""
    found = () if node is None else node.attrib.items()
    return next((str(value) for key, value in found if str(key).rpartition("}")[2] == name), "")


def child(node: Node | None, *names: str) -> Node | None:
    """The first child of this name, the first child of that one, and so on."""
    for name in names:
        below = () if node is None else node
        node = next((each for each in below if local(each) == name), None)
    return node


def above(node: Node, name: str) -> Node | None:
    """The nearest node of this name that holds `node`."""
    return next((each for each in node.iterancestors() if local(each) == name), None)


def text_of(node: Node) -> str:
    """The letters in a node."""
    return "".join(each.text or "" for each in node.iter() if local(each) == "t")


def relations(archive: zipfile.ZipFile, part: str) -> Mapping[str, tuple[str, str]]:
    """For each relation of a part, by its id, the kind and the part that it names."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if path not in archive.NameToInfo:
        return {}
    return {
        attribute(each, "Id"): (attribute(each, "Type").rpartition("/")[2], target)
        for each, target in _named(parsed(archive.read(path)), folder)
    }


def _named(relations: Node, folder: str) -> Iterator[tuple[Node, str]]:
    """The relations of a part in `folder` to other parts of the archive, with these."""
    for each in relations:
        if attribute(each, "TargetMode") != "External":
            target = posixpath.join(folder, attribute(each, "Target"))
            yield each, posixpath.normpath(target).lstrip("/")


def _without_missing(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Relations of which some name parts that are not there, those as if they lay elsewhere.

    Programs pass over them; python-docx and python-pptx read no word of such a file.
    """
    root = parsed(archive.read(name))
    named = _named(root, posixpath.dirname(posixpath.dirname(name)))
    missing = [each for each, target in named if target not in archive.NameToInfo]
    for each in missing:
        each.set("TargetMode", "External")
    return etree.tostring(root, encoding="UTF-8", standalone=True) if missing else None


def _targets(archive: zipfile.ZipFile, part: str) -> Iterator[str]:
    """The slide that a part of notes belongs to."""
    if part.startswith("ppt/notesSlides/"):
        yield from (target for _, target in relations(archive, part).values())


@cache
def _signs() -> Mapping[tuple[str, int], int]:
    from mammoth.docx.dingbats import dingbats

    return dingbats


def _sign(font: str, code: int) -> str:
    """The sign that a letter of a font shows; the letter itself where nobody knows the font."""
    return chr(_signs().get((font, code - 0xF000 if code in _PRIVATE else code), code))


def _in_unicode(text: str, *, font: str, private_alone: bool = False) -> str:
    """Text that is set in a font of signs: letters of their own range, and those of ASCII."""
    return "".join(
        _sign(font, ord(letter))
        if ord(letter) in _PRIVATE or (letter.isascii() and not private_alone)
        else letter
        for letter in text
    )


@dataclass(frozen=True, slots=True)
class _Styles:
    """Styles of a Word file that change what its letters are."""

    fonts: Mapping[str, str]
    """Styles that are set in a font of signs."""
    hidden: Collection[str]
    """Styles whose words are hidden."""

    @classmethod
    def of(cls, archive: zipfile.ZipFile) -> "_Styles":
        """The styles of an archive; none for slides."""
        if "word/styles.xml" not in archive.NameToInfo:
            return cls({}, ())
        styles = {
            attribute(each, "styleId"): each
            for each in parsed(archive.read("word/styles.xml"))
            if local(each) == "style"
        }
        fonts: dict[str, str] = {}
        hidden: set[str] = set()
        for name in styles:
            line = list(_line(styles, name))
            named = (_font(child(each, "rPr")) for each in line)
            if (font := next(filter(None, named), "")) in SYMBOL_FONTS:
                fonts[name] = font
            marks = (child(each, "rPr", "vanish") for each in line)
            if _is_on(next((mark for mark in marks if mark is not None), None)):
                hidden.add(name)
        return cls(fonts, hidden)


def _line(styles: Mapping[str, Node], name: str) -> Iterator[Node]:
    """A style and those that it is based on."""
    known: set[str] = set()
    while name in styles and name not in known:
        known.add(name)
        yield styles[name]
        name = attribute(child(styles[name], "basedOn"), "val")


def _font(properties: Node | None) -> str:
    fonts = child(properties, "rFonts")
    return attribute(fonts, "ascii") or attribute(fonts, "hAnsi")


def _is_on(mark: Node | None) -> bool:
    """Whether a property such as `w:vanish` is there and not switched off."""
    return mark is not None and attribute(mark, "val") not in _OFF


@dataclass(frozen=True, slots=True)
class _Part:
    """Rewrites one part of an archive."""

    archive: zipfile.ZipFile
    name: str
    styles: _Styles
    shown: ShownFile
    keep_hidden: bool

    def clear(self, root: Node) -> None:
        """Take all shapes off a slide, or out of its notes: it stays as a page without words."""
        for node in list(root.iter()):
            if local(node) in _SHAPES:
                self._hide(node)

    def rewrite(self, root: Node) -> None:
        """Rewrite the tree of a part."""
        for node in list(root.iter()):
            name, parent = local(node), node.getparent()
            if parent is None or local(parent).endswith("Pr"):
                continue  # a mark of a paragraph, row or cell
            if name in _REMOVED or _is_deleted(node):
                _remove(node)
            elif not self.keep_hidden and self._is_hidden(node):
                self._hide(node)
            elif name in _ACCEPTED:
                _give_way(node, child(node, "sdtContent") if name == "sdt" else node)
            elif name == "ruby":
                _give_way(parent, child(node, "rubyBase"))
            elif name == "relIds":
                self._write_diagram(node)
        for node in list(root.iter()):
            if local(node) == "r":
                self._rewrite_run(node)
            elif local(node) == "p":
                _join_with_next(node)

    def _hide(self, node: Node) -> None:
        texts = (text_of(each) for each in node.iter() if local(each) == "p")
        self.shown.hidden.append("\n".join(texts) or text_of(node))
        _remove(node)

    def _is_hidden(self, node: Node) -> bool:
        name = local(node)
        if name == "tr":
            return _is_on(child(node, "trPr", "hidden"))
        if name == "r":
            own = child(node, "rPr", "vanish")
            return bool(self._styled(node, self.styles.hidden)) if own is None else _is_on(own)
        return name in _SHAPES and any(
            attribute(child(each, "cNvPr"), "hidden") in ("1", "true") for each in node
        )

    def _styled(self, run: Node, wanted: Collection[str]) -> str:
        """The style of a run, or else of its paragraph, that is one of those `wanted`."""
        styles = child(run, "rPr", "rStyle"), child(above(run, "p"), "pPr", "pStyle")
        return next(filter(wanted.__contains__, (attribute(each, "val") for each in styles)), "")

    def _rewrite_run(self, run: Node) -> None:
        """Write the signs and the form fields of a run as text."""
        properties = child(run, "rPr")
        styled = self.styles.fonts.get(self._styled(run, self.styles.fonts), "")
        font = _font(properties) or attribute(child(properties, "latin"), "typeface") or styled
        of_signs = attribute(child(properties, "sym"), "typeface")
        for node in list(run):
            name = local(node)
            if name == "sym":
                code = int(attribute(node, "char") or "20", 16)
                _set_text(node, _sign(attribute(node, "font"), code))
            elif name == "t" and font in SYMBOL_FONTS:
                node.text = _in_unicode(node.text or "", font=font)
            elif name == "t" and of_signs:
                node.text = _in_unicode(node.text or "", font=of_signs, private_alone=True)
            elif name == "fldChar" and (chosen := _chosen(run, child(node, "ffData"))):
                _set_text(node, chosen)

    def _write_diagram(self, node: Node) -> None:
        """Put the words of a diagram, which stand in a part of their own, where it is shown."""
        part = relations(self.archive, self.name).get(attribute(node, "dm"), ("", ""))[1]
        if part not in self.archive.NameToInfo:
            return
        nodes = parsed(self.archive.read(part)).iter()
        texts = [text for each in nodes if local(each) == "p" and (text := text_of(each))]
        frame, paragraph = above(node, "graphicFrame"), above(node, "p")
        if frame is not None:
            _replace_frame(frame, texts)
        elif paragraph is not None:
            for text in reversed(texts):
                paragraph.addnext(
                    _made(paragraph, f"<w:p><w:r><w:t>{escape(text)}</w:t></w:r></w:p>")
                )


def _is_deleted(node: Node) -> bool:
    """Whether tracked changes delete a row or a cell."""
    name = local(node)
    return (name == "tr" and child(node, "trPr", "del") is not None) or (
        name == "tc" and child(node, "tcPr", "cellDel") is not None
    )


def _remove(node: Node) -> None:
    parent = node.getparent()
    if parent is not None:
        parent.remove(node)


def _give_way(node: Node, holder: Node | None) -> None:
    """Put the children of `holder` in the place of `node`."""
    for each in [] if holder is None else list(holder):
        if not local(each).endswith("Pr"):
            node.addprevious(each)
    _remove(node)


def _set_text(node: Node, text: str) -> None:
    """Make a text of the run out of a sign or a form field."""
    node.clear(keep_tail=True)
    node.tag = str(node.tag).rpartition("}")[0] + "}t"
    node.text = text


def _has_result(run: Node) -> bool:
    """Whether the field that begins in a run holds its result as text."""
    for each in run.itersiblings():
        if attribute(child(each, "fldChar"), "fldCharType") == "end":
            break
        if text_of(each):
            return True
    return False


def _chosen(run: Node, field_data: Node | None) -> str:
    """What a check box or a list of a form shows; empty where the field holds it as text."""
    if _has_result(run):
        return ""
    box, choices = child(field_data, "checkBox"), child(field_data, "ddList")
    if box is not None:
        mark = child(box, "checked")
        return _TICKED_BOX if _is_on(child(box, "default") if mark is None else mark) else _BOX
    if choices is None:
        return ""
    entries = [attribute(each, "val") for each in choices if local(each) == "listEntry"]
    place = attribute(child(choices, "result"), "val") or attribute(
        child(choices, "default"), "val"
    )
    return "".join(entries[int(place or 0) :][:1])


def _join_with_next(paragraph: Node) -> None:
    """Join a paragraph whose end was deleted with the one that follows it."""
    end, following = child(paragraph, "pPr", "rPr"), paragraph.getnext()
    is_joined = child(end, "del") is not None or child(end, "moveFrom") is not None
    if not is_joined or following is None or local(following) != "p":
        return
    place = 1 if child(following, "pPr") is not None else 0
    for each in reversed(paragraph):
        if local(each) != "pPr":
            following.insert(place, each)
    _remove(paragraph)


def _replace_frame(frame: Node, texts: Sequence[str]) -> None:
    """Put a text box in the place of a diagram on a slide."""
    place = child(frame, "xfrm")
    corner, size = child(place, "off"), child(place, "ext")
    lines = "".join(f"<a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p>" for text in texts)
    box = _made(
        frame,
        '<p:sp><p:nvSpPr><p:cNvPr id="0" name="diagram"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr>'
        f'<p:spPr><a:xfrm><a:off x="{attribute(corner, "x")}" y="{attribute(corner, "y")}"/>'
        f'<a:ext cx="{attribute(size, "cx")}" cy="{attribute(size, "cy")}"/></a:xfrm>'
        '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>'
        f"<p:txBody><a:bodyPr/>{lines or '<a:p/>'}</p:txBody></p:sp>",
    )
    frame.addnext(box)
    _remove(frame)


def _made(beside: Node, xml: str) -> Node:
    """A node from XML with the prefixes p, a and w, in the namespaces of the part."""
    own = str(beside.tag).rpartition("}")[0].lstrip("{")
    drawing = own.replace("presentationml", "drawingml")
    names = f'xmlns:p="{own}" xmlns:w="{own}" xmlns:a="{drawing}"'
    return parsed(xml.replace(">", f" {names}>", 1).encode())
