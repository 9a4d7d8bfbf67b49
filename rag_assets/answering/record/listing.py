"""Finding kept answers: by time, user, outcome, words, and whether they are stale."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Outcome
from rag_assets.answering.record.answer_rows import select
from rag_assets.answering.record.database import AnswersFile
from rag_assets.answering.record.kept import KeptAnswer
from rag_assets.answering.record.staleness import Served, TouchedSentence
from rag_assets.citations.kinds import Cell, Citation, Span
from rag_assets.identity import MOST_NAMED, id_that_begins

if TYPE_CHECKING:
    from rag_assets.retrieval.access import Sight
    from rag_assets.retrieval.search import VariantIndex
    from rag_assets.table_lookup.tables.catalogue import Catalogue

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
        is_seen: Whether an answer may be seen, for somebody who may not see all: see `is_seen_by`.

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


def is_seen_by(
    sight: "Sight", kept: KeptAnswer, *, index: "VariantIndex", catalogue: "Catalogue"
) -> bool:
    """Whether an answer holds nothing but what `sight` sees of what serves now.

    It was asked by no other groups, all that it cites and shows may be seen still, and what was
    computed from a table of which some rows are hidden is computed again from the others.

    Args:
        sight: What may be seen.
        kept: The answer.
        index: The view of the index for `sight`.
        catalogue: The tables that it sees.
    """
    if kept.context.groups is None or not sight.groups.issuperset(kept.context.groups):
        return False
    units = {each.cited_unit for each in kept.answer.citations} - {None}
    named = sorted({*filter(None, units), *(each.unit_id for each in kept.answer.shown)})
    there = (index.whole or index).read(named, []).num_rows
    is_hidden = there > index.read(named, []).num_rows
    return not is_hidden and all(_is_seen(each, sight, catalogue) for each in kept.answer.citations)


def _is_seen(citation: Citation, sight: "Sight", catalogue: "Catalogue") -> bool:
    from rag_assets.table_lookup.verifying import verify_again

    if isinstance(citation, Span):
        return sight.sees_document(citation.source, citation.uri)
    if isinstance(citation, Cell):
        place = citation.source, citation.table
    elif citation.plan is None:
        return True  # it says how much was searched of what was seen then
    else:
        place = str(citation.plan["source"]), str(citation.plan["table"])
    rows = sight.rows_of(place[0], sight.rules.name_of(*place))
    if rows is None:
        return True
    if isinstance(citation, Cell):
        return citation.unit_id in rows
    return bool(rows) and verify_again(citation, catalogue) == "same"


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
