"""Words that a reading may leave out, and says so: what is read without them is only proposed.

Without a word that turns an answer round another question is asked. So only a word in one of these
places may be left out: what a row is called (`how many sessions`, `of a session`, `per session`),
and what stands before a heading (`fuel consumption`). A name, a word of a cell or of a title,
a judgement or one of `turning` is never left out, wherever it stands.
"""

from rag_assets.table_lookup.question.linking import CatalogueLinks, TableLinks
from rag_assets.table_lookup.question.quantities import base_adjective, counted_words
from rag_assets.table_lookup.question.question import ORDINALS, AskedQuestion
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.word_forms import QuestionWord
from rag_assets.terms.lemmas import is_known

MOST_LEFT_OUT = 2
"""Words without which a question may be read."""
_COMPUTING = ("mean", "median", "sum", "max", "min", "range")
_CLOSED = ",;:?!."


def left_out(
    asked: AskedQuestion, unread: tuple[int, ...], table: TableLinks, links: CatalogueLinks
) -> tuple[int, ...]:
    """The words that are `unread`, where each may be left out; none where one may not."""
    if not 0 < len(unread) <= MOST_LEFT_OUT:
        return ()
    is_free = all(
        not _turns(asked.words[place], links)
        and (
            _is_per(asked, place, table)
            or _is_subject(asked, place)
            or _is_before_heading(asked, place, table)
        )
        for place in unread
    )
    return unread if is_free else ()


def _turns(word: QuestionWord, links: CatalogueLinks) -> bool:
    is_name = word.is_name or word.has_digit or (word.text[0].isupper() and word.start > 0)
    if word.folded in vocabulary.PER:
        return False
    return (
        is_name
        or word.folded in vocabulary.TURNING
        or word.folded in vocabulary.NOT_IN_A_PLAN
        or word.folded in vocabulary.NEGATIONS
        or word.folded in vocabulary.VAGUE
        or word.folded in counted_words()
        or word.folded in ORDINALS
        or base_adjective(word.text) is not None
        or not is_known(word.text.casefold(), languages=("en", "sv"))
        or any(
            word.folded in table.by_word or word.forms & table.title_forms for table in links.tables
        )
    )


def _is_per(asked: AskedQuestion, place: int, table: TableLinks) -> bool:
    """`per session`, where a row is one: it asks of each row, as the question does anyway."""
    if asked.words[place].folded not in vocabulary.PER or place + 1 == len(asked.words):
        return False
    row = asked.words[place + 1]
    return bool(row.forms & table.title_forms) or row.folded in vocabulary.ROW_WORDS


def _is_subject(asked: AskedQuestion, place: int) -> bool:
    """`how many sessions`, `which car`, `the hottest city`, `the mean price of a ticket`."""
    if _goes_on(asked, place):
        return False
    before = _before(asked, place)
    if before is None:
        return False
    if any(before in mark.words for mark in asked.marks):
        return True
    word = asked.words[before].folded
    is_computed = any(mark.operation in _COMPUTING for mark in asked.marks)
    return word in vocabulary.WHICH or (
        is_computed and (word in vocabulary.BEFORE_A_ROW or word in vocabulary.PER)
    )


def _is_before_heading(asked: AskedQuestion, place: int, table: TableLinks) -> bool:
    """`fuel consumption` for a heading `Consumption`, the only one that has the word."""
    if not _goes_on(asked, place):
        return False
    following = asked.words[place + 1]
    meant = {each for form in following.forms for each in table.touched.get(form, ())}
    return len(meant) == 1


def _before(asked: AskedQuestion, place: int) -> int | None:
    """The word before, articles left aside; None where another clause ends there."""
    while place and not _is_closed(asked, place - 1):
        place -= 1
        if asked.words[place].folded not in vocabulary.ARTICLES:
            return place
    return None


def _goes_on(asked: AskedQuestion, place: int) -> bool:
    """Whether a word that says something follows at once: this one says more of it."""
    if place + 1 == len(asked.words) or _is_closed(asked, place):
        return False
    return not asked.is_harmless[place + 1] and not any(
        place + 1 in mark.words for mark in asked.marks
    )


def _is_closed(asked: AskedQuestion, place: int) -> bool:
    between = asked.text[asked.words[place].end : asked.words[place + 1].start]
    return any(mark in between for mark in _CLOSED)
