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
from rag_assets.documents.head.facts import ISO_DATE, WRITTEN_DATE, first_page
from rag_assets.documents.head.words import head_words
from rag_assets.schemas import HEADINGS

MOST_CHARACTERS = 8_000
"""A rule reads at most so many characters of the first page."""
MOST_OF_A_VALUE = 200
"""A value is cut there, at a word."""


def rules_of(settings: HeaderRules) -> dict[str, tuple[str, ...]]:
    """The regular expressions of each field: those of the presets, then those of the config.

    A field of the config takes the place of one of a preset with the same name.
    """
    rules: dict[str, tuple[str, ...]] = {}
    for preset in settings.presets:
        rules |= _of_standards() if preset == "standard" else _of_reports()
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
    lines = [
        f"# {block.text}" if block.type in HEADINGS else block.text
        for block in first_page(blocks[:elements])
        if block.text
    ]
    text = "\n".join(lines)[:MOST_CHARACTERS]
    return tuple(f"{name}: {value}" for name, value in _values(text, rules))


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


def _labelled(name: str) -> str:
    """The text after a label, up to the end of its line or cell, or to the next label."""
    labels = head_words().labels
    others = "|".join(labels.values())
    return (
        rf"(?:^|[|\s*])(?:{labels[name]})\**\s*(?:[:\uff1a=]\**|\s*\|)\s*"
        rf"([^|\n]+?)(?=\s*(?:$|\||[;,]?\s\**(?:{others})\**\s*[:\uff1a=]))"
    )


def _of_standards() -> Mapping[str, tuple[str, ...]]:
    """The rules for standards."""
    words = head_words()
    edition = rf"\b((?:{'|'.join(words.ordinals)})\s+edition)\b"
    return {
        "number": tuple(words.standard["number"]),
        "title": tuple(words.standard["title"]),
        "revision": (edition, *words.standard["revision"], _labelled("revision")),
        "date": (rf"\b({ISO_DATE})\b", rf"\b({WRITTEN_DATE})\b", _labelled("date")),
    }


def _of_reports() -> Mapping[str, tuple[str, ...]]:
    """The rules for reports of tests (the fields of P1, A.2.1)."""
    return {name: (_labelled(name),) for name in head_words().labels if name != "revision"}
