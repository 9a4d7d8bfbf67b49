"""What a sentence is held to by its citations: words of a document, or a row as its pairs."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class CitedText:
    """Words of a document."""

    text: str
    name: str = ""
    """The name of the place in messages."""
    origin: str = ""
    """The source of the config that it is from; empty where nobody knows."""


@dataclass(frozen=True, slots=True)
class CitedPair:
    """A cell of a row."""

    heading: str
    value: str
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class CitedRow:
    """A row, or the cells of it that are cited."""

    pairs: tuple[CitedPair, ...]
    subject: str = ""
    """What names the row beside its pairs: the title of its table."""
    name: str = ""
    origin: str = ""
    """The source of the config that it is from; empty where nobody knows."""


Source: TypeAlias = CitedText | CitedRow


def text_of(source: Source) -> str:
    """What a source says, as a text to read."""
    if isinstance(source, CitedText):
        return source.text
    cells = (f"{each.heading}: {each.value} {each.unit or ''}".strip() for each in source.pairs)
    return "; ".join(filter(None, (source.subject, *cells)))
