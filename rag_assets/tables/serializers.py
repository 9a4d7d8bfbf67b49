"""The nine serializers: a table row as text (P0 section 4.1.3, the formats of its appendix C).

All have one signature: the table's title and the row's pairs in, the text out, without a line
break at its end. None raises, whatever the text; what would break a format is escaped as that
format does it. A number is written as it is, digit for digit.

Where section 4.1.3 and the appendix disagree, the appendix holds: "Markdown" has the keys down the
side and "Transposed Markdown" across the top (the text has them the other way round); "Markdown
Key-Values" has `Key: Value` followed by a line `...` (not list items); "Full semantic" reads `Item
in Table where Key is Value and ...` (not `Item Key is Value and`). The lines of the two semantic
formats are broken in the appendix for the page only. XML is in the appendix alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape as html_escape
from json.encoder import encode_basestring as json_text
from typing import TypeAlias
from xml.sax.saxutils import escape as xml_escape
from xml.sax.saxutils import quoteattr as xml_attribute

from rag_assets.api import CustomSerializer, Pair
from rag_assets.config import SerializerName
from rag_assets.config.custom import part_of
from rag_assets.tables.headings import split

EMPTY = "Null"
"""What an empty cell reads where it is kept, as in the appendix."""


Serializer: TypeAlias = Callable[[str, Sequence[Pair]], str]


def as_json(title: str, pairs: Sequence[Pair]) -> str:
    """An object in an object, indented by two; equal headings are told apart by a number."""
    members = [
        f"    {json_text(heading)}: {pair.value if pair.numeric else json_text(pair.value)}"
        for heading, pair in _told_apart(pairs)
    ]
    return f"{{\n  {json_text(title)}: {{\n{_lines(members, ',')}\n  }}\n}}"


def as_yaml(title: str, pairs: Sequence[Pair]) -> str:
    """A mapping in a mapping; equal headings are told apart by a number."""
    members = [
        _yaml_member(heading, pair.value if pair.numeric else _yaml_scalar(pair.value), indent="  ")
        for heading, pair in _told_apart(pairs)
    ]
    return f"{_yaml_key(title, indent='')}\n{_lines(members)}"


def as_html(title: str, pairs: Sequence[Pair]) -> str:
    """A header and a list with an item for each pair."""
    items = [
        f"<li>{html_escape(pair.heading, quote=False)}: {html_escape(pair.value, quote=False)}</li>"
        for pair in pairs
    ]
    return f"<header>{html_escape(title, quote=False)}</header>\n<ul>{_lines(items)}</ul>"


def as_xml(title: str, pairs: Sequence[Pair]) -> str:
    """An element for each pair, its unit an attribute.

    Words that are no XML name are made one, and stand in an attribute `name` unless the element's
    name says them with `_` for blanks. Characters that XML cannot hold become U+FFFD.
    """
    members = []
    for pair in pairs:
        words, unit = split(pair.heading)
        tag, attributes = _xml_tag(words)
        if unit is not None:
            attributes += f" unit={xml_attribute(_xml_characters(unit))}"
        members.append(f"    <{tag}{attributes}>{_xml_text(pair.value)}</{tag}>")
    tag, attributes = _xml_tag(title)
    return (
        f'<?xml version="1.0" ?>\n<root>\n  <{tag}{attributes}>\n{_lines(members)}\n'
        f"  </{tag}>\n</root>"
    )


def as_markdown(title: str, pairs: Sequence[Pair]) -> str:
    """A table with a row for each pair: headings left, values right."""
    headings = [_markdown_cell(pair.heading) for pair in pairs]
    values = [_markdown_cell(pair.value) for pair in pairs]
    left, right = _width(headings), _width(values)
    rows = [
        f"| {heading:<{left}}| {value:<{right}} |"
        for heading, value in zip(headings, values, strict=True)
    ]
    return f"{_markdown_title(title)}\n|:-----|:-----|\n{_lines(rows)}"


def as_transposed_markdown(title: str, pairs: Sequence[Pair]) -> str:
    """A table with a column for each pair: headings on top, values below."""
    headings, values = [], []
    for pair in pairs:
        heading, value = _markdown_cell(pair.heading), _markdown_cell(pair.value)
        width = _width((heading, value))
        headings.append(heading.ljust(width))
        values.append(value.ljust(width))
    rule = "|:-----" * len(pairs)
    return (
        f"{_markdown_title(title)}\n| {' | '.join(headings)} |\n{rule}|\n| {' | '.join(values)} |"
    )


def as_markdown_key_values(title: str, pairs: Sequence[Pair]) -> str:
    """A title, then `Key: Value` and a line `...` for each pair, a blank line between pairs."""
    members = [f"{pair.heading}: {pair.value}\n..." for pair in pairs]
    return f"{_markdown_title(title)}\n{_lines(members, separator=chr(10))}"


def as_semantic(title: str, pairs: Sequence[Pair]) -> str:
    """`Item in Table:, Key is Value, Key is Value.`; a unit follows its number."""
    return f"Item in {title}:, {', '.join(_statement(pair) for pair in pairs)}."


def as_full_semantic(title: str, pairs: Sequence[Pair]) -> str:
    """`Item in Table where Key is Value and Key is Value.`; a unit follows its number."""
    return f"Item in {title} where {' and '.join(_statement(pair) for pair in pairs)}."


SERIALIZERS: Mapping[SerializerName, Serializer] = {
    "json": as_json,
    "yaml": as_yaml,
    "html": as_html,
    "xml": as_xml,
    "markdown": as_markdown,
    "transposed_markdown": as_transposed_markdown,
    "markdown_key_values": as_markdown_key_values,
    "semantic": as_semantic,
    "full_semantic": as_full_semantic,
}


def serializer_of(name: SerializerName) -> Serializer:
    """What the config calls `name`: one of `SERIALIZERS`, or a serializer of somebody's own.

    Raises:
        ConfigError: There is none.
    """
    return SERIALIZERS.get(name) or part_of(name, CustomSerializer).write


def _lines(members: Sequence[str], separator: str = "") -> str:
    return f"{separator}\n".join(members)


def _told_apart(pairs: Sequence[Pair]) -> Iterator[tuple[str, Pair]]:
    """Each pair with a heading that no other has: the second `year` is `year (2)`."""
    taken = {pair.heading for pair in pairs}
    seen: set[str] = set()
    for pair in pairs:
        heading, number = pair.heading, 1
        while heading in seen or (number > 1 and heading in taken):
            number += 1
            heading = f"{pair.heading} ({number})"
        seen.add(heading)
        yield heading, pair


def _statement(pair: Pair) -> str:
    words, unit = split(pair.heading) if pair.numeric else (pair.heading, None)
    return f"{words} is {pair.value}" + (f" {unit}" if unit else "")


_SIMPLE_KEY = 1_000
"""Longest YAML key that may stand before a colon without a question mark (the limit is 1024)."""

_PLAIN_YAML = re.compile(r"[A-Za-z][\wÀ-ÿ()/%+*.-]*(?: [\wÀ-ÿ()/%+*.-]+)*", re.ASCII)
_YAML_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off"))


def _yaml_member(heading: str, scalar: str, *, indent: str) -> str:
    key = _yaml_key(heading, indent=indent)
    return f"{key} {scalar}"


def _yaml_key(heading: str, *, indent: str) -> str:
    key = _yaml_scalar(heading)
    if len(key) > _SIMPLE_KEY:
        return f"{indent}? {key}\n{indent}:"
    return f"{indent}{key}:"


@lru_cache(maxsize=65_536)
def _yaml_scalar(text: str) -> str:
    """`text` as a YAML string on one line, quoted where it must be."""
    if _PLAIN_YAML.fullmatch(text) and text.lower() not in _YAML_WORDS:
        return text  # what the dumper below would give, at a hundredth of its cost
    import yaml

    style = None if text.splitlines() == [text] else '"'  # one line, whatever breaks it holds
    dumped = yaml.dump(
        text, Dumper=yaml.SafeDumper, allow_unicode=True, width=2**30, default_style=style
    )
    return dumped.removesuffix("\n").removesuffix("\n...")


_NO_XML_NAME = re.compile(r"[^A-Za-z0-9.\-À-ÖØ-öø-ÿ]+")
_NO_XML_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_PLAIN_XML = re.compile("[^\t\n\x20-\x25\x27-\x3b=?-\ud7ff\ue000-\ufffd]")


@lru_cache(maxsize=65_536)
def _xml_tag(words: str) -> tuple[str, str]:
    """An element's name for `words`, and the attribute that keeps what it cannot say."""
    tag = _NO_XML_NAME.sub("_", words).rstrip("_")
    if not re.match(r"[A-Za-z_À-ÿ]", tag) or tag.lower().startswith("xml"):
        tag = f"_{tag}"
    if tag.replace("_", " ") == words:
        return tag, ""
    return tag, f" name={xml_attribute(_xml_characters(words))}"


def _xml_text(text: str) -> str:
    if not _NO_PLAIN_XML.search(text):
        return text
    return xml_escape(_xml_characters(text), {"\r": "&#13;"})


def _xml_characters(text: str) -> str:
    return _NO_XML_CHARACTER.sub("\ufffd", text)


PADDED = 40
"""Cells of a Markdown table are padded to the widest of at most this length."""


def _width(cells: Sequence[str]) -> int:
    return max((len(cell) for cell in cells if len(cell) <= PADDED), default=0)


def _markdown_cell(text: str) -> str:
    if "|" not in text and "\n" not in text and "\r" not in text:
        return text
    text = text.replace("|", "\\|")
    return text.replace("\r\n", "<br>").replace("\n", "<br>").replace("\r", "<br>")


def _markdown_title(title: str) -> str:
    return f"## {' '.join(title.split())}"
