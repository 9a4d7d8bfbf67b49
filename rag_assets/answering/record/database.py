"""The file of kept answers of a state."""

from functools import cache
from pathlib import Path

from rag_assets.store import Store
from rag_assets.store.records_file import (
    RecordsFile,
    RecordsFileError,
)

FOLDER = "answers"
FILE = "answers.sqlite"

VERSION = 3
SCHEMA = """
    CREATE TABLE conditions (key TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE answers (
        answer_id TEXT PRIMARY KEY,
        kept_at TEXT NOT NULL,
        question TEXT NOT NULL,
        outcome TEXT NOT NULL,
        user TEXT,
        variant TEXT NOT NULL,
        retriever TEXT NOT NULL,
        seconds REAL NOT NULL,
        text TEXT NOT NULL,
        answer TEXT NOT NULL,
        context TEXT NOT NULL,
        conditions TEXT NOT NULL REFERENCES conditions (key),
        is_exported INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX answers_by_user ON answers (user) WHERE user IS NOT NULL;
    CREATE INDEX answers_to_export ON answers (is_exported) WHERE is_exported = 0;
    CREATE TABLE units (
        answer_id TEXT NOT NULL REFERENCES answers (answer_id) ON DELETE CASCADE,
        unit_id TEXT NOT NULL,
        text_hash TEXT,
        is_cited INTEGER NOT NULL,
        PRIMARY KEY (answer_id, unit_id)
    ) WITHOUT ROWID;
    CREATE INDEX units_by_unit ON units (unit_id);
    CREATE TABLE feedback (
        answer_id TEXT NOT NULL REFERENCES answers (answer_id) ON DELETE CASCADE,
        unit_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        rank INTEGER,
        index_version TEXT NOT NULL,
        given_at TEXT NOT NULL,
        PRIMARY KEY (answer_id, unit_id)
    ) WITHOUT ROWID;
"""


class AnswersFileError(RecordsFileError):
    """The file of kept answers cannot be used; the message names it, and says what to do."""


class AnswersFile(RecordsFile):
    """The file of kept answers of one state; safe to share between threads."""

    schema, version = SCHEMA, VERSION
    error = AnswersFileError
    kept = "answer"


@cache
def answers_file(root: Path) -> AnswersFile:
    """The file of kept answers of the state at `root`, one for all threads of this process."""
    return AnswersFile(root / FOLDER / FILE)


def answers_of(store: Store) -> AnswersFile:
    """The file of kept answers of a store."""
    return answers_file(store.root.absolute())
