"""Columns that a question mentions: words of it that stand in headings."""

from collections.abc import Iterable
from dataclasses import dataclass

from rag_assets.table_lookup.question.linked_columns import IMPLIED_WORDS, LinkedColumn
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.word_forms import squashed

LONGEST_HEADING = 9
"""Words of a question that are read as one heading, at most."""
LEAST_COVERAGE = 0.2
"""Share of a heading that words must say to mention it."""
ASIDE = 0.25
"""What words of a remark in brackets count as, where nothing else of the heading is said."""
LEAST_OF_ADJECTIVE = 0.5
"""Share of a heading that an adjective alone (`old`) must say to mean the column."""
UNSAID = 0.6
"""Share of a heading below which the word that tells it from others is not said."""
CLOSE = 0.12
"""Two columns whose coverage differs by less are both meant."""


@dataclass(frozen=True, eq=False)
class ColumnMention:
    """Words of a heading."""

    words: tuple[int, ...]
    candidates: tuple[tuple[LinkedColumn, float], ...]
    """Columns with the share of the heading that is said, best first."""
    is_adjective: bool = False
    """Whether an adjective alone names them: `stronger` means every strength alike."""

    def close(self, allowed: Iterable[str] | None = None) -> tuple[LinkedColumn, ...]:
        """The best columns, of those in `allowed`; several where their headings say no more."""
        names = None if allowed is None else set(allowed)
        found = [each for each in self.candidates if names is None or each[0].info.name in names]
        if self.is_adjective:
            return tuple(column for column, _ in found)
        return tuple(
            column
            for column, share in found
            if share > found[0][1] - CLOSE or _is_twin(column, found[0])
        )

    def share(self, column: LinkedColumn) -> float:
        """Share of the heading of `column` that is said."""
        return next((share for each, share in self.candidates if each is column), 0.0)


def _is_twin(column: LinkedColumn, best: tuple[LinkedColumn, float]) -> bool:
    """`Yield strength`, `Tensile strength`: alike but for a word that is not said."""
    first, share = best
    is_measured_alike = (
        column.info.is_numeric and column.info.unit and column.info.unit == first.info.unit
    )
    is_as_long = share < 1 and len(column.words) == len(first.words)
    return bool(is_measured_alike) and (share < UNSAID or is_as_long)


def is_operation(question: AskedQuestion, place: int) -> bool:
    """Whether a word asks for an operation."""
    return any(place in mark.words for mark in question.marks)


def negates(question: AskedQuestion, place: int) -> bool:
    """Whether a word turns around what follows; `no` before a number (`order no 7`) does not."""
    following = question.words[place + 1 : place + 2]
    is_number = question.words[place].folded == "no" and any(word.has_digit for word in following)
    return question.words[place].folded in vocabulary.NEGATING and not is_number


def column_mentions(
    question: AskedQuestion, table: TableLinks, used: set[int]
) -> tuple[ColumnMention, ...]:
    """Columns of `table` in the words that are not `used`; first those that say the most words."""
    found: list[ColumnMention] = []
    taken = set(used)
    count = len(question.words)
    spans = [
        tuple(range(place, place + size))
        for size in range(min(LONGEST_HEADING, count - len(taken)), 0, -1)
        for place in range(count - size + 1)
    ]
    spans.sort(key=lambda span: sum(question.is_harmless[each] for each in span) - len(span))
    for span in spans:
        if taken & set(span) or not _bounds(question, table, span):
            continue
        if any(negates(question, place) for place in span):
            continue
        mention = _column_mention(question, table, span)
        if mention is not None:
            found.append(mention)
            taken |= set(span)
    return tuple(sorted(found, key=lambda each: each.words))


def _bounds(question: AskedQuestion, table: TableLinks, span: tuple[int, ...]) -> bool:
    """A heading begins and ends with a word that says something, or is all of that word."""
    if len(span) == 1 and span[0] and question.words[span[0]].forms & table.single_forms:
        before = question.words[span[0] - 1].folded
        if before in vocabulary.BEFORE_HEADING | vocabulary.GROUPING and _may_end(question, span):
            return True
    if len(span) == 1 and is_operation(question, span[0] - 1) and _may_end(question, span):
        return True
    return not (question.is_harmless[span[0]] or question.is_harmless[span[-1]]) or (
        len(span) > 1
        and not all(question.is_harmless[each] for each in span)
        and _same_phrase(question, span)
    )


def _may_end(question: AskedQuestion, span: tuple[int, ...]) -> bool:
    word = question.words[span[0]].folded
    return word not in vocabulary.GLUE and word not in vocabulary.ROW_WORDS


def _same_phrase(question: AskedQuestion, span: tuple[int, ...]) -> bool:
    first, last = question.words[span[0]], question.words[span[-1]]
    ends = (span[0], span[-1])
    glue = vocabulary.GLUE
    return not any(question.words[end].folded in glue for end in ends) and not any(
        mark in question.text[first.start : last.end] for mark in ",;:?"
    )


def _column_mention(
    question: AskedQuestion, table: TableLinks, span: tuple[int, ...]
) -> ColumnMention | None:
    said = [place for place in span if not question.is_harmless[place]] or list(span)
    small = {question.words[place].folded for place in said} & IMPLIED_WORDS
    said = [place for place in said if question.words[place].folded not in small]
    if not said:
        return None
    is_asked = all(is_operation(question, each) and not question.extra_forms[each] for each in said)
    if is_asked and not _follows_extreme(question, span[0]):
        return None
    candidates = []
    for column in _touched(question, table, said):
        share = _share(question, column, span, said) if small <= column.small else 0.0
        if share >= LEAST_COVERAGE:
            candidates.append((column, share))
    candidates.sort(key=lambda each: (-each[1], each[0].info.is_hidden))
    if not candidates:
        return None
    forms = frozenset(form for column, _ in candidates for form in column.forms)
    is_adjective = not any(question.words[place].forms & forms for place in said)
    return ColumnMention(span, tuple(candidates), is_adjective)


def _follows_extreme(question: AskedQuestion, place: int) -> bool:
    """`the highest span`: a word that asks for an operation names a column after an extreme."""
    return any(
        mark.words[-1] == place - 1 and mark.operation in ("max", "min") for mark in question.marks
    )


def _touched(question: AskedQuestion, table: TableLinks, said: list[int]) -> list[LinkedColumn]:
    """The columns that have each of the words in some form."""
    places: set[int] | None = None
    for place in said:
        word = question.words[place]
        keys = (*word.forms, *question.extra_forms[place], squashed(word.text))
        found = {each for key in keys for each in table.touched.get(key, ())}
        places = found if places is None else places & found
        if not places:
            return []
    return [table.columns[place] for place in sorted(places or ())]


def _share(
    question: AskedQuestion, column: LinkedColumn, span: tuple[int, ...], said: list[int]
) -> float:
    own: set[str] = set()
    for before, place in zip((None, *said), said, strict=False):
        word = question.words[place]
        every = word.forms | question.extra_forms[place]
        if every & column.forms:
            is_apart = before is not None and place - before > 1
            if is_apart and column.coverage(frozenset(own | every)) == column.coverage(
                frozenset(own)
            ):
                return 0.0  # it says what is said already, so it says something else
            own |= every & column.forms
        elif squashed(word.text) in column.names and len(said) == 1:
            return 1.0
        elif not word.forms & column.asides:
            return 0.0
    if not own:
        return ASIDE if len(said) > 1 else 0.0
    ends = [place for place in (span[0], span[-1]) if question.is_harmless[place]]
    if any(not question.words[place].forms & column.forms for place in ends):
        return 0.0
    for place in span:
        own |= question.words[place].forms & column.forms
    return column.coverage(frozenset(own))
