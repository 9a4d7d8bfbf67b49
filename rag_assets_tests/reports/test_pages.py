"""Pages as a browser lays them out."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from jinja2 import UndefinedError

from rag_assets.reports import pages

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
WIDTH = 1300
"""Pixels of the window: a laptop's."""
MEASURING = """<iframe id="page" src="report.html" style="width: 1300px; height: 900px; border: 0">
</iframe><script>window.onload = () => {
  const found = document.getElementById("page").contentDocument;
  const wide = [found.scrollingElement, ...found.querySelectorAll(".scroll")];
  document.title = JSON.stringify(wide.map(each => each.scrollWidth - each.clientWidth));
};</script>"""


TABLES = """{% extends "reports/page.html" %}
{% from "reports/parts.html" import table %}
{% block main %}{% for rows in tables %}{{ table(rows, starred=true) }}{% endfor %}{% endblock %}"""


def page_of(*tables: list[dict[str, object]], title: str = "Report") -> str:
    return pages.environment().from_string(TABLES).render(title=title, tables=tables)


def scrolls_by(page: str, folder) -> list[int]:
    """Pixels by which the page and each of its tables are wider than there is room for."""
    (folder / "report.html").write_text(page)
    (folder / "measuring.html").write_text(MEASURING)
    shown = subprocess.run(
        [
            BROWSER,
            *("--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"),
            *(f"--user-data-dir={folder / 'profile'}", f"--window-size={WIDTH},900"),
            *("--virtual-time-budget=5000", "--dump-dom", str(folder / "measuring.html")),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return json.loads(unescape(re.search("<title>(.*?)</title>", shown)[1]))


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_no_table_is_wider_than_the_window_of_a_laptop(tmp_path):
    differences = {
        "questions": "document",
        "n": 62,
        "clusters": "22 by source",
        "retriever": "hybrid",
        "against": "baseline",
        "metric": "hit_rate@10",
        "difference": "+0.210 [+0.098, +0.328]",
        "says": "better",
        "detectable": 0.152,
        "p adjusted": "< 0.001",
        "p": "< 0.001",
        "p McNemar": "0.002",
        "smallest p": 0.0005,
    }
    modes = ("reciprocal_rank", "relative_score", "distribution_based")
    metrics = [f"{mode} · {name}" for mode in modes for name in ("Hit rate", "MRR")]
    fusion = {"questions": "documents", **dict.fromkeys(metrics, "0.867")}
    tables = [[row, row] for row in (differences, fusion)]

    assert scrolls_by(page_of(*tables), tmp_path) == [0, 0, 0]


def test_markup_in_titles_headings_and_cells_is_shown_as_text():
    hostile = "<script>alert(1)</script>"
    shown = page_of([{hostile: hostile, "best": f"*{hostile}*"}], title=hostile)

    assert "<script" not in shown
    assert unescape(shown).count(hostile) == 5
    assert "<b>&lt;script&gt;" in shown


def test_what_a_template_names_and_nobody_gives_is_an_error():
    with pytest.raises(UndefinedError, match="'tables' is undefined"):
        pages.environment().from_string(TABLES).render(title="Report")


def test_an_empty_cell_is_empty_and_a_short_one_stays_on_one_line():
    shown = page_of([{"none": None, "zero": 0, "long": "word " * 9}])

    assert '<td class="nowrap"></td>' in shown
    assert '<td class="nowrap">0</td>' in shown
    assert "<td>word word" in shown
