"""Question sets: imported from JSONL files into the table `questions`.

One line is one question (see `docs/evaluation.md`):

    {"id", "question", "gold": ["doc:<id>" | "doc:<id>#page=<n>" | "row:<table>:<key>", ...],
     "split"?: "dev" | "test" | any other name, "lang"?, "support"?, "answer"?,
     "evidence"?: [{"doc_id", "page"?, "text"?}, ...]}

The set's `documents.jsonl` (`doc_id`, `path`) maps a document id to a path; without that file the
id is the document's URI itself. A line that cannot be used goes to the quarantine, with its file,
its number and what to do; the other lines are imported.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import pyarrow as pa

from rag_assets import identity, schemas
from rag_assets.change.data_versions import current_version
from rag_assets.change.sync import INPUTS, Batch, Failure, Report, Work, refresh
from rag_assets.config import Config, QuestionSet
from rag_assets.evaluation import gold as golds
from rag_assets.evaluation.gold import DocumentGold, Gold, RowGold
from rag_assets.evaluation.reviewed import made_questions, read_review
from rag_assets.evaluation.step_tables import QUESTIONS
from rag_assets.media.json_lines import (
    LineError,
    QuestionsError,
    hash_of,
    lines_of,
    record_of,
    text_of,
)
from rag_assets.store import Store

REVISION = QUESTIONS.revision
"""Raise it when the same line should give another row."""

TARGET = QUESTIONS.target()
RESERVED_SPLIT = "all"
"""Stands for all questions in the results."""
TRAIN = "train"
"""The split of questions that models learn from: nothing is ever measured with them."""
IS_MEASURED = f"split <> '{TRAIN}'"
GOLD_FORMS = "doc:<id>, doc:<id>#page=<n> or row:<table>:<key>"
DOCUMENT_ID = re.compile(r"doc:(?P<id>.+?)(#page=(?P<page>.*))?", re.DOTALL)
ROW_NAME = re.compile(r"row:(?P<table>(?:\\:|[^:])+):(?P<key>.+)", re.DOTALL)
"""`\\:` is a colon of the table's name."""
PAGE = re.compile(r"[1-9][0-9]{0,6}")

NO_PATHS: Mapping[str, str] = MappingProxyType({})

Row: TypeAlias = dict[str, str | None]
"""A row of `schemas.QUESTIONS`, without its system columns."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold."""

    question_id: str
    """`set/id`: unique over all sets."""
    question_set: str
    text: str
    domain: str
    language: str
    split: str
    gold: tuple[Gold, ...]

    @property
    def id(self) -> str:
        """The id that its file gives it."""
        return self.question_id.removeprefix(f"{self.question_set}/")


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The content of a question file."""

    rows: Mapping[str, Row]
    """The questions by their id."""
    failures: Mapping[str, Failure]
    """The lines that are not questions, by a key of set and line number; a file without any line,
    by its set."""
    contents: Mapping[str, str]
    """Fingerprint of each row and of each failure, by its key."""

    @property
    def questions(self) -> list[Question]:
        """The questions of the file, by their id."""
        return questions_of(questions_table(list(self.rows.values())))

    @property
    def measured(self) -> list[Question]:
        """The questions that are not to train on; all of them where the file has no others."""
        every = self.questions
        return [one for one in every if one.split != TRAIN] or every


def refresh_questions(
    store: Store, config: Config, *, log: Callable[[str], None], retry: bool = False
) -> Report:
    """Bring the table `questions` up to the question files of `config` and the made questions.

    Raises:
        QuestionsError: A file is missing or is not readable.
    """
    sets, review = config.question_files, config.questions.review_file
    generated = schemas.GENERATED_QUESTIONS_TABLE
    files = [_identity(one) for one in sets]
    if review.exists():
        files.append([hash_of(review, what="decisions on questions")])
    parts = {"files": identity.fingerprint(REVISION, files)}
    if share := config.questions.train:
        parts["train"] = str(share)
    if store.exists(generated):
        parts[generated] = current_version(store, generated, key="input_id")

    @cache
    def parsed() -> list[QuestionFile]:
        return [*(parse(one) for one in sets), _made(store, review, train=share)]

    def inputs() -> pa.Table:
        contents = [entry for part in parsed() for entry in part.contents.items()]
        keys, fingerprints = zip(*contents, strict=True) if contents else ((), ())
        return pa.table({"key": keys, "fingerprint": fingerprints}, schema=INPUTS)

    def transform(changed: pa.Table) -> Iterator[Batch]:
        keys = changed["key"].to_pylist()
        rows = [part.rows[key] for key in keys for part in parsed() if key in part.rows]
        failed = [part.failures[key] for key in keys for part in parsed() if key in part.failures]
        done = [str(row["question_id"]) for row in rows]
        yield Batch(questions_table(rows), done=done, failed=failed)

    work = Work(
        store=store,
        target=TARGET,
        made_from=lambda: parts,
        inputs=inputs,
        transform=transform,
    )
    return refresh(work, log=log, retry=retry)


def _made(store: Store, file: Path, *, train: float) -> QuestionFile:
    """The made questions as people left them, and lines of their `file` that are no decisions.

    Those of a share of the documents and tables have the split `train`.
    """
    review = read_review(file)
    made = made_questions(store, review.decisions, train=train)
    rows = {str(row["question_id"]): row for row in made}
    contents = {key: identity.fingerprint(REVISION, row) for key, row in rows.items()}
    reasons = {key: each.reason for key, each in review.failures.items()}
    return QuestionFile(
        rows,
        review.failures,
        contents | {key: identity.fingerprint(REVISION, reason) for key, reason in reasons.items()},
    )


def read_questions(store: Store) -> list[Question]:
    """All imported questions to measure with, sorted by id; none if no set was imported yet."""
    return questions_of(question_rows(store, where=IS_MEASURED))


def question_rows(store: Store, *, where: str | None = None) -> pa.Table:
    """The content columns of the imported questions; without rows if no set was imported yet."""
    if not store.exists(TARGET.name):
        return questions_table([])
    columns = [name for name in TARGET.schema.names if name not in schemas.SYSTEM_COLUMNS]
    return store.read(TARGET.name, columns=columns, where=where)


def brought(questions: Sequence[Question], config: Config) -> list[Question]:
    """The questions that no program wrote; all of them if there are no others."""
    others = [one for one in questions if one.question_set not in config.generated_sets]
    return others or list(questions)


def questions_of(table: pa.Table) -> list[Question]:
    """The rows of a table in `schemas.QUESTIONS`, sorted by id."""
    return [
        Question(
            question_id=row["question_id"],
            question_set=row["question_set"],
            text=row["question"],
            domain=row["domain"],
            language=row["language"],
            split=row["split"],
            gold=golds.from_json(row["gold"]),
        )
        for row in table.sort_by("question_id").to_pylist()
    ]


def questions_table(rows: Sequence[Row]) -> pa.Table:
    """Rows as a table with the content columns of `schemas.QUESTIONS`."""
    fields = [field for field in TARGET.schema if field.name not in schemas.SYSTEM_COLUMNS]
    return pa.Table.from_pylist(list(rows), schema=pa.schema(fields))


def parse(questions: QuestionSet, *, text: str = "question") -> QuestionFile:
    """The questions of one file, and the lines that are no questions.

    Args:
        questions: Names the file.
        text: The key of a line that holds the question.

    Raises:
        QuestionsError: The file, or its `documents.jsonl`, is missing or not readable.
    """
    paths = document_paths(questions)
    rows: dict[str, Row] = {}
    failures: dict[str, Failure] = {}
    contents: dict[str, str] = {}
    first_lines: dict[str, int] = {}
    for number, line in lines_of(questions.path, what=f"question set {questions.name}"):
        where = f"{questions.path.name} line {number}"
        try:
            row = row_of_record(record_of(line), set_name=questions.name, paths=paths, text=text)
            key = str(row["question_id"])
            if key in rows:
                raise LineError(
                    f"line {first_lines[key]} has the same id: give each question its own"
                )
        except LineError as error:
            key = (
                f"{questions.name} line {number}"  # never the id of a question: these have a slash
            )
            failures[key] = Failure(key, f"{where}: {error}", where)
            contents[key] = identity.fingerprint(REVISION, repr(line), str(error))
            continue
        if _is_to_train(row, share=questions.train):
            row["split"] = TRAIN
        rows[key] = row
        first_lines[key] = number
        contents[key] = identity.fingerprint(REVISION, row)
    if not contents:
        reason = (
            f"{questions.path.name} holds no question: put the questions back, or take the entry "
            "out of evaluation.questions"
        )
        failures[questions.name] = Failure(questions.name, reason, questions.path.name)
        contents[questions.name] = identity.fingerprint(REVISION, reason)
    return QuestionFile(rows, failures, contents)


def _is_to_train(row: Row, *, share: float) -> bool:
    """Whether all gold of a question lies in documents and tables of this share, by their names."""
    places = {piece.holder for piece in golds.from_json(str(row["gold"]))} if share else set()
    return bool(places) and all(identity.chance(TRAIN, place) < share for place in places)


def _identity(questions: QuestionSet) -> list[str]:
    """Name of the set, hashes of its files, and the share to train on if there is one."""
    mapping = questions.documents
    return [
        questions.name,
        hash_of(questions.path, what=f"question set {questions.name}"),
        hash_of(mapping, what=f"documents of question set {questions.name}") if mapping else "",
        *([str(questions.train)] if questions.train else []),
    ]


def document_paths(questions: QuestionSet) -> dict[str, str]:
    """Path of each document id in the set's `documents.jsonl`, if it has one."""
    if questions.documents is None:
        return {}
    paths = {}
    what = f"documents of question set {questions.name}"
    for number, line in lines_of(questions.documents, what=what):
        try:
            record = record_of(line)
            paths[text_of(record, "doc_id")] = text_of(record, "path")
        except LineError as error:
            raise QuestionsError(f"{questions.documents} line {number}: {error}") from error
    return paths


def row_of_record(
    record: dict[str, object],
    *,
    set_name: str,
    paths: Mapping[str, str] = NO_PATHS,
    text: str = "question",
) -> Row:
    """The row of a line of a question file.

    Args:
        record: The line.
        set_name: Name of the question set.
        paths: Path of each id of a document that is none itself.
        text: The key that holds the question.

    Raises:
        LineError: It is no question.
    """
    identifier = record.get("id")
    if isinstance(identifier, int):
        record = record | {"id": str(identifier)}
    split = text_of(record, "split") if "split" in record else "test"
    if split == RESERVED_SPLIT:
        raise LineError(f"split = {split!r}: it stands for all questions; write another name")
    quotes = _quotes(record)
    gold = list(_gold(record, "gold", paths=paths, quotes=quotes))
    if not gold:
        raise LineError("gold is empty: name what must be found")
    answer = record.get("answer")
    return {
        "question_id": f"{set_name}/{text_of(record, 'id')}",
        "question_set": set_name,
        "question": text_of(record, text),
        "domain": golds.domain_of(gold),
        "language": text_of(record, "lang") if record.get("lang") else "en",
        "split": split,
        "gold": golds.to_json(gold),
        "support": golds.to_json(list(_gold(record, "support", paths=paths, quotes={}))),
        "answer": answer if isinstance(answer, str) or answer is None else json.dumps(answer),
    }


def _entries(record: dict[str, object], name: str) -> list[object]:
    entries = record.get(name) or []
    if not isinstance(entries, list):
        raise LineError(f"{name} = {entries!r}: write a list")
    return entries


def _gold(
    record: dict[str, object],
    name: str,
    *,
    paths: Mapping[str, str],
    quotes: Mapping[str, Sequence[tuple[int | None, str]]],
) -> Iterator[Gold]:
    for place, entry in enumerate(_entries(record, name)):
        text = entry if isinstance(entry, str) else ""
        document, row = DOCUMENT_ID.fullmatch(text), ROW_NAME.fullmatch(text)
        if row:
            yield RowGold(row["table"].replace("\\:", ":"), row["key"])
        elif document:
            identifier, number = document["id"], document["page"]
            if number is not None and not PAGE.fullmatch(number):
                raise LineError(f"{name}[{place}] = {entry!r}: pages count from 1")
            page = int(number) if number else None
            uri = paths.get(identifier, identifier)
            texts = [
                text for at, text in quotes.get(identifier, ()) if None in (page, at) or page == at
            ]
            yield from (DocumentGold(uri, page, text) for text in dict.fromkeys(texts))
            if not texts:
                yield DocumentGold(uri, page)
        else:
            raise LineError(f"{name}[{place}] = {entry!r}: write {GOLD_FORMS}")


def _quotes(record: dict[str, object]) -> dict[str, list[tuple[int | None, str]]]:
    """Page and text of the quoted evidence of each document id."""
    quotes: dict[str, list[tuple[int | None, str]]] = {}
    for place, entry in enumerate(_entries(record, "evidence")):
        if not isinstance(entry, dict):
            raise LineError(f"evidence[{place}] = {entry!r}: write an object with doc_id and text")
        page, text = entry.get("page"), entry.get("text")
        if page is not None and not isinstance(page, int):
            raise LineError(f"evidence[{place}].page = {page!r}: write a page number")
        if isinstance(text, str) and text.strip():
            quotes.setdefault(str(entry.get("doc_id")), []).append((page, text))
    return quotes
