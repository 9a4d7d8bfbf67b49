"""Header fields: facts about a document that its first page states, found by named rules.

P1 (section 3.1) puts such a header (test name, region, stage, purpose) before each chunk; here a
rule is a name and one or more regular expressions with one group each, tried in turn on the first
page or slide, as Markdown.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from rag_assets.config import HeaderRules
from rag_assets.documents.chunks.regions import Block
from rag_assets.schemas import HEADINGS

MOST_CHARACTERS = 8_000
"""A rule reads at most so many characters of the first page."""
MOST_OF_A_VALUE = 200
"""A value is cut there, at a word."""


def rules_of(settings: HeaderRules) -> dict[str, tuple[str, ...]]:
    """The regular expressions of each field: those of the presets, then those of the config.

    A field of the config takes the place of one of a preset with the same name.
    """
    rules = {name: field for preset in settings.presets for name, field in PRESETS[preset].items()}
    return rules | dict(settings.fields)


def fields_of(
    blocks: Sequence[Block], rules: Mapping[str, Sequence[str]], *, elements: int
) -> tuple[str, ...]:
    """`name: value` of each field that the first page gives.

    Args:
        blocks: The elements of a document in reading order, page headers included.
        rules: The regular expressions of each field, in the order in which they are tried.
        elements: How many elements are looked at, of the first page.
    """
    if not rules:
        return ()
    text = first_page(blocks, elements=elements)
    return tuple(f"{name}: {value}" for name, value in _values(text, rules))


def first_page(blocks: Sequence[Block], *, elements: int) -> str:
    """The first `elements` elements, as far as they stand on the first page, as Markdown."""
    examined = blocks[:elements]
    page = next((block.page for block in examined if block.page is not None), None)
    lines = [
        f"# {block.text}" if block.type in HEADINGS else block.text
        for block in examined
        if block.text and block.page in (None, page)
    ]
    return "\n".join(lines)[:MOST_CHARACTERS]


def _values(text: str, rules: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for name, patterns in rules.items():
        for pattern in patterns:
            match = _compiled(pattern).search(text)
            value = " ".join((match[1] or "").split()).strip(" *|") if match else ""
            if value:
                shortened = value[:MOST_OF_A_VALUE].rpartition(" ")[0]
                yield name, shortened if shortened and len(value) > MOST_OF_A_VALUE else value
                break


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_LABELS: Mapping[str, str] = {
    "test_id": r"test\s+(?:id|no\.?|number)|prov(?:nings)?(?:nummer|-?id)",
    "project": r"(?:prj|project)(?:\s+(?:id|name|no\.?))?|projekt(?:namn|nummer)?",
    "test_name": r"test\s+(?:name|type)|name\s+of\s+test|prov(?:nings)?(?:namn|metod)",
    "region": r"region|country|land",
    "stage": r"stage|state|phase|skede",
    "purpose": r"purpose|objective|aim|syfte",
    "date": r"date(?:\s+of\s+(?:issue|report|test))?|datum",
    "revision": r"rev(?:ision)?\.?|version|issue(?!\s+date)|utg[åa]va",
}


def _labelled(name: str) -> str:
    """The text after a label, up to the end of its line or cell, or to the next label."""
    others = "|".join(_LABELS.values())
    return (
        rf"(?:^|[|\s*])(?:{_LABELS[name]})\**\s*(?:[:\uff1a=]\**|\s*\|)\s*"
        rf"([^|\n]+?)(?=\s*(?:$|\||[;,]?\s\**(?:{others})\**\s*[:\uff1a=]))"
    )


PRESETS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "standard": {
        "number": (
            r"\b((?:(?:SS|DIN|BS|NF|SIS|UNE|CSN)[ -])?(?:(?:pr)?EN[ -])?(?:ISO|IEC)"
            r"(?:/(?:IEC|ASTM|TS|TR|PAS|FDIS|DIS))*[ -]\d{2,6}(?:-\d{1,3})*(?::\d{4})?)",
            r"\b((?:(?:SS|DIN|BS|NF|SIS|UNE|CSN)[ -])?(?:pr)?EN[ -]\d{2,6}(?:-\d{1,3})*"
            r"(?::\d{4})?)",
            r"\b(ASTM\s+[A-G]\d{1,4}M?(?:\s?/\s?[A-G]?\d{1,4}M?)?(?:\s?[-\u2013]\s?\d{2,4}[a-z]?)?)",
            r"\b((?:SS|DIN|BS|NF|SIS|UNE|JIS|GOST|GB/T)[ -](?:[A-Z][ -]?)?\d{2,6}(?:-\d{1,3})*"
            r"(?::\d{4})?)",
        ),
        "title": (
            r"^# (?!(?:international|european|american|swedish|svensk|nationa|technical)\w*"
            r"\s+(?:standard|specification|report)\b)(?!(?:[A-Z]{2,4}[ -])*\S*\d[\d:./ -]*$)"
            r"(.{4,})$",
        ),
        "revision": (
            r"\b((?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\s+edition)\b",
            r"^(?:edition|utg[åa]va|revision|rev\.?|issue|version)[\s:]+([\w.]{1,12})\s*$",
            _labelled("revision"),
        ),
        "date": (
            r"\b(\d{4}-[01]\d(?:-[0-3]\d)?)\b",
            r"\b((?:[0-3]?\d\s+)?(?:january|february|march|april|may|june|july|august|september|"
            r"october|november|december)\s+\d{4})\b",
            _labelled("date"),
        ),
    },
    "report": {
        name: (_labelled(name),)
        for name in ("test_id", "project", "test_name", "region", "stage", "purpose", "date")
    },
}
"""Rules that ship: for standards, and for reports of tests (the fields of P1, A.2.1)."""
