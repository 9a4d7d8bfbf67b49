"""Two columns of a row that a question compares: `emissions from 2023 to 2024`, `price`."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from rag_assets.table_lookup.plans.plan import Operation
from rag_assets.table_lookup.question.linked_columns import HeadingWord, LinkedColumn
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.question.question import AskedQuestion

_PERCENT = re.compile(r"(?:\bper ?cent\b|%|\bprocent|\bpercentage\b)", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:changed?|increased?|decreased?|r[io]sen?|f[ae]ll(?:en)?|grow[ns]?|grew|drop(?:ped)?"
    r"|differen(?:t|ce)|differs?|ändra\w*|förändr\w*|öka\w*|minska\w*|skillnad\w*|skilje?r)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\b(?:between|mellan)\b.+\b(?:and|och)\b", re.IGNORECASE)
"""Names two ends: each must be a heading."""
_FROM_AFTER = re.compile(r"\b(?:compared (?:with|to)|than|jämfört med|än)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of numbers, and the one that it is compared with."""

    operation: Operation
    column: str
    other: str
    words: tuple[int, ...]
    """Words of the question that say so."""


def column_pair(question: AskedQuestion, table: TableLinks) -> ColumnPair | None:
    """The two columns that a question about a change means; None unless they are sure.

    Both headings are said, or all but the one word in which they differ and no other two do.
    """
    asks_percent = _PERCENT.search(question.text) is not None
    if not (question.asks("difference") or _CHANGE.search(question.text)):
        return None
    numeric = [each for each in table.columns if each.info.is_numeric and not each.info.is_hidden]
    found = [
        pair
        for first, second in combinations(numeric, 2)
        if first.info.unit == second.info.unit
        for pair in _pairs(question, first, second)
    ]
    whole = [pair for pair in found if pair[0]]
    best = whole or found
    if len(best) != 1:
        return None
    _, first, second, places = best[0]
    asking = {
        place
        for pattern in (_CHANGE, *((_PERCENT,) if asks_percent else ()))
        for match in pattern.finditer(question.text)
        for place in question.inside(*match.span())
    }
    asking |= {place for mark in question.marks for place in mark.words}
    return ColumnPair(
        operation="percent" if asks_percent else "change",
        column=second.info.name,
        other=first.info.name,
        words=tuple(sorted(places | asking)),
    )


def _pairs(
    question: AskedQuestion, first: LinkedColumn, second: LinkedColumn
) -> Iterator[tuple[bool, LinkedColumn, LinkedColumn, set[int]]]:
    """Whether both are said in full, the one that is changed from, the other, and the words."""
    shared = [each for each in first.words if _is_in(each, second.words)]
    own = [
        [each for each in column.words if not _is_in(each, shared)] for column in (first, second)
    ]
    said = {
        place
        for place, word in enumerate(question.words)
        if any(word.forms & each.forms for each in (*shared, *own[0], *own[1]))
    }
    spoken = [
        all(any(question.words[place].forms & each.forms for place in said) for each in words)
        for words in (shared, *own)
    ]
    if not spoken[0] or not (shared or all(own)):
        return
    if all(spoken) and all(own):
        places = [_first(words, question, said) for words in own]
        is_turned = (places[0] > places[1]) != bool(_FROM_AFTER.search(question.text))
        ends = (second, first) if is_turned else (first, second)
        yield True, *ends, said
    elif (
        len(own[0]) == len(own[1]) == 1
        and not any(spoken[1:])
        and not _BETWEEN.search(question.text)
        and not all(each.is_implied for each in shared)
    ):
        yield False, first, second, said


def _is_in(word: HeadingWord, others: Iterable[HeadingWord]) -> bool:
    return any(word.forms & each.forms for each in others)


def _first(words: list[HeadingWord], question: AskedQuestion, said: set[int]) -> int:
    return min(
        place for place in said if any(question.words[place].forms & each.forms for each in words)
    )
