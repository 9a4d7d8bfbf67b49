"""Small SVG plots for metadata and reports, written by hand: no plotting library is needed.

Every plot is a self-contained `<svg>` on a white rounded card, so that it reads on a light and on
a dark page, in colours that colour-blind readers can tell apart (Okabe and Ito). Labels are
escaped, each plot carries a `<title>` for screen readers, and equal input gives equal text.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np

from rag_assets.reports.text_tables import Row

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D31", "#555555")
INK = "#1F2933"
MUTED = "#52606D"
GRID = "#E4E7EB"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

WIDTH = 720
HEIGHT = 340
SPARK_WIDTH = 160
SPARK_HEIGHT = 32
MARGIN_LEFT = 64
MARGIN_RIGHT = 24
MARGIN_BOTTOM = 56
TITLE_BASELINE = 30
SUBTITLE_BASELINE = 52
PLOT_TOP = 72
LINE_HEIGHT = 13
LABEL_LINES = 3
CHARACTER_WIDTH = 6.6
"""Average width of a character at 12 px, to lay out the legend without measuring fonts."""

FEWEST_BINS = 5
MOST_BINS = 40
LARGEST_WHOLE = 1e12
"""Larger numbers are not counted one by one."""
WANTED_TICKS = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, with the ends of its confidence interval where there is one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class _Axis:
    """A linear map from values to pixels, with round ticks."""

    ticks: Sequence[float]
    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)


def histogram(values: Sequence[float], *, title: str, x_label: str) -> str:
    """How `values` are distributed; their number and median stand below the title.

    Values that are not finite are left out. The bins, five to 40, follow the rule of Freedman and
    Diaconis (1981); if all values are whole numbers, so are the ends of the bins.
    """
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return _card(title, "no values", [])
    edges = _bin_edges(finite)
    counts, _ = np.histogram(finite, edges)
    x_axis = _x_axis(float(edges[0]), float(edges[-1]))
    y_axis = _y_axis(0.0, float(counts.max()), whole=True)
    marks = list(_frame(x_axis, y_axis, x_label=x_label, y_label="count"))
    for count, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        x, x_end = x_axis.at(float(left)), x_axis.at(float(right))
        width = max(x_end - x - 1, 1)
        marks.append(
            _bar(
                x,
                y_axis.at(float(count)),
                width=width,
                bottom=y_axis.start,
                colour=PALETTE[0],
                tip=f"{_number(float(left))} to {_number(float(right))}: {count:,}",
            )
        )
    median = float(np.median(finite))
    subtitle = (
        f"n = {finite.size:,} · median {_number(median)} · "
        f"from {_number(float(finite.min()))} to {_number(float(finite.max()))}"
    )
    return _card(title, subtitle, marks)


def bars(
    series: Mapping[str, Sequence[Bar]], *, groups: Sequence[str], title: str, y_label: str
) -> str:
    """Grouped bars: in each of `groups` one bar for each series, whiskers where it has bounds.

    Args:
        series: For each name of the legend, one bar for each group.
        groups: Labels below the groups of bars.
        title: What is shown.
        y_label: What the height means, its unit included.
    """
    drawn = [bar for row in series.values() for bar in row if math.isfinite(bar.value)]
    if not drawn:
        return _card(title, "no values", [])
    highest = max(max(bar.value, bar.high or bar.value) for bar in drawn)
    lowest = min(min(bar.value, bar.low or bar.value) for bar in drawn)
    y_axis = _y_axis(min(lowest, 0.0), max(highest, 0.0))
    marks = [*_horizontal_grid(y_axis), _y_title(y_label)]
    group_width = (WIDTH - MARGIN_LEFT - MARGIN_RIGHT) / len(groups)
    bar_width = min(group_width * 0.8 / len(series), 44)
    for number, group in enumerate(groups):
        middle = MARGIN_LEFT + group_width * (number + 0.5)
        marks += _wrapped(group, middle, width=group_width)
        left = middle - bar_width * len(series) / 2
        for position, (name, row) in enumerate(series.items()):
            bar = row[number]
            if math.isfinite(bar.value):
                x = round(left + bar_width * position + 1, 2)
                colour = PALETTE[position % len(PALETTE)]
                marks += _whiskered(
                    bar, x, y_axis, width=bar_width - 2, colour=colour, name=f"{name}, {group}"
                )
    marks.append(_base_line(y_axis))
    return _card(title, "", marks, legend=list(series))


def line(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
) -> str:
    """One line for each series of (x, y) points, such as the hit rate over the cutoff."""
    points = [point for row in series.values() for point in row]
    if not points:
        return _card(title, "no values", [])
    x_axis = _x_axis(min(x for x, _ in points), max(x for x, _ in points))
    y_axis = _y_axis(min(0.0, *(y for _, y in points)), max(y for _, y in points))
    marks = list(_frame(x_axis, y_axis, x_label=x_label, y_label=y_label))
    for position, row in enumerate(series.values()):
        colour = PALETTE[position % len(PALETTE)]
        path = " ".join(f"{x_axis.at(x)},{y_axis.at(y)}" for x, y in row)
        marks.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5" '
            'stroke-linejoin="round" stroke-linecap="round"/>'
        )
    return _card(title, "", marks, legend=list(series))


def sparkline(values: Sequence[float], *, title: str) -> str:
    """A small line without axes, from the oldest value to the newest, which is marked."""
    low, high = min(values), max(values)
    x_axis = _Axis((), 0, max(len(values) - 1, 1), 4, SPARK_WIDTH - 6)
    y_axis = _Axis((), low, high if high > low else low + 1, SPARK_HEIGHT - 5, 5)
    points = [f"{x_axis.at(x):g},{y_axis.at(y):g}" for x, y in enumerate(values)]
    x, y = points[-1].split(",")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SPARK_WIDTH} {SPARK_HEIGHT}" '
        f'width="{SPARK_WIDTH}" height="{SPARK_HEIGHT}" role="img">'
        f"<title>{escape(title)}: {_number(low)} to {_number(high)}, "
        f"now {_number(values[-1])}</title>"
        f'<polyline points="{" ".join(points)}" fill="none" stroke="{PALETTE[0]}" '
        f'stroke-width="1.5"/><circle cx="{x}" cy="{y}" r="2.5" fill="{PALETTE[3]}"/></svg>'
    )


def _bin_edges(values: np.ndarray) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    if np.all(values == np.round(values)) and max(-low, high) < LARGEST_WHOLE:
        step = max(1, math.ceil((high - low + 1) / MOST_BINS))
        return np.arange(low, high + step + 0.5, step)
    if low == high:
        half = max(0.5, abs(low) / 2)
        return np.array([low - half, high + half])
    upper, lower = np.quantile(values, [0.75, 0.25])
    width = 2 * float(upper - lower) / values.size ** (1 / 3)
    wanted = (high - low) / width if width else MOST_BINS
    return np.linspace(low, high, math.ceil(min(max(wanted, FEWEST_BINS), MOST_BINS)) + 1)


def _ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`, about five of them."""
    if high <= low:
        high = low + 1
    rough = (high - low) / WANTED_TICKS
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= rough)
    if whole:
        step = max(1.0, step)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _x_axis(low: float, high: float) -> _Axis:
    if high <= low:
        low, high = low - 0.5, high + 0.5
    inside = [tick for tick in _ticks(low, high) if low <= tick <= high]
    return _Axis(inside, low, high, MARGIN_LEFT, WIDTH - MARGIN_RIGHT)


def _y_axis(low: float, high: float, *, whole: bool = False) -> _Axis:
    ticks = _ticks(low, high, whole=whole)
    return _Axis(ticks, ticks[0], ticks[-1], HEIGHT - MARGIN_BOTTOM, PLOT_TOP)


def _frame(x_axis: _Axis, y_axis: _Axis, *, x_label: str, y_label: str) -> Iterator[str]:
    yield from _horizontal_grid(y_axis)
    yield _base_line(y_axis)
    for tick in x_axis.ticks:
        x = x_axis.at(tick)
        yield _stroke(x, HEIGHT - MARGIN_BOTTOM, x, HEIGHT - MARGIN_BOTTOM + 5, colour=MUTED)
        yield _text(x, HEIGHT - MARGIN_BOTTOM + 20, _number(tick), anchor="middle")
    middle = (MARGIN_LEFT + WIDTH - MARGIN_RIGHT) / 2
    yield _text(middle, HEIGHT - 14, x_label, anchor="middle", colour=INK)
    yield _y_title(y_label)


def _horizontal_grid(y_axis: _Axis) -> Iterator[str]:
    for tick in y_axis.ticks:
        y = y_axis.at(tick)
        yield _stroke(MARGIN_LEFT, y, WIDTH - MARGIN_RIGHT, y, colour=GRID)
        yield _text(MARGIN_LEFT - 8, y + 4, _number(tick), anchor="end")


def _base_line(y_axis: _Axis) -> str:
    y = y_axis.at(max(y_axis.low, 0.0))
    return _stroke(MARGIN_LEFT, y, WIDTH - MARGIN_RIGHT, y, colour=MUTED)


def _y_title(label: str) -> str:
    middle = (PLOT_TOP + HEIGHT - MARGIN_BOTTOM) / 2
    turn = f'transform="rotate(-90 16 {middle})"'
    return _text(16, middle, label, anchor="middle", colour=INK, more=turn)


def _whiskered(
    bar: Bar, x: float, y_axis: _Axis, *, width: float, colour: str, name: str
) -> Iterator[str]:
    top, bottom = sorted((y_axis.at(bar.value), y_axis.at(0.0)))
    tip = f"{name}: {_number(bar.value)}"
    if bar.low is not None and bar.high is not None:
        tip += f" ({_number(bar.low)} to {_number(bar.high)})"
    yield _bar(x, top, width=width, bottom=bottom, colour=colour, tip=tip)
    if bar.low is None or bar.high is None:
        return
    middle, cap = x + width / 2, min(width / 4, 5)
    low, high = y_axis.at(bar.low), y_axis.at(bar.high)
    yield _stroke(middle, low, middle, high, colour=INK, width=1.5)
    for y in (low, high):
        yield _stroke(middle - cap, y, middle + cap, y, colour=INK, width=1.5)


def _bar(x: float, y: float, *, width: float, bottom: float, colour: str, tip: str) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{bottom - y:g}" rx="1.5" '
        f'fill="{colour}"><title>{escape(tip)}</title></rect>'
    )


def _stroke(
    x: float, y: float, x_end: float, y_end: float, *, colour: str, width: float = 1
) -> str:
    return (
        f'<line x1="{x:g}" y1="{y:g}" x2="{x_end:g}" y2="{y_end:g}" stroke="{colour}" '
        f'stroke-width="{width:g}"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 12,
    colour: str = MUTED,
    more: str = "",
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
        f"{more}>{escape(text)}</text>"
    )


def _wrapped(label: str, middle: float, *, width: float) -> Iterator[str]:
    """`label` below the base line, broken at blanks and underscores to fit into `width`."""
    lines = [""]
    for part in re.findall(r"[ _]?[^ _]+", label):
        if lines[-1] and (len(lines[-1]) + len(part)) * CHARACTER_WIDTH > width:
            lines.append(part.strip())
        else:
            lines[-1] += part
    for place, line_of_label in enumerate(lines[:LABEL_LINES]):
        y = HEIGHT - MARGIN_BOTTOM + 20 + LINE_HEIGHT * place
        yield _text(middle, y, line_of_label, anchor="middle")


def _legend(names: Sequence[str]) -> Iterator[str]:
    """The names beside their colours, on a second line where they need one."""
    widths = [18 + len(name) * CHARACTER_WIDTH + 22 for name in names]
    room = WIDTH - MARGIN_LEFT
    is_long = sum(widths) > room
    x, y = float(MARGIN_LEFT), SUBTITLE_BASELINE - (6 if is_long else 0)
    for position, (name, width) in enumerate(zip(names, widths, strict=True)):
        if x > MARGIN_LEFT and x + width > WIDTH:
            x, y = float(MARGIN_LEFT), y + LINE_HEIGHT + 2
        colour = PALETTE[position % len(PALETTE)]
        yield f'<rect x="{x:g}" y="{y - 10}" width="12" height="12" rx="2" fill="{colour}"/>'
        yield _text(x + 18, y, name, colour=INK)
        x += width


def _card(title: str, subtitle: str, marks: Sequence[str], *, legend: Sequence[str] = ()) -> str:
    heading = _text(
        MARGIN_LEFT, TITLE_BASELINE, title, size=16, colour=INK, more='font-weight="600"'
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img" font-family="{escape(FONT)}">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="#FFFFFF"/>',
            heading,
            _text(MARGIN_LEFT, SUBTITLE_BASELINE, subtitle),
            *_legend(legend),
            *marks,
            "</svg>",
        ]
    )


def _number(value: float) -> str:
    """`value` as a reader expects it on an axis: 12,000, 0.25, 3."""
    if value == round(value) and abs(value) < 1e9:
        return f"{round(value):,}"
    if abs(value) >= 1_000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3g}"
    return f"{value:.3g}"


def bar_of(row: Row | None) -> Bar:
    """A mean with its interval as a bar of a plot; an empty bar without a mean."""
    if row is None:
        return Bar(float("nan"))
    value, low, high = (row[name] for name in ("value", "low", "high"))
    return Bar(
        float(value or 0.0),
        low if isinstance(low, float) else None,
        high if isinstance(high, float) else None,
    )
