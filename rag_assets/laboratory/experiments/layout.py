"""Pivots: the means of an experiment as the tables and plots of its paper."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import pyarrow.compute as pc

from rag_assets.laboratory.experiments.design import (
    METRIC,
    QUESTIONS,
    ExperimentArm,
    Factor,
    Figure,
    Layout,
    Measure,
)
from rag_assets.laboratory.experiments.results import ExperimentResult
from rag_assets.reports.plots import bar_of, bars, line
from rag_assets.reports.text_tables import Row

QUESTION_NAMES = {"document": "documents", "table": "tables", "combined": "all"}
"""The groups of questions as column headings; the thesis calls them Doc_q, Tab_q and Combo_q."""


class Means:
    """Look-up of the means of all arms on the reported split."""

    def __init__(self, result: ExperimentResult) -> None:
        """Read the summary of `result`."""
        record = result.record
        rows = result.summary.filter(
            pc.and_(
                pc.equal(result.summary["split"], record.split),
                pc.equal(result.summary["level"], record.level),
            )
        ).to_pylist()
        self._rows: Mapping[tuple, Row] = {
            (row["retriever"], row["metric"], row["cutoff"], row["domain"]): row for row in rows
        }
        self._arms = result.design.arms
        self._chosen = set(record.chosen.values())

    def of(self, arm: str, measure: Measure, domain: str) -> Row | None:
        """The mean of one arm; None if there are no such questions."""
        return self._rows.get((arm, *measure, domain))

    def domains(self, wanted: Sequence[str]) -> list[str]:
        """Those of `wanted` that have questions."""
        present = {domain for *_, domain in self._rows}
        return [domain for domain in wanted if domain in present]

    def arms_of(self, layout: Layout | Figure) -> list[ExperimentArm]:
        """The arms that `layout` shows."""
        return [
            arm
            for arm in self._arms
            if all(arm.factors.get(name) == value for name, value in layout.where.items())
            and (not layout.is_of_chosen or not self._chosen or arm.name in self._chosen)
        ]


def pivot(means: Means, layout: Layout) -> tuple[list[str], list[Row]]:
    """Columns and rows of a table; stars mark the best of each measure and group."""
    arms = means.arms_of(layout)
    domains = means.domains(layout.domains)
    values = _values(arms, domains=domains, measures=layout.measures)
    best = {
        (name, domain): max(
            (value_of(row) for arm in arms if (row := means.of(arm.name, measure, domain))),
            default=None,
        )
        for name, measure in layout.measures.items()
        for domain in domains
    }
    columns = [
        (over, name)
        for over in product(*(values[name] for name in layout.columns))
        for name in layout.measures
    ]
    rows: list[Row] = []
    for side in product(*(values[name] for name in layout.rows)):
        cells = {}
        for over, name in columns:
            place = dict(zip([*layout.rows, *layout.columns], [*side, *over], strict=True))
            domain = str(place.pop(QUESTIONS, domains[-1] if domains else ""))
            found = [
                row
                for arm in arms
                if all(arm.factors.get(factor) == value for factor, value in place.items())
                and (row := means.of(arm.name, layout.measures[name], domain))
            ]
            is_plain = bool(over) and len(layout.measures) == 1
            heading = " · ".join([*map(_shown, over), *([] if is_plain else [name])])
            cells[heading] = _cell(found[0], best=best[name, domain]) if found else "-"
        if any(cell != "-" for cell in cells.values()):
            about = dict(zip(layout.rows, map(_shown, side), strict=True))
            rows.append(about | cells)
    return (list(rows[0]) if rows else [*layout.rows]), rows


def plots(means: Means, figure: Figure) -> Iterator[str]:
    """The plots of a figure, one for each panel."""
    arms = means.arms_of(figure)
    domains = means.domains(figure.domains)
    values = _values(arms, domains=domains, measures=figure.measures)
    for panel in product(*(values[name] for name in figure.panel)):
        fixed = dict(zip(figure.panel, panel, strict=True))
        drawn = {}
        for one in product(*(values[name] for name in figure.series)):
            place = fixed | dict(zip(figure.series, one, strict=True))
            points = [
                (x, row)
                for x in values[figure.x]
                if (row := _point(means, arms, place | {figure.x: x}, figure, domains)) is not None
            ]
            if points:
                drawn[", ".join(map(_shown, one))] = points
        title = ", ".join([figure.title, *map(_shown, panel)])
        if drawn:
            yield _plot(figure, drawn, title=title, groups=values[figure.x])


def _plot(
    figure: Figure,
    drawn: Mapping[str, Sequence[tuple[Factor, Row]]],
    *,
    title: str,
    groups: Sequence[Factor],
) -> str:
    label = "mean, 95 % interval" if figure.kind == "bars" else "mean"
    if figure.kind == "lines":
        lines = {
            name: [(float(x), value_of(row)) for x, row in points] for name, points in drawn.items()
        }
        return line(lines, title=title, x_label=figure.x, y_label=label)
    series = {}
    for name, points in drawn.items():
        rows = dict(points)
        series[name] = [bar_of(rows.get(group)) for group in groups]
    return bars(series, groups=[_shown(group) for group in groups], title=title, y_label=label)


def _point(
    means: Means,
    arms: Sequence[ExperimentArm],
    place: Mapping[str, Factor],
    figure: Figure,
    domains: Sequence[str],
) -> Row | None:
    factors = dict(place)
    domain = str(factors.pop(QUESTIONS, domains[-1] if domains else ""))
    name = str(factors.pop(METRIC, next(iter(figure.measures))))
    for arm in arms:
        if all(arm.factors.get(factor) == value for factor, value in factors.items()):
            return means.of(arm.name, figure.measures[name], domain)
    return None


def _values(
    arms: Sequence[ExperimentArm], *, domains: Sequence[str], measures: Mapping[str, Measure]
) -> dict[str, list[Factor]]:
    """The values of each factor, in the order of the arms; numbers are sorted."""
    found: dict[str, list[Factor]] = {QUESTIONS: [*domains], METRIC: [*measures]}
    for name in dict.fromkeys(name for arm in arms for name in arm.factors):
        values = list(dict.fromkeys(arm.factors[name] for arm in arms if name in arm.factors))
        numbers = all(isinstance(value, (int, float)) for value in values)
        found[name] = sorted(values) if numbers else values
    return found


def value_of(row: Row) -> float:
    """The mean in a row of the summary; 0 where there is none."""
    return float(row["value"] or 0)


def _cell(row: Row, *, best: float | None) -> str:
    shown = f"{value_of(row):.3f}"
    return f"*{shown}*" if value_of(row) == best else shown


def _shown(value: Factor) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return QUESTION_NAMES.get(value, value) if isinstance(value, str) else f"{value:,}"
