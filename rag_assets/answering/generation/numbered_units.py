"""The numbered sources that a language model is shown: units, and what was computed from tables.

P4, section 3.5: a header before each passage says where it stands, so that the model can cite it by
its number alone. All that comes from a source, its names and headings too, stands between fences
whose name none of it holds, so that nothing in it looks like the end of a quotation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rag_assets import identity
from rag_assets.citations.sentences import Sentence
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import RowCells

LEAST_TEXT = 200
"""The fewest characters of a unit that are worth showing."""
LONGEST_NAME = 200
"""At most so many characters of a name, a section or a key are shown."""


@dataclass(frozen=True, slots=True)
class NumberedUnit:
    """A unit as the model sees it."""

    number: int
    """The number of the unit, from 1."""
    hit: Hit
    row: RowCells | None
    """The cells of a row; None for a chunk."""
    text: str
    """The text of a chunk, with what stands around it."""

    @property
    def sources(self) -> frozenset[str]:
        """Names of the sources of its text."""
        return frozenset({self.hit.source})

    @property
    def header(self) -> str:
        """What the unit is, in one line, in words of its source."""
        parts = _of_row(self.hit) if self.hit.domain == "table" else _of_chunk(self.hit)
        return ", ".join(" ".join(part.split())[:LONGEST_NAME] for part in parts)

    def within(self, fence: str) -> str:
        """The unit as it is sent; outside the fence stand its number and whether it still holds."""
        mark = f"[{self.number}]{' superseded' if self.hit.is_superseded else ''}"
        return f"{mark}\n<{fence}>\n{self.header}\n\n{self.text}\n</{fence}>"


@dataclass(frozen=True, slots=True)
class NumberedResult:
    """What was computed from a table, as the model sees it."""

    number: int
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        """What is told of it."""
        return " ".join(each.text for each in self.sentences)

    @property
    def sources(self) -> frozenset[str]:
        """Names of the sources of its tables."""
        cited = (citation for each in self.sentences for citation in each.citations)
        return frozenset().union(*(each.sources for each in cited))

    def within(self, fence: str) -> str:
        """The result as it is sent."""
        return f"[{self.number}]\n<{fence}>\ncomputed from a table\n\n{self.text}\n</{fence}>"


@dataclass(frozen=True, slots=True)
class NumberedUnits:
    """What is shown, in the order of the hits; results of lookups stand behind them."""

    units: tuple[NumberedUnit, ...]
    fence: str
    """Name of the tag around each text."""
    results: tuple[NumberedResult, ...] = ()

    def __len__(self) -> int:
        return len(self.units)

    def __iter__(self) -> Iterator[NumberedUnit]:
        return iter(self.units)

    @property
    def all(self) -> "tuple[NumberedUnit | NumberedResult, ...]":
        """Units and results, by their numbers."""
        return (*self.units, *self.results)

    def of_number(self, number: int) -> NumberedUnit | NumberedResult | None:
        """What is called `[number]`; None if there is nothing."""
        return self.all[number - 1] if 1 <= number <= len(self.all) else None

    @property
    def sources(self) -> frozenset[str]:
        """Names of the sources whose text is shown."""
        return frozenset().union(*(each.sources for each in self.all))

    @property
    def as_text(self) -> str:
        """All of it as it is sent."""
        return "\n\n".join(each.within(self.fence) for each in self.all)

    def first(self, count: int) -> "NumberedUnits":
        """The first `count` units, and the results."""
        results = _numbered([each.sentences for each in self.results], after=count)
        return replace(self, units=self.units[:count], results=results)


def numbered_units(
    hits: Sequence[Hit],
    rows: Mapping[str, RowCells],
    *,
    characters: int,
    results: Sequence[tuple[Sentence, ...]] = (),
    beside: str = "",
) -> NumberedUnits:
    """The hits that fit into so many characters, best first, and all `results`.

    The last one may be cut, and one that would take more than half, such as a row of a thousand
    columns: it leaves room for those behind it.

    Args:
        hits: Best first.
        rows: The cells of those that are rows, by their unit.
        characters: The most characters of headers and texts together.
        results: What was computed from tables.
        beside: What else will stand between fences.
    """
    every = [
        NumberedUnit(number, hit, row, _text_of(hit, row))
        for number, hit in enumerate(hits, start=1)
        for row in [rows.get(hit.unit_id)]
    ]
    computed = _numbered(results, after=len(every))
    told = [beside, *(each.text for each in computed)]
    fence = _fence([*(f"{unit.header}\n{unit.text}" for unit in every), *told])
    shown: list[NumberedUnit] = []
    left = characters - sum(len(each.within(fence)) + len("\n\n") for each in computed)
    for unit in every:
        around = len(replace(unit, text="").within(fence)) + len("\n\n")
        room = left - around if unit is every[-1] else min(left - around, characters // 2)
        if room < min(LEAST_TEXT, len(unit.text)):
            break
        is_row = unit.row is not None and unit.row.cells
        text = unit.text if is_row or len(unit.text) <= room else unit.hit.text
        shown.append(replace(unit, text=text[:room]))
        left -= around + len(shown[-1].text)
    return NumberedUnits(tuple(shown), fence, _numbered(results, after=len(shown)))


def _numbered(results: Sequence[tuple[Sentence, ...]], *, after: int) -> tuple[NumberedResult, ...]:
    return tuple(NumberedResult(*each) for each in enumerate(results, start=after + 1))


def _text_of(hit: Hit, row: RowCells | None) -> str:
    if row is None or not row.cells:
        return hit.context or hit.text
    return "; ".join(f"{cell.heading}: {cell.value}" for cell in row.cells)


def _of_chunk(hit: Hit) -> Iterator[str]:
    yield f"document {hit.uri}"
    if hit.section:
        yield f"section {hit.section}"
    if hit.pages:
        yield f"page{'s' if len(hit.pages) > 1 else ''} {', '.join(map(str, hit.pages))}"
    if hit.version:
        yield f"version {hit.version}"


def _of_row(hit: Hit) -> Iterator[str]:
    yield f"table {hit.title or hit.table}"
    yield f"row {hit.row_key}"


def _fence(texts: Sequence[str]) -> str:
    """A name that stands in none of the texts, the same for the same texts."""
    seed = identity.text_hash("\n".join(texts))
    name = f"source-{seed[:8]}"
    while any(name in text for text in texts):
        seed = identity.text_hash(seed)
        name = f"source-{seed[:8]}"
    return name
