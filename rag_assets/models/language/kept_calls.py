"""The file of kept calls: what was asked once is not asked again, not even by a later run.

A call is known by what decides its answer: the model as the server states it, the messages, the
schema and the parameters. Each is kept as soon as it is answered, so that a run that was killed
goes on where it was. What a server did not answer is not kept.

The file holds the text of messages and answers, as private as the sources themselves; of pictures
it holds their hashes.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from rag_assets.identity import fingerprint
from rag_assets.models.language.calls import Completion, Request
from rag_assets.process import clock
from rag_assets.store import purges as purges_of
from rag_assets.store.records_file import RecordsFile, RecordsFileError, is_damage
from rag_assets.workers import Json

FOLDER = "language_models"
FILE = "calls.sqlite"
ROWS_AT_ONCE = 1_000
IDS_AT_ONCE = 500
RECENT = 200
"""The calls that tell what one takes."""

logger = logging.getLogger(__name__)


class CallsFileError(RecordsFileError):
    """The file of kept calls cannot be used; the message names it, and says what to do."""


class CallsFile(RecordsFile):
    """The file of kept calls of one state; safe to share between threads and processes."""

    version = 1
    schema = """
        CREATE TABLE calls (
            call_id TEXT PRIMARY KEY,
            kept_at TEXT NOT NULL,
            identity TEXT NOT NULL,
            messages TEXT NOT NULL,
            parameters TEXT NOT NULL,
            sources TEXT NOT NULL,
            outcome TEXT NOT NULL,
            reason TEXT NOT NULL,
            text TEXT NOT NULL,
            parsed TEXT NOT NULL,
            prompt_tokens INTEGER NOT NULL,
            completion_tokens INTEGER NOT NULL,
            milliseconds REAL NOT NULL,
            cost REAL
        ) WITHOUT ROWID;
        CREATE INDEX calls_by_time ON calls (kept_at);
        CREATE TABLE identities (
            server TEXT NOT NULL,
            model TEXT NOT NULL,
            identity TEXT NOT NULL,
            PRIMARY KEY (server, model)
        ) WITHOUT ROWID;
    """
    error = CallsFileError
    kept = "call"

    @property
    def purges(self) -> int:
        """How many its state has had: see `store.purges`."""
        return purges_of.count(self.path.parent.parent)


@dataclass(frozen=True, slots=True)
class Call:
    """What decides an answer."""

    identity: str
    request: Request
    parameters: dict[str, Json]
    """Everything that is sent besides the messages, such as temperature and schema."""

    @property
    def call_id(self) -> str:
        """SHA-256 over identity, messages, schema and parameters."""
        return fingerprint(self.identity, messages_of(self.request), self.parameters)


def messages_of(request: Request) -> list[list[str]]:
    """The role, the text and the hashes of the pictures of each message."""
    return [
        [message.role, message.content, *(picture.hash for picture in message.pictures)]
        for message in request.messages
    ]


@cache
def calls_file(root: Path) -> CallsFile:
    """The file of kept calls of the state at `root`, one for all threads of this process."""
    return CallsFile(root.absolute() / FOLDER / FILE)


def find(file: CallsFile, call: Call) -> Completion | None:
    """What came of `call`, if it was made before."""
    if not file.exists:
        return None
    row = _tried(
        file,
        lambda: _one(
            file,
            "SELECT text, parsed, outcome, reason, prompt_tokens, completion_tokens, milliseconds, "
            "cost FROM calls WHERE call_id = ?",
            [call.call_id],
        ),
    )
    if row is None:
        return None
    text, parsed, *rest = row
    return Completion(text, json.loads(parsed), *rest, is_kept=True, is_answered=True)


def keep(file: CallsFile, call: Call, completion: Completion, *, purges: int) -> None:
    """Keep what came of `call`; a file that cannot be used is told, and stops nothing.

    Args:
        file: Where it is kept.
        call: What was asked.
        completion: What came of it.
        purges: How many the state had had before the texts of the call were read: see
            `store.purges`. After one more, the call may hold what was erased, and is not kept.
    """
    row = {
        "call_id": call.call_id,
        "kept_at": clock.now().isoformat(timespec="milliseconds"),
        "identity": call.identity,
        "messages": json.dumps(messages_of(call.request), ensure_ascii=False),
        "parameters": json.dumps(call.parameters, ensure_ascii=False),
        "sources": json.dumps(sorted(call.request.sources)),
        "outcome": completion.outcome,
        "reason": completion.reason,
        "text": completion.text,
        "parsed": json.dumps(completion.parsed),  # in ASCII: a model may write lone surrogates
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "milliseconds": completion.milliseconds,
        "cost": completion.cost,
    }
    _put(file, "calls", row, unless=lambda: file.purges != purges)


def keep_identity(file: CallsFile, *, server: str, model: str, identity: str) -> None:
    """Keep how a server states its model, for when it does not answer."""
    _put(file, "identities", {"server": server, "model": model, "identity": identity})


def last_identity(file: CallsFile, *, server: str, model: str) -> str | None:
    """How a server stated its model when it last answered."""
    if not file.exists:
        return None
    asked = "SELECT identity FROM identities WHERE server = ? AND model = ?"
    row = _tried(file, lambda: _one(file, asked, [server, model]))
    return row[0] if row else None


def usual_tokens(file: CallsFile, identity: str) -> tuple[int, int] | None:
    """The mean of what the last calls of a model read and wrote; None if there are none."""
    if not file.exists:
        return None
    asked = (
        "SELECT avg(prompt_tokens), avg(completion_tokens) FROM (SELECT prompt_tokens, "
        "completion_tokens FROM calls WHERE identity = ? AND outcome = 'done' "
        f"ORDER BY kept_at DESC LIMIT {RECENT})"
    )
    row = _tried(file, lambda: _one(file, asked, [identity]))
    return None if row is None or row[0] is None else (round(row[0]), round(row[1]))


def older_than(file: CallsFile, oldest: datetime) -> list[str]:
    """Ids of the calls that were made before `oldest`."""
    if not file.exists:
        return []
    with file.reading() as connection:
        at = oldest.isoformat(timespec="milliseconds")
        rows = connection.execute("SELECT call_id FROM calls WHERE kept_at < ?", [at])
        return [call_id for (call_id,) in rows]


def texts(file: CallsFile) -> Iterator[tuple[str, Sequence[str]]]:
    """The id of each call with its texts: what was asked, and what was answered.

    The hash of a picture is one: an element names its picture by the same.
    """
    if not file.exists:
        return
    with file.reading() as connection:
        rows = connection.execute("SELECT call_id, messages, text, reason FROM calls")
        while part := rows.fetchmany(ROWS_AT_ONCE):
            for call_id, messages, *answered in part:
                asked = (text for _, *texts in json.loads(messages) for text in texts)
                yield call_id, [*asked, *answered]


def erase(file: CallsFile, call_ids: Iterable[str]) -> None:
    """Erase calls so that no byte of them stays."""
    left = sorted(call_ids)
    if not file.exists or not left:
        return
    with file.writing() as connection:
        connection.executemany("DELETE FROM calls WHERE call_id = ?", [[one] for one in left])
    # A deletion leaves the bytes in the file and its log until it is written anew.
    file.shrink()
    file.close()


def _one(file: CallsFile, statement: str, values: Sequence[str]) -> tuple | None:
    with file.reading() as connection:
        return connection.execute(statement, values).fetchone()


def _put(
    file: CallsFile,
    table: str,
    row: dict[str, str | int | float | None],
    *,
    unless: Callable[[], bool] = lambda: False,
) -> None:
    places = ", ".join("?" for _ in row)
    statement = f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({places})"

    def write() -> None:
        with file.writing() as connection:
            # Asked inside the transaction: a purge waits for this one, and finds what it wrote.
            if not unless():
                connection.execute(statement, list(row.values()))

    _tried(file, write)


def _tried(file: CallsFile, use: Callable[[], tuple | None]) -> tuple | None:
    """What `use` gives; once more with a new file if this one is damaged, and else None."""
    try:
        try:
            return use()
        except CallsFileError as error:
            if not is_damage(error) or (aside := file.set_aside_if_damaged()) is None:
                raise
            logger.warning("%s was damaged, and lies at %s now", file.path, aside)
            return use() if file.exists else None
    except (CallsFileError, OSError) as error:
        _say_once(file.path, str(error))
        return None


@cache
def _say_once(file: Path, error: str) -> None:
    """Say that calls are not kept in `file`: not again for each of many calls."""
    logger.warning("calls of language models are not kept in %s: %s (said once)", file, error)
