"""Writes a dataset in the layout of the shared ones, so that every benchmark can read it.

docs/            the documents
documents.jsonl  the id of each document, which is its path below docs/
tables.sqlite    the tables; their first column `row_id` is the key of a row
tables.jsonl     the title of each table, and its headings in plain words
questions.jsonl  questions with gold evidence
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

Cell = str | int | float | None


class Evidence(TypedDict):
    doc_id: str
    page: NotRequired[int]
    text: str


class Question(TypedDict, total=False):
    id: str
    dataset: str
    question: str
    domain: str
    lang: str
    gold: list[str]
    support: list[str]
    evidence: list[Evidence]
    answer: str
    kind: str
    split: str


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    title: str
    headings: Mapping[str, str]
    """In plain words, for each column."""
    rows: Sequence[Sequence[Cell]]
    """Their cells in the order of `headings`; the key of a row is its place, from 1."""


def write(
    folder: Path,
    *,
    documents: Mapping[str, str],
    tables: Sequence[Table],
    questions: Iterable[Question],
) -> None:
    """Write a dataset into `folder`; `documents` are texts by their paths."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    for path, text in documents.items():
        (folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / path).write_text(text, "utf-8")
    write_lines(
        folder / "documents.jsonl",
        ({"doc_id": path, "path": f"docs/{path}"} for path in sorted(documents)),
    )
    write_lines(folder / "questions.jsonl", questions)
    write_lines(
        folder / "tables.jsonl",
        (
            {
                "table": table.name,
                "title": table.title,
                "columns": [
                    {"name": "row_id"},
                    *({"name": name, "description": text} for name, text in table.headings.items()),
                ],
            }
            for table in tables
        ),
    )
    _write_database(folder / "tables.sqlite", tables)


def write_lines(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text("".join(lines), "utf-8")


def read_questions(path: Path) -> list[Question]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _write_database(path: Path, tables: Sequence[Table]) -> None:
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        for table in tables:
            columns = "".join(
                f', "{name}" {_type_of([row[place] for row in table.rows])}'
                for place, name in enumerate(table.headings)
            )
            database.execute(f'CREATE TABLE "{table.name}" (row_id INTEGER PRIMARY KEY{columns})')
            marks = ", ?" * len(table.headings)
            database.executemany(
                f'INSERT INTO "{table.name}" VALUES (?{marks})',
                ((number, *row) for number, row in enumerate(table.rows, 1)),
            )
    database.close()


def _type_of(cells: Sequence[Cell]) -> str:
    held = [cell for cell in cells if cell is not None]
    if held and all(isinstance(cell, int) for cell in held):
        return "INTEGER"
    if held and all(isinstance(cell, int | float) for cell in held):
        return "REAL"
    return "TEXT"
