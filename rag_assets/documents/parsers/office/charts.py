"""Charts of a workbook.

What a chart plots from a visible sheet stands in the table of that sheet: the chart is a figure
that says its title, its axes, its series and its categories, so that it is found by its name and
repeats no numbers. What it plots from a hidden sheet or from another workbook, of which the file
keeps a copy, is shown nowhere else: the chart is a table below its title, as on a slide.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

from rag_assets.documents.elements.element import Element, clean
from rag_assets.documents.parsers.tables import table_of

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell import Cell
    from openpyxl.chart._chart import ChartBase
    from openpyxl.chart.series import Series
    from openpyxl.chartsheet import Chartsheet
    from openpyxl.worksheet.worksheet import Worksheet

Part: TypeAlias = Any
"""A title, a source of data or its values: openpyxl declares of none what it holds."""

MOST_SERIES = 255
"""What Excel draws in one chart."""
MOST_VALUES = 50_000
"""The most values of one chart; what plots more is data, and its chart is a figure wherever that
comes from."""
MOST_NAMED = 40
"""Categories that a figure names one by one; of more it names the first and the last."""
DEEPEST = 8
"""Levels of categories within each other."""

_REFERENCES = (
    ("numRef", "numCache"),
    ("strRef", "strCache"),
    ("multiLvlStrRef", "multiLvlStrCache"),
)


class Charts:
    """Reads the charts of one workbook."""

    def __init__(self, workbook: "Workbook", *, text_of: "Callable[[Cell], str]") -> None:
        """`text_of` writes the value of a cell as the sheet shows it."""
        self._sheets = {sheet.title: sheet for sheet in workbook.worksheets}
        self._text_of = text_of

    @cached_property
    def _last_rows(self) -> dict[str, int]:
        return {name: sheet.max_row for name, sheet in self._sheets.items()}

    def elements(self, sheet: "Worksheet | Chartsheet") -> Iterator[Element]:
        """The charts of a sheet, each a figure, or a caption and a table."""
        for chart in sheet._charts:
            yield from self._chart(chart)

    def _chart(self, chart: "ChartBase") -> Iterator[Element]:
        """A figure where its values are shown already, or are too many; else tables."""
        every = (series for plot in chart._charts for series in plot.series)
        drawn = list(islice(every, MOST_SERIES))
        is_shown = all(self._is_shown(_values(series)) for series in drawn)
        found = [self._series(series, values=not is_shown) for series in drawn]
        title, *axes = map(_title, (chart.title, *_axes(chart)))
        if is_shown or sum(len(series.values) for series in found) >= MOST_VALUES:
            return _figure(title, axes, found)
        return _tables(title, axes, found)

    def _series(self, series: "Series", *, values: bool) -> "_Series":
        """One series, with its values or without."""
        return _Series(
            name=" ".join(self._texts(series.tx)),
            categories=tuple(self._texts(series.cat or series.xVal)),
            values=tuple(self._texts(_values(series)) if values else ()),
        )

    def _texts(self, source: Part) -> list[str]:
        """The cells that are plotted, else what the file keeps of them."""
        formula, kept = _data(source)
        return (self._cells(formula) if formula else []) or kept

    def _is_shown(self, source: Part) -> bool:
        """Whether what is plotted stands on a visible sheet."""
        formula, _ = _data(source)
        found = self._range(formula) if formula else None
        return found is not None and found[0].sheet_state == "visible"

    def _cells(self, formula: str) -> list[str]:
        found = self._range(formula)
        if found is None:
            return []
        sheet, rows, columns = found
        lines = [[(row, column) for column in columns[:DEEPEST]] for row in rows]
        if len(rows) == 1:
            lines = [[(rows[0], column)] for column in columns]
        texts = [
            " ".join(
                self._text_of(cell) for place in line if (cell := sheet._cells.get(place))
            ).strip()
            for line in lines
        ]
        while texts and not texts[-1]:
            texts.pop()
        return texts

    def _range(self, formula: str) -> "tuple[Worksheet, range, range] | None":
        """Sheet, rows and columns; None for a name, several areas, or another workbook."""
        from openpyxl.utils.cell import range_to_tuple

        try:
            name, (left, top, right, bottom) = range_to_tuple(formula)
        except ValueError:
            return None
        sheet = self._sheets.get(name.replace("''", "'"))
        if sheet is None:
            return None
        last = min(bottom or self._last_rows[sheet.title], self._last_rows[sheet.title])
        rows = range(top or 1, last + 1)
        columns = range(left or 1, (right or sheet.max_column) + 1)
        return (sheet, rows[:MOST_VALUES], columns[:MOST_VALUES]) if rows and columns else None


@dataclass(frozen=True, slots=True)
class _Series:
    """What a chart draws in one colour."""

    name: str
    categories: tuple[str, ...]
    values: tuple[str, ...]


def _figure(title: str, axes: Sequence[str], drawn: Sequence[_Series]) -> Iterator[Element]:
    names = ", ".join(filter(None, (series.name for series in drawn)))
    categories = {series.categories: None for series in drawn}
    lines = [title, ", ".join(filter(None, axes)), names, *map(_named, categories)]
    if text := clean("\n".join(filter(None, lines))):
        yield Element(type="figure", text=text)


def _tables(title: str, axes: Sequence[str], drawn: Sequence[_Series]) -> Iterator[Element]:
    """The title, and a table for the series of each axis of categories."""
    if title:
        yield Element(type="caption", text=clean(title))
    by_categories: dict[tuple[str, ...], list[_Series]] = {}
    for series in drawn:
        by_categories.setdefault(series.categories, []).append(series)
    for categories, columns in by_categories.items():
        head = (axes[0] if axes else "", *(series.name for series in columns))
        values = (series.values for series in columns)
        yield table_of([head, *zip_longest(categories, *values, fillvalue="")])


def _values(series: "Series") -> Part:
    return series.val or series.yVal


def _data(source: Part) -> tuple[str | None, list[str]]:
    """The formula of the cells that are plotted, and the values that the file keeps of them."""
    for name, cache in _REFERENCES:
        if reference := getattr(source, name, None):
            return reference.f, _points(getattr(reference, cache))
    literal = getattr(source, "numLit", None) or getattr(source, "strLit", None)
    if text := getattr(source, "v", None):
        return None, [text]
    return None, _points(literal)


def _points(data: Part) -> list[str]:
    """Values in their places; of levels within each other the outermost comes first."""
    levels = getattr(data, "lvl", None)
    if levels is not None:
        columns = [_points(level) for level in reversed(levels[:DEEPEST])]
        return [" ".join(filter(None, row)) for row in zip_longest(*columns, fillvalue="")]
    points = {point.idx: point.v for point in getattr(data, "pt", ()) if point.idx < MOST_VALUES}
    values = (points.get(place) for place in range(max(points, default=-1) + 1))
    return [f"{value:.12g}" if isinstance(value, float) else value or "" for value in values]


def _axes(chart: "ChartBase") -> Iterator[Part]:
    """The titles of the axes; a pie has none."""
    for name in ("x_axis", "y_axis"):
        if axis := getattr(chart, name, None):
            yield axis.title


def _title(title: Part) -> str:
    """The words of a title, from its cell where it is linked to one."""
    text = title.tx if title else None
    if text is None:
        return ""
    if text.strRef:
        return " ".join(_points(text.strRef.strCache))
    paragraphs = text.rich.p if text.rich else ()
    words = ("".join(run.t or "" for run in paragraph.r or ()) for paragraph in paragraphs)
    return " ".join(" ".join(words).split())


def _named(categories: Sequence[str]) -> str:
    if len(categories) > MOST_NAMED:
        return f"{categories[0]} \N{HORIZONTAL ELLIPSIS} {categories[-1]}"
    return ", ".join(filter(None, categories))
