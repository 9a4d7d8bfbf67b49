"""Tables of plain text, for terminals and logs, and in Markdown."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

GAP = "  "


Cell: TypeAlias = "float | int | str | None"

Row: TypeAlias = Mapping[str, Cell]


def table(rows: Sequence[Mapping[str, object]], *, columns: Sequence[str]) -> str:
    """`rows` as aligned columns under their headings; numbers are aligned to the right."""
    cells = [list(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    numeric = [
        all(isinstance(row.get(name), (int, float)) or row.get(name) is None for row in rows)
        for name in columns
    ]
    lines = [
        GAP.join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    ]
    return "\n".join([lines[0], GAP.join("-" * width for width in widths), *lines[1:]])


def cut(text: str, most: int) -> str:
    """`text` in at most so many characters, the last of which says that there were more."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def markdown_table(
    rows: Sequence[Mapping[str, object]], *, columns: Sequence[str] = ()
) -> list[str]:
    """The lines of a table in Markdown; with the keys of all rows unless `columns` are given.

    Numbers are aligned to the right, bars are escaped, line breaks become blanks.
    """
    if not rows and not columns:
        return []
    names = [*(columns or dict.fromkeys(name for row in rows for name in row))]
    numeric = [all(isinstance(row.get(name), (int, float)) for row in rows) for name in names]
    cells = [[_in_a_cell(row.get(name)) for name in names] for row in rows]
    aligned = ["---:" if rows and right else "---" for right in numeric]
    return [f"| {' | '.join(line)} |" for line in (names, aligned, *cells)]


def _in_a_cell(value: object) -> str:
    text = "" if value is None else str(value)
    return " ".join(text.replace("|", "\\|").split())


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def with_interval(row: Row | None) -> str:
    """`0.857 [0.800, 0.912]`."""
    if row is None or row["value"] is None:
        return "-"
    if row["low"] is None:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def signed(row: Row) -> str:
    """`+0.021 [-0.004, +0.046]`."""
    if row["low"] is None:
        return f"{row['value']:+.3f}"
    return f"{row['value']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
