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
from typing import Self

from rag_assets.answering.record.answer_rows import IDS_AT_ONCE, Prepared, insert, select
from rag_assets.answering.record.database import AnswersFile, answers_of
from rag_assets.answering.record.differing import AnswerDifference, difference_of
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.answering.record.staleness import TouchedSentence
from rag_assets.citations.sentences import Sentence
from rag_assets.process import clock
from rag_assets.store import Store
from rag_assets.store.serving_pointer import ServingPointer

NOTHING_ELSE = "nothing else"
NO_LIMIT = -1
"""To SQLite."""


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
    def sides(self) -> tuple[list[Sentence], list[Sentence]]:
        """The sentences that were told and are not now, and those that are new."""
        before = self.before.answer.sentences
        after = self.after.answer.sentences if self.after else ()
        both = {each.text for each in before} & {each.text for each in after}
        was, now = ([each for each in side if each.text not in both] for side in (before, after))
        return was, now

    @property
    def lines(self) -> list[str]:
        """What is told of it: the question, what the answer was and is, what changed."""
        asked, by = self.before.kept_at, self.before.context.user
        was, now = map(_said, self.sides)
        return [
            f"“{self.before.answer.question}”, asked {asked:%Y-%m-%d}{f' by {by}' if by else ''}; "
            f"changed {self.made_at:%Y-%m-%d} (number {self.number})",
            *(f"- {line}" for line in was or [NOTHING_ELSE]),
            *(f"+ {line}" for line in now or [self.nothing_new]),
            *dict.fromkeys(each.why for each in self.touched),
        ]

    @property
    def nothing_new(self) -> str:
        """What is told where no sentence is new."""
        if self.after is None:
            return "it was not asked again: ask it, to see what is said now"
        return self.after.answer.reason or NOTHING_ELSE

    def is_rolled_back(self, pointer: ServingPointer | None) -> bool:
        """Whether what serves is from before the change: a rollback undid it for now."""
        restored = pointer.restores if pointer else None
        return restored is not None and restored < self.number


class Notices:
    """The notices in a file of kept answers, and the rules by which they are made.

    Each method raises `AnswersFileError` where the file cannot be used.
    """

    def __init__(self, file: AnswersFile) -> None:
        self._file = file

    @classmethod
    def of(cls, store: Store) -> Self:
        """Those of a state."""
        return cls(answers_of(store))

    def found(
        self,
        *,
        users: Collection[str] | None = None,
        unseen: bool = False,
        channel: str | None = None,
        limit: int = NO_LIMIT,
    ) -> list[Notice]:
        """The newest notices, newest first.

        Args:
            users: Who asked; everybody, those without a name too, unless given.
            unseen: Only those that nobody has looked at.
            channel: Only those that this channel was not told.
            limit: How many, at most.
        """
        if not self._file.exists:
            return []
        marks = ", ".join("?" * len(users or ()))
        where = " AND ".join(
            [
                "true" if users is None else f"answers.user IN ({marks})",
                "seen_at IS NULL" if unseen else "true",
                "NOT EXISTS (SELECT 1 FROM deliveries AS told WHERE told.channel IS ? "
                "AND (told.answer_id, told.content) = (notices.answer_id, notices.content))",
            ]
        )
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT answer_id, now_id, touched, number, content, made_at, seen_at "
                f"FROM notices JOIN answers USING (answer_id) WHERE {where} "
                "ORDER BY made_at DESC, answer_id DESC LIMIT ?",
                [*(users or ()), channel, limit],
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

    def mark_seen(self, answer_ids: Collection[str]) -> None:
        """Note that people have looked at the notices of these answers."""
        at = clock.now().isoformat(timespec="milliseconds")
        with self._file.writing() as connection:
            connection.executemany(
                "UPDATE notices SET seen_at = ? WHERE answer_id = ? AND seen_at IS NULL",
                [(at, each) for each in answer_ids],
            )

    def mark_told(self, told: Sequence[Notice], channel: str) -> None:
        """Note that a channel was told of these notices."""
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO deliveries SELECT answer_id, content, ? FROM notices "
                "WHERE (answer_id, content) = (?, ?)",  # it may have been erased meanwhile
                [(channel, each.before.answer_id, each.content) for each in told],
            )

    def watch(self, answer_id: str, *, tolerance: float | None) -> None:
        """Keep an answer under a rule, in the place of an earlier one.

        Args:
            answer_id: The answer.
            tolerance: The share of its number by which another one may differ untold; None: every
                change is told, other ranks too.
        """
        with self._file.writing() as connection:
            newest = _newest_of(connection, answer_id)
            connection.execute("REPLACE INTO watches VALUES (?, ?)", [newest, tolerance])

    def unwatch(self, answer_id: str) -> bool:
        """Take the rule of an answer away; whether there was one."""
        with self._file.writing() as connection:
            newest = _newest_of(connection, answer_id)
            gone = connection.execute("DELETE FROM watches WHERE answer_id = ?", [newest])
            return gone.rowcount > 0

    def watched(self) -> Mapping[str, float | None]:
        """The tolerance of each answer that is kept under a rule, by its id: see `watch`."""
        if not self._file.exists:
            return {}
        with self._file.reading() as connection:
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


def _said(sentences: Sequence[Sentence]) -> list[str]:
    """Each sentence, with the place that it cites first."""
    return [
        f"{each.text}{f' [{each.citations[0].place}]' if each.citations else ''}"
        for each in sentences
    ]


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
