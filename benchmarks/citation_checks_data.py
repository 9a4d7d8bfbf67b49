"""Sentences by another hand with what they cite, for `citation_checks.py` and its fit."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rag_assets.answering.checks.sources import CitedPair, CitedRow, CitedText, Source

SENTENCES = Path(__file__).with_name("other_hand") / "sentences.jsonl"
ROW_ID = "row_id"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence that its sources support, or do not."""

    id: str
    split: str
    language: str
    is_true: bool
    form: str
    text: str
    sources: tuple[Source, ...]


def labelled_sentences(file: Path, *, corpus: Path, split: str | None) -> list[Labelled]:
    """The sentences of a split (None: of all), with what they cite in `corpus`."""
    with file.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    return [
        Labelled(
            id=record["id"],
            split=record.get("split", "dev"),
            language=record["lang"],
            is_true=bool(record["label"]),
            form=record["form"],
            text=record["sentence"],
            sources=tuple(_sources(record["sources"], corpus)),
        )
        for record in records
        if split is None or record.get("split", "dev") == split
    ]


def _sources(records: list[Mapping], corpus: Path) -> Iterator[Source]:
    for record in records:
        if record["kind"] == "text":
            file = corpus / "docs" / record["path"]
            with file.open(encoding="utf-8", newline="") as held:
                text = held.read()
            yield CitedText(text[record["start"] : record["end"]], name=record["path"])
        else:
            yield row_of(corpus, record["table"], record["row_id"])


def row_of(corpus: Path, table: str, row_id: int) -> CitedRow:
    """A row of a table, with the headings that describe its columns."""
    described = _tables(corpus)[table]
    headings = {each["name"]: each.get("description") for each in described["columns"]}
    with closing(sqlite3.connect(corpus / "tables.sqlite")) as database:
        found = database.execute(f'SELECT * FROM "{table}" WHERE {ROW_ID} = ?', (row_id,))
        names = [column[0] for column in found.description]
        values = found.fetchone()
    pairs = tuple(
        CitedPair(headings.get(name) or name, str(value))
        for name, value in zip(names, values, strict=True)
        if value is not None and name != ROW_ID
    )
    return CitedRow(pairs, subject=described["title"], name=f"{table} {row_id}")


@cache
def _tables(corpus: Path) -> Mapping[str, Mapping]:
    with (corpus / "tables.jsonl").open(encoding="utf-8") as lines:
        return {record["table"]: record for record in map(json.loads, lines)}
