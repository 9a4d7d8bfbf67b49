"""Sentences by another hand with what they cite, for `citation_checks.py`."""

import csv
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bounds import REPOSITORY, dataset

from rag_assets.citations.cited_sources import CitedPair, CitedRow, CitedText, Source

SENTENCES = Path(__file__).with_name("other_hand") / "third" / "sentences.jsonl"
DEMO = REPOSITORY / "data"
ROW_ID = "row_id"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence that its sources support, or do not."""

    id: str
    language: str
    is_true: bool
    form: str
    text: str
    sources: tuple[Source, ...]


def labelled_sentences(file: Path) -> list[Labelled]:
    """The sentences with what they cite."""
    with file.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    return [
        Labelled(
            id=record["id"],
            language=record["lang"],
            is_true=bool(record["label"]),
            form=record["form"],
            text=record["sentence"],
            sources=tuple(_sources(record["sources"])),
        )
        for record in records
    ]


def _sources(records: list[Mapping]) -> Iterator[Source]:
    for record in records:
        is_demo = record.get("corpus") == "demo"
        if record["kind"] == "text":
            folder = DEMO / "documents" if is_demo else dataset("materials_demo") / "docs"
            with (folder / record["path"]).open(encoding="utf-8", newline="") as held:
                text = held.read()
            yield CitedText(text[record["start"] : record["end"]], name=record["path"])
        elif is_demo:
            yield _row_of_demo(record["table"], record["row_id"])
        else:
            yield _row_of_dataset(dataset("materials_demo"), record["table"], record["row_id"])


def _row_of_dataset(corpus: Path, table: str, row_id: int) -> CitedRow:
    """A row of a table, with the headings that describe its columns."""
    described = _tables(corpus)[table]
    headings = {each["name"]: each.get("description") for each in described["columns"]}
    row = _read(corpus / "tables.sqlite", table, ROW_ID, row_id)
    pairs = tuple(
        CitedPair(headings.get(name) or name, str(value))
        for name, value in row.items()
        if value is not None and name != ROW_ID
    )
    return CitedRow(pairs, subject=described["title"], name=f"{table} {row_id}")


def _row_of_demo(table: str, key: int | str) -> CitedRow:
    """A row of the demo, with the headings and units of its file of headings."""
    headings = {name: (heading, unit) for name, heading, unit in _headings()[table]}
    row = _read(DEMO / "materials.sqlite", table, next(iter(headings)), key)
    pairs = tuple(
        CitedPair(heading, str(value), unit or None)
        for name, value in row.items()
        for heading, unit in [headings.get(name, (name, ""))]
        if value is not None
    )
    return CitedRow(pairs, subject=table.replace("_", " "), name=f"{table} {key}")


def _read(file: Path, table: str, column: str, key: int | str) -> Mapping:
    with closing(sqlite3.connect(file)) as database:
        database.row_factory = sqlite3.Row
        found = database.execute(f'SELECT * FROM "{table}" WHERE "{column}" = ?', (key,))
        return dict(found.fetchone())


@cache
def _headings() -> Mapping[str, list[tuple[str, str, str]]]:
    found: dict[str, list[tuple[str, str, str]]] = {}
    with (DEMO / "headings.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            named = row["column"], row["heading"], row["unit"]
            found.setdefault(row["table"], []).append(named)
    return found


@cache
def _tables(corpus: Path) -> Mapping[str, Mapping]:
    with (corpus / "tables.jsonl").open(encoding="utf-8") as lines:
        return {record["table"]: record for record in map(json.loads, lines)}
