"""Finding kept answers: by time, user, outcome, words, and whether they are stale."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from rag_assets.answering.answer import Outcome
from rag_assets.answering.record.answer_rows import select
from rag_assets.answering.record.database import AnswersFile
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.answering.record.staleness import Served, TouchedSentence
from rag_assets.identity import MOST_NAMED, id_that_begins

ANSWERS_AT_ONCE = 500
"""Answers that are read, and told stale, together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFilter:
    """Conditions on kept answers, all of which must hold; None means no condition."""

    since: date | None = None
    """First day, in UTC."""
    user: str | None = None
    outcome: Outcome | None = None
    text: str | None = None
    """Words in the question or the answer, whatever their case."""
    before: str | None = None
    """Id of an answer: only those that were kept before it."""


@dataclass(frozen=True, slots=True)
class ListedAnswer:
    """An answer of a list."""

    kept: KeptAnswer
    touched: tuple[TouchedSentence, ...] | None
    """The sentences whose sources changed; None where nothing serves to compare with."""


def find(
    file: AnswersFile,
    wanted: AnswerFilter,
    *,
    served: Served | None,
    limit: int,
    stale_only: bool = False,
    is_seen: Callable[[KeptAnswer], bool] = lambda _kept: True,
) -> list[ListedAnswer]:
    """The newest `limit` answers that meet `wanted`, newest first.

    Args:
        file: The file of kept answers.
        wanted: The conditions on them.
        served: What serves now, to tell stale answers by.
        limit: How many.
        stale_only: Only answers with a sentence whose source changed.
        is_seen: Whether an answer may be seen, for somebody who may not see all.

    Raises:
        AnswersFileError: The file cannot be used.
    """
    found: list[ListedAnswer] = []
    for each in _listed(file, wanted, served=served, at_once=_at_once(limit, stale_only)):
        if (each.touched or not stale_only) and is_seen(each.kept):
            found.append(each)
        if len(found) == limit:
            break
    return found


def one(file: AnswersFile, answer_id: str) -> KeptAnswer:
    """The answer whose id is, or begins with, `answer_id`.

    Raises:
        UnknownIdError: There is none, or more than one.
        AnswersFileError: The file cannot be used.
    """
    found: dict[str, KeptAnswer] = {}

    def ids(start: str) -> Iterable[str]:
        if file.exists:
            where = "substr(answer_id, 1, length(?)) = ?"
            with file.reading() as connection:
                kept = select(connection, where=where, values=[start, start], limit=MOST_NAMED)
            found.update((each.answer_id, each) for each in kept)
        return found

    return found[
        id_that_begins(answer_id, ids, what="kept answer", see="`rag-assets answers` lists them")
    ]


def _at_once(limit: int, stale_only: bool) -> int:
    return ANSWERS_AT_ONCE if stale_only else min(limit, ANSWERS_AT_ONCE)


def _listed(
    file: AnswersFile, wanted: AnswerFilter, *, served: Served | None, at_once: int
) -> Iterator[ListedAnswer]:
    if not file.exists:
        return
    where, values = _condition(wanted)
    with file.reading() as connection:
        connection.create_function("folded", 1, str.casefold, deterministic=True)
        last: list[str] = []
        while True:
            page = f"{where} AND answer_id < ?" if last else where
            kept = select(connection, where=page, values=[*values, *last], limit=at_once)
            if not kept:
                return
            touched = served.touched_of(kept) if served else [None] * len(kept)
            yield from map(ListedAnswer, kept, touched)
            last = [kept[-1].answer_id]


def _condition(wanted: AnswerFilter) -> tuple[str, list[str]]:
    """The filter as SQL, with its values."""
    parts: list[tuple[str, str]] = []
    asked = "recalls IS NULL"  # nobody was shown the others, but as what is new in a notice
    if wanted.since:
        parts.append(("kept_at >= ?", wanted.since.isoformat()))
    if wanted.user is not None:
        parts.append(("user = ?", wanted.user))
    if wanted.outcome:
        parts.append(("outcome = ?", wanted.outcome))
    if wanted.before:
        parts.append(("answer_id < ?", wanted.before.lower()))
    if wanted.text:
        said = "instr(folded(question || char(10) || text), ?) > 0"
        parts.append((said, wanted.text.casefold()))
    return " AND ".join([asked, *(part for part, _ in parts)]), [value for _, value in parts]
