"""Questions that people bring, taken in from a file: JSON lines, or CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_assets.config import Config, QuestionSet
from rag_assets.config.questions import PEOPLE
from rag_assets.evaluation.gold import DocumentFinder, Gold, RowGold, from_json
from rag_assets.evaluation.indexed_gold import source_documents
from rag_assets.evaluation.questions import DOCUMENT_ID, document_paths, parse, row_of_record
from rag_assets.identity import document_id, fingerprint
from rag_assets.media.json_lines import (
    LineError,
    QuestionsError,
    append,
    lines_of,
    record_of,
)
from rag_assets.questions.draft import ID_DIGITS, split_of
from rag_assets.questions.from_tables import rows_of_tables
from rag_assets.store import Store

LISTS = ("gold", "support")
"""Keys with several values, which a semicolon parts in a CSV file."""
SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
"""Spreadsheets, which people try first."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What became of the lines of a file."""

    added: int
    known: int
    """The number of lines whose question was there already."""
    problems: list[str]
    """Why each other line is no question, and what to do."""


def split_keys(store: Store, config: Config) -> Callable[[Gold], str]:
    """What a piece of gold is split by, as a made question: a document's id, or `source/table`.

    Of a document or table that the sources do not have yet, it is its name.
    """
    roots = {source.name: source.url for source in config.sources.documents}
    documents = DocumentFinder(source_documents(store), roots=roots)
    tables = sorted(rows_of_tables(store))

    def key(gold: Gold) -> str:
        if isinstance(gold, RowGold):
            named = (each for each in tables if gold.table in (each, each.partition("/")[2]))
            return next(named, gold.table)
        found = documents.find(gold.uri)
        return document_id(*found[0]) if found else gold.uri

    return key


def import_questions(file: Path, *, into: Path, split_by: Callable[[Gold], str]) -> ImportedFile:
    """Append the questions of `file` to the file of people's questions.

    Gold whose document id stands in a `documents.jsonl` beside the file is written with its path. A
    question without an id gets one from its words, and one without a split that of its first gold:
    `split_by` says what of it is hashed.

    Raises:
        QuestionsError: A file cannot be read.
    """
    beside = file.with_name("documents.jsonl")
    paths = document_paths(QuestionSet(path=file, documents=beside if beside.is_file() else None))
    there = parse(QuestionSet(name=PEOPLE, path=into)).questions if into.exists() else ()
    texts, known, problems = {one.id: one.text for one in there}, 0, []
    new: list[dict[str, object]] = []
    for number, line in _lines(file):
        try:
            record = _completed(record_of(line), paths, split_by)
            key, text = str(record["id"]), str(record["question"])
            if key in texts and texts[key] != text:
                raise LineError(f"another question has the id {key}: give it one of its own")
        except LineError as error:
            problems.append(f"{file.name} line {number}: {error}")
            continue
        if key in texts:
            known += 1
        else:
            new.append(record)
            texts[key] = text
    if new:
        append(into, *new)
    return ImportedFile(len(new), known, problems)


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file as JSON, with their numbers; a record of a CSV file ends at its line."""
    kind, lines = file.suffix.lower(), [*lines_of(file, what="file of questions")]
    if kind not in (".csv", *SHEETS):
        yield from lines
        return
    try:
        if kind != ".csv":
            raise ValueError(f"{kind} is no text")
        text = file.read_text("utf-8-sig")
        parted_by = max(",;\t", key=text.partition("\n")[0].count)
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=parted_by, strict=True)
        named = [name.strip().lower() for name in rows.fieldnames or ()]
        if named and not {"question", "gold"} <= {*named}:
            raise ValueError(f"its columns are {', '.join(named)}")
        rows.fieldnames = named
        for row in rows:
            cells = {key: value for key, value in row.items() if key and value}
            parted = {key: cells[key].split(";") for key in LISTS if key in cells}
            lists = {key: [part.strip() for part in parts] for key, parts in parted.items()}
            if cells:
                yield rows.line_num, json.dumps(cells | lists).encode()
    except (ValueError, csv.Error) as error:
        raise QuestionsError(
            f"{file} cannot be read ({error}): save it as CSV in UTF-8, with the columns question "
            "and gold"
        ) from error


def _completed(
    record: dict[str, object], paths: Mapping[str, str], split_by: Callable[[Gold], str]
) -> dict[str, object]:
    """A line as it is kept: with paths, id, split and origin.

    Raises:
        LineError: It is no question.
    """
    row = row_of_record({"id": "new", **record}, set_name=PEOPLE, paths=paths)
    [first, *_] = from_json(str(row["gold"]))
    words = fingerprint(row["question"])[:ID_DIGITS]
    located = {key: _located(record[key], paths) for key in (*LISTS, "evidence") if key in record}
    return {
        "id": words,
        "split": split_of(split_by(first)),
        **record,
        **located,
        "origin": "imported",
    }


def _located(entries: object, paths: Mapping[str, str]) -> object:
    """Gold or evidence with the path of each document instead of an id."""
    if isinstance(entries, list):
        return [_located(each, paths) for each in entries]
    if isinstance(entries, dict):
        name = str(entries.get("doc_id"))
        return {**entries, "doc_id": paths.get(name, name)}
    found = DOCUMENT_ID.fullmatch(str(entries))
    if found is None or found["id"] not in paths:
        return entries
    page = "" if found["page"] is None else f"#page={found['page']}"
    return f"doc:{paths[found['id']]}{page}"
