"""What the nearest reading of a refused question gives, in sentences that say how it was read."""

from dataclasses import replace

from rag_assets.table_lookup.looking_up import LONGEST_QUESTION, LookedUp, answer_plan
from rag_assets.table_lookup.plans.plan import PlanError
from rag_assets.table_lookup.plans.running import cells_of, run_plan
from rag_assets.table_lookup.question.describing import described
from rag_assets.table_lookup.question.nearest_reading import (
    Likeness,
    NearestReading,
    nearest_reading,
)
from rag_assets.table_lookup.question.time_limit import TooLongError, limited
from rag_assets.table_lookup.tables.catalogue import Catalogue
from rag_assets.table_lookup.words.phrases import PHRASES, Language, language_of

MOST_ROWS = 3
"""Rows of which a cell is proposed; of more, none is the answer."""
CONFIDENCE = 0.5
"""How sure a proposal is, where 1 is a plan that was given."""


def propose(
    question: str,
    catalogue: Catalogue,
    likeness: Likeness,
    *,
    language: Language | None = None,
) -> LookedUp | None:
    """What a question that the rules refuse may ask of a table; None if nothing is near enough.

    Args:
        question: As it was asked.
        catalogue: The tables.
        likeness: By the model of the index.
        language: The language of the sentences; that of the question unless given.

    Raises:
        AbandonedError: Nobody waits for it: see `workers.raise_if_abandoned`.
    """
    if not question.strip() or len(question) > LONGEST_QUESTION:
        return None
    try:
        with limited():
            read = nearest_reading(question, catalogue, likeness)
            if read is None or not _says_something(read, catalogue):
                return None
    except (TooLongError, PlanError):
        return None
    spoken = language or language_of(question)
    found = answer_plan(read.plan, catalogue, language=spoken)
    if found.outcome != "answered":
        return None
    first, *others = found.sentences
    label = _labelled(first.text, read, spoken)
    return replace(
        found,
        outcome="proposed",
        sentences=(replace(first, text=label), *others),
        reason=described(read.plan, read.table),
        confidence=CONFIDENCE,
        unread=read.unread,
    )


def _says_something(read: NearestReading, catalogue: Catalogue) -> bool:
    """Whether rows are found, and of a cell that is asked for, few rows that have one."""
    found = run_plan(read.plan, catalogue)
    if read.plan.operation != "rows" or read.column is None:
        return bool(found.row_ids)
    cells = cells_of(found, catalogue, read.column.info.name)
    return 0 < len(cells) <= MOST_ROWS and any(cell is not None for cell in cells)


def _labelled(text: str, read: NearestReading, language: Language) -> str:
    phrases = PHRASES[language]
    words = ", ".join(f'"{word}"' for word in read.unread)
    if not words:
        return phrases.proposed.format(text=text)
    if read.column is None:
        return phrases.proposed_without.format(words=words, text=text)
    return phrases.proposed_as.format(words=words, heading=read.column.info.heading, text=text)
