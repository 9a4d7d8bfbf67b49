"""HTML pages for people: one self-contained file, no script, no outside link, light and dark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

NARROW = 26
"""Characters of a cell that stay on one line."""

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --muted: #52606d; --line: #e4e7eb;
  --paper: #ffffff; --wash: #f5f7fa; --accent: #0072b2; --bad: #b3261e; --warn: #8c5a00;
  --good: #00664b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --muted: #9aa5b1;
  --line: #323f4b; --paper: #161b22; --wash: #1f2630; --accent: #56b4e9; --bad: #ff8a80;
  --warn: #ffc266; --good: #5fd3ad; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 40px 24px 80px; }
h1 { font-size: 28px; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 44px 0 12px; }
h3 { font-size: 15px; margin: 24px 0 6px; }
p, li { max-width: 74ch; }
.about, .note { color: var(--muted); }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 24px 0; }
.tile { flex: 1 1 200px; background: var(--wash); border-radius: 12px; padding: 14px 18px; }
.tile b { display: block; font-size: 26px; font-variant-numeric: tabular-nums; }
.tile span { color: var(--muted); font-size: 13px; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(440px, 1fr)); gap: 16px; }
.plots svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 12px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th, td { text-align: left; vertical-align: top; padding: 7px 9px 7px 0;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th { color: var(--muted); font-weight: 600; white-space: nowrap; }
td { overflow-wrap: anywhere; min-width: 18ch; }
td.nowrap { white-space: nowrap; min-width: 0; }
table:has(th:nth-child(7)) td { min-width: 0; }
table:has(th:nth-child(7)) th { white-space: normal; }
table:has(th:nth-child(9)) { font-size: 12px; }
table:has(th:nth-child(9)) :is(th, td) { padding-right: 8px; white-space: normal; min-width: 4ch; }
table:has(th:nth-child(9)) th { overflow-wrap: anywhere; }
details { margin: 10px 0; }
summary { cursor: pointer; color: var(--accent); }
.bad { color: var(--bad); font-weight: 600; }
.warn { color: var(--warn); font-weight: 600; }
.good { color: var(--good); }
"""


class Html(str):
    """Text that is markup already and is not escaped."""

    __slots__ = ()


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page with `parts`, which are markup, below each other."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>",
            *parts,
            "</main></body></html>",
        ]
    )


def section(title: str, *parts: str) -> Iterator[str]:
    """A heading and the parts below it."""
    yield f"<h2>{escape(title)}</h2>"
    yield from parts


def note(text: str) -> str:
    """A paragraph in a quiet colour."""
    return f'<p class="note">{escape(text)}</p>'


def tile(number: str, label: str) -> str:
    """A number in large type; `label` is markup."""
    return f'<div class="tile"><b>{escape(number)}</b><span>{label}</span></div>'


def bullets(sentences: Iterable[str]) -> str:
    """A list."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>"


def table(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    """A table with a header row; values that are `Html` are not escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(_cell(row.get(name)) for name in columns) + "</tr>" for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if isinstance(value, Html):
        return f"<td>{value}</td>"
    text = "" if value is None else str(value)
    kind = ' class="nowrap"' if len(text) < NARROW else ""
    return f"<td{kind}>{escape(text)}</td>"
