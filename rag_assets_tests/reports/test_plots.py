from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.reports import plots
from rag_assets.reports.plots import Bar

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in parsed(svg).iter(f"{SVG}text")]


def drawn_bars(svg: str) -> list[ElementTree.Element]:
    """Rectangles with a tooltip: the bars, not the card or the legend."""
    return [node for node in parsed(svg).iter(f"{SVG}rect") if node.find(f"{SVG}title") is not None]


def test_a_title_with_markup_is_shown_as_text() -> None:
    svg = plots.histogram([1, 2], title="a < b & <script>", x_label='"x"')
    assert parsed(svg).find(f"{SVG}title").text == "a < b & <script>"
    assert '"x"' in texts(svg)


def test_equal_input_gives_equal_text() -> None:
    first, second = (plots.histogram([1.5, 2.5, 9], title="t", x_label="x") for _ in range(2))
    assert first == second


@given(
    st.lists(
        st.floats(allow_nan=True, allow_infinity=True, width=32) | st.integers(-(10**6), 10**6),
        max_size=60,
    )
)
def test_every_finite_value_is_counted_in_one_bar(values: list[float]) -> None:
    svg = plots.histogram(values, title="t", x_label="x")
    counted = sum(
        int(bar.find(f"{SVG}title").text.rpartition(": ")[2].replace(",", ""))
        for bar in drawn_bars(svg)
    )
    assert counted == sum(value - value == 0 for value in values)


def test_whole_numbers_get_whole_bins() -> None:
    svg = plots.histogram([1, 2, 2, 4], title="t", x_label="x")
    tips = [bar.find(f"{SVG}title").text for bar in drawn_bars(svg)]
    assert tips == ["1 to 2: 1", "2 to 3: 2", "3 to 4: 0", "4 to 5: 1"]


def test_the_taller_bar_has_the_greater_value_and_whiskers_reach_its_bounds() -> None:
    svg = plots.bars(
        {"bm25": [Bar(0.4, 0.3, 0.5)], "hybrid": [Bar(0.8)]},
        groups=["mrr@10"],
        title="t",
        y_label="mean",
    )
    first, second = drawn_bars(svg)
    assert float(second.get("height")) == pytest.approx(2 * float(first.get("height")), rel=1e-3)
    assert first.find(f"{SVG}title").text == "bm25, mrr@10: 0.4 (0.3 to 0.5)"
    assert {"bm25", "hybrid", "mrr@10"} <= set(texts(svg))
    whisker = [
        abs(float(node.get("y1")) - float(node.get("y2")))
        for node in parsed(svg).iter(f"{SVG}line")
        if node.get("x1") == node.get("x2")
    ]
    assert whisker == [pytest.approx(float(first.get("height")) / 2, rel=1e-2)]


def test_a_value_that_is_not_known_has_no_bar() -> None:
    svg = plots.bars(
        {"bm25": [Bar(float("nan")), Bar(0.5)]}, groups=["a", "b"], title="t", y_label="mean"
    )
    assert len(drawn_bars(svg)) == 1


def test_a_line_rises_where_its_values_do() -> None:
    svg = plots.line({"bm25": [(1, 0.2), (2, 0.7)]}, title="t", x_label="k", y_label="hit rate")
    (path,) = parsed(svg).iter(f"{SVG}polyline")
    (x0, y0), (x1, y1) = (point.split(",") for point in path.get("points").split())
    assert float(x0) < float(x1)
    assert float(y0) > float(y1)


@pytest.mark.parametrize(
    "svg",
    [
        plots.histogram([], title="t", x_label="x"),
        plots.bars({}, groups=[], title="t", y_label="y"),
        plots.line({"a": []}, title="t", x_label="x", y_label="y"),
    ],
)
def test_a_plot_of_nothing_says_so(svg: str) -> None:
    assert "no values" in texts(svg)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_a_sparkline_stays_within_its_frame_and_ends_at_its_mark(values: list[float]) -> None:
    drawing = parsed(plots.sparkline(values, title="rows"))
    width, height = (float(drawing.get(name)) for name in ("width", "height"))
    line = drawing.find(f"{SVG}polyline").get("points").split()
    points = [tuple(map(float, point.split(","))) for point in line]

    assert len(points) == len(values)
    assert all(0 <= x <= width and 0 <= y <= height for x, y in points)
    mark = drawing.find(f"{SVG}circle")
    assert (float(mark.get("cx")), float(mark.get("cy"))) == points[-1]
