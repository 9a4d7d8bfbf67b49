"""Notices: an answer that a change of the sources touched, with what the answer is now.

A notice names the answer that somebody was given, the answer that took its place (kept like any
other, see `AnswerContext.recalls`), and the number under which what changed began to serve. One
answer has one notice for each content, so that nobody is told twice. `recalling` writes them.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from rag_assets.answering.answer import Answer
from rag_assets.answering.record.answer_rows import IDS_AT_ONCE, Prepared, insert, select
from rag_assets.answering.record.database import AnswersFile
from rag_assets.answering.record.differing import AnswerDifference, difference_of
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.answering.record.staleness import TouchedSentence
from rag_assets.process import clock
from rag_assets.store.serving_pointer import ServingPointer

NOT_ASKED_AGAIN = "it was not asked again: ask it, to see what is said now"
EVERYBODY = "*"
"""Stands for all users, those without a name too."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What somebody was told that is another thing now."""

    before: KeptAnswer
    """What they were given."""
    after: KeptAnswer | None
    """What they would be given now; None where it was not asked again, or that answer is erased."""
    touched: tuple[TouchedSentence, ...]
    """The sentences of `before` whose sources changed, each with why."""
    number: int
    """The number of the serving pointer with which the change began to serve."""
    content: str
    """A hash of what is new: the same for one answer and one change."""
    made_at: datetime
    seen_at: datetime | None

    @property
    def difference(self) -> AnswerDifference | None:
        """What `after` has otherwise than `before`."""
        return difference_of(self.before.answer, self.after.answer) if self.after else None

    @property
    def lines(self) -> list[str]:
        """What is told of it: the question, what the answer was and is, what changed."""
        asked, by = self.before.kept_at, self.before.context.user
        now = _said(self.after.answer) if self.after else [NOT_ASKED_AGAIN]
        return [
            f"“{self.before.answer.question}”, asked {asked:%Y-%m-%d}{f' by {by}' if by else ''}; "
            f"changed {self.made_at:%Y-%m-%d} (number {self.number})",
            *(f"- {line}" for line in _said(self.before.answer)),
            *(f"+ {line}" for line in now),
            *dict.fromkeys(each.why for each in self.touched),
        ]

    def is_rolled_back(self, pointer: ServingPointer | None) -> bool:
        """Whether what serves is from before the change: a rollback undid it for now."""
        restored = pointer.restores if pointer else None
        return restored is not None and restored < self.number


def notices(
    file: AnswersFile,
    *,
    user: str | None = EVERYBODY,
    unseen: bool = False,
    channel: str | None = None,
    limit: int | None = None,
) -> list[Notice]:
    """The notices, the newest first.

    Args:
        file: The file of kept answers.
        user: Who asked; None: those who gave no name; `EVERYBODY`.
        unseen: Only those that nobody has looked at.
        channel: Only those that this channel was not told.
        limit: How many, at most.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    if not file.exists:
        return []
    where: list[str] = []
    values: list[str | None] = []
    if user != EVERYBODY:
        where.append("answers.user IS ?")
        values.append(user)
    if unseen:
        where.append("seen_at IS NULL")
    if channel is not None:
        where.append(
            "NOT EXISTS (SELECT 1 FROM deliveries AS told WHERE told.channel = ? "
            "AND (told.answer_id, told.content) = (notices.answer_id, notices.content))"
        )
        values.append(channel)
    most = "" if limit is None else f" LIMIT {limit:d}"
    with file.reading() as connection:
        rows = connection.execute(
            "SELECT answer_id, now_id, touched, number, content, made_at, seen_at "
            "FROM notices JOIN answers USING (answer_id) "
            f"WHERE {' AND '.join(where) or 'true'} ORDER BY made_at DESC, answer_id DESC{most}",
            values,
        ).fetchall()
        kept = kept_of(connection, {each for row in rows for each in row[:2] if each})
    return [
        Notice(
            before=kept[answer_id],
            after=kept.get(now_id),
            touched=tuple(TouchedSentence(**each) for each in json.loads(touched)),
            number=number,
            content=content,
            made_at=datetime.fromisoformat(made_at),
            seen_at=datetime.fromisoformat(seen_at) if seen_at else None,
        )
        for answer_id, now_id, touched, number, content, made_at, seen_at in rows
    ]


def mark_seen(file: AnswersFile, answer_ids: Collection[str]) -> None:
    """Note that people have looked at the notices of these answers.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    at = clock.now().isoformat(timespec="milliseconds")
    with file.writing() as connection:
        connection.executemany(
            "UPDATE notices SET seen_at = ? WHERE answer_id = ? AND seen_at IS NULL",
            [(at, each) for each in answer_ids],
        )


def mark_delivered(file: AnswersFile, told: Sequence[Notice], channel: str) -> None:
    """Note that a channel was told of these notices.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    with file.writing() as connection:
        connection.executemany(
            "INSERT OR IGNORE INTO deliveries SELECT answer_id, content, ? FROM notices "
            "WHERE (answer_id, content) = (?, ?)",  # it may have been erased meanwhile
            [(channel, each.before.answer_id, each.content) for each in told],
        )


def watch(file: AnswersFile, answer_id: str, *, tolerance: float | None) -> None:
    """Keep an answer under a rule, in the place of an earlier one.

    Args:
        file: The file of kept answers.
        answer_id: The answer.
        tolerance: The share of its number by which another one may differ untold; None: every
            change is told, other ranks too.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    with file.writing() as connection:
        newest = _newest_of(connection, answer_id)
        connection.execute("REPLACE INTO watches VALUES (?, ?)", [newest, tolerance])


def unwatch(file: AnswersFile, answer_id: str) -> bool:
    """Take the rule of an answer away; whether there was one.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    with file.writing() as connection:
        newest = _newest_of(connection, answer_id)
        gone = connection.execute("DELETE FROM watches WHERE answer_id = ?", [newest])
        return gone.rowcount > 0


def watched(file: AnswersFile) -> Mapping[str, float | None]:
    """The tolerance of each answer that is kept under a rule, by its id: see `watch`.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    if not file.exists:
        return {}
    with file.reading() as connection:
        return dict(connection.execute("SELECT answer_id, tolerance FROM watches"))


def write(
    connection: sqlite3.Connection,
    before: KeptAnswer,
    after: Prepared | None,
    *,
    notice: tuple[str, int, Sequence[TouchedSentence]] | None,
) -> bool:
    """Keep what an answer is now, and the notice of it; the caller holds the transaction.

    Args:
        connection: Of the file of kept answers.
        before: What was given.
        after: What would be now.
        notice: The hash of what is new, the number with which it serves, and what was touched; None
            where people are not told.

    Returns:
        Whether it was new. Where the answer was erased or told of meanwhile, nothing is written.
    """
    told = "SELECT 1 FROM notices WHERE answer_id = ? AND content = ?"
    there = "SELECT 1 FROM answers WHERE answer_id = ?"
    if not connection.execute(there, [before.answer_id]).fetchone():
        return False
    if notice and connection.execute(told, [before.answer_id, notice[0]]).fetchone():
        return False
    now_id = None
    if after is not None:
        insert(connection, after)
        now_id = after.answer["answer_id"]
        connection.execute(
            "UPDATE watches SET answer_id = ? WHERE answer_id = ?", [now_id, before.answer_id]
        )
    if notice is not None:
        content, number, touched = notice
        at = clock.now().isoformat(timespec="milliseconds")
        said = json.dumps([asdict(each) for each in touched], ensure_ascii=False)
        connection.execute(
            "INSERT INTO notices VALUES (?, ?, ?, ?, ?, ?, NULL)",
            [before.answer_id, content, now_id, number, at, said],
        )
    return True


def _said(answer: Answer) -> list[str]:
    """Each sentence, with the place that it cites first."""
    said = [
        f"{each.text}{f' [{each.citations[0].place}]' if each.citations else ''}"
        for each in answer.sentences
    ]
    return said or [answer.reason or "nothing was found"]


def _newest_of(connection: sqlite3.Connection, answer_id: str) -> str:
    """The answer that took the place of one, and is compared from now on."""
    [newest] = connection.execute(
        "SELECT coalesce(max(other.answer_id), ?1) FROM answers AS one JOIN answers AS other "
        "ON (other.user IS one.user AND other.asked = one.asked) WHERE one.answer_id = ?1",
        [answer_id],
    ).fetchone()
    return newest


def kept_of(connection: sqlite3.Connection, ids: Collection[str]) -> dict[str, KeptAnswer]:
    """Kept answers by their ids."""
    wanted, found = sorted(ids), {}
    for start in range(0, len(wanted), IDS_AT_ONCE):
        part = wanted[start : start + IDS_AT_ONCE]
        marks = ", ".join("?" * len(part))
        kept = select(connection, where=f"answer_id IN ({marks})", values=part, limit=None)
        found.update((each.answer_id, each) for each in kept)
    return found
