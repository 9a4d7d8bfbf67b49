"""Values that a question names whole, by a code, or by a number in their name."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assets.table_lookup.question.linked_values import ValueLink, word_keys
from rag_assets.table_lookup.question.linking import FEW_VALUES, LONGEST_VALUE_WORDS, TableLinks
from rag_assets.table_lookup.question.mentions import is_operation
from rag_assets.table_lookup.question.quantities import base_adjective
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.words import vocabulary
from rag_assets.table_lookup.words.countries import spellings_like, spellings_of
from rag_assets.table_lookup.words.word_forms import QuestionWord, folded, lemmas_of, squashed, stem
from rag_assets.terms.formulas import formula

if TYPE_CHECKING:
    from rag_assets.table_lookup.question.linked_columns import LinkedColumn

_ARTICLES = frozenset("aiAI")


@dataclass(frozen=True, slots=True)
class ValueMention:
    """Words that are one value, or several of one column."""

    words: tuple[int, ...]
    links: tuple[ValueLink, ...]
    """The values; of more than one column where it is open which one is meant."""
    is_whole: bool
    """Whether the words are all of the value."""

    @property
    def columns(self) -> frozenset[str]:
        """Columns that hold one of the values."""
        return frozenset(link.column for link in self.links)

    def values(self, column: str) -> tuple[str, ...]:
        """The values of one column."""
        return tuple(link.value for link in self.links if link.column == column)


def value_mentions(question: AskedQuestion, table: TableLinks) -> tuple[ValueMention, ...]:
    """Values of `table` in the question, the longest first; none shares a word with another."""
    found: list[ValueMention] = []
    used: set[int] = set()
    for mention in _whole_values(question, table):
        if not used & set(mention.words) and not _is_compared(question, mention):
            found.append(mention)
            used |= set(mention.words)
    return tuple(found)


def _is_compared(question: AskedQuestion, mention: ValueMention) -> bool:
    """`C < 0.1`: a letter right before a comparison is the symbol of a column, or nothing."""
    word = question.words[mention.words[-1]]
    return len(word.text) == 1 and any(
        number.is_marked and not question.text[word.end : number.start].strip()
        for number in question.quantities
        if word.end <= number.start
    )


def _whole_values(question: AskedQuestion, table: TableLinks) -> Iterator[ValueMention]:
    words = question.words
    numbers = _number_words(question)
    yield from _letters(question, table)
    for place, word in enumerate(words):
        known = formula(word.text) if word.is_name else None
        if known is not None and known in table.formulas:
            yield ValueMention((place,), table.formulas[known], is_whole=True)
    for size in range(min(LONGEST_VALUE_WORDS, len(words)), 0, -1):
        for place in range(len(words) - size + 1):
            span = tuple(range(place, place + size))
            if all(each in numbers for each in span):
                continue
            is_plain = question.is_harmless[span[0]] or question.is_harmless[span[-1]]
            find = _harmless_links if is_plain else _links
            links = find(question, table, span)
            if is_plain and not links and size > 1:
                links = _coded(question, table, span)
            if links:
                yield ValueMention(span, links, is_whole=True)
    yield from _numbered_names(question, table)


def _letters(question: AskedQuestion, table: TableLinks) -> Iterator[ValueMention]:
    """`rating A`, `class B or C`: a capital that is a value of the column named before it."""
    named: tuple[LinkedColumn, ...] = ()
    for place, word in enumerate(question.words):
        if len(word.text) == 1 and word.text.isupper() and place > 0:
            links = tuple(
                ValueLink(column.info.name, word.text)
                for column in named
                if word.text in column.info.values
            )
            if links:
                yield ValueMention((place,), links, is_whole=True)
                continue
        touching = tuple(
            column for column in table.columns if word.forms & (column.forms | column.names)
        )
        yield from _letter_before(question, place, touching)
        if touching or not question.is_harmless[place]:
            named = touching


def _letter_before(
    question: AskedQuestion, place: int, named: tuple["LinkedColumn", ...]
) -> Iterator[ValueMention]:
    """`the d block`, `B-class`: a letter right before the heading that it is a value of."""
    letter = question.words[place - 1].text if place else ""
    if len(letter) != 1 or not letter.isalpha() or letter in _ARTICLES:
        return
    links = tuple(
        ValueLink(column.info.name, letter) for column in named if letter in column.info.values
    )
    if links:
        yield ValueMention((place - 1,), links, is_whole=True)


def _numbered_names(question: AskedQuestion, table: TableLinks) -> Iterator[ValueMention]:
    """`mill 4140`, `grade K 20`: a bare number that stands in a value with the word before it."""
    for number in question.quantities:
        places = question.inside(number.at, number.end)
        if number.unit or number.is_marked or len(places) != 1 or places[0] == 0:
            continue
        [place] = places
        word, before = question.words[place], question.words[place - 1]
        joined = table.by_word.get(f"{before.folded}{word.folded}", ())
        holding = set(table.by_word.get(word.folded, ()))
        beside = (
            holding & links_of_word(before, table) if not question.is_harmless[place - 1] else set()
        )
        if joined or beside:
            links = joined or tuple(sorted(beside, key=lambda link: (link.column, link.value)))
            yield ValueMention((place - 1, place), tuple(links), is_whole=False)


def _number_words(question: AskedQuestion) -> set[int]:
    return {
        place for each in question.quantities for place in question.inside(each.start, each.end)
    }


def _links(
    question: AskedQuestion, table: TableLinks, span: tuple[int, ...]
) -> tuple[ValueLink, ...]:
    first, last = question.words[span[0]], question.words[span[-1]]
    text = question.text[first.start : last.end]
    key = squashed(text)
    if len(key) < 2 or (len(span) == 1 and is_operation(question, span[0])):
        return ()
    exact = table.exact.get(key, ())
    if len(span) == 1 and text.islower() and folded(text) in vocabulary.VAGUE:
        return _of_named_columns(question, table, span[0], exact)
    if not exact and len(span) == 1 and key.endswith("s"):
        exact = tuple(link for link in table.exact.get(key[:-1], ()) if link.value.isupper())
    if exact and not (len(key) <= 3 and text.islower()):
        return exact
    if text[0].isupper() and (countries := _countries(table, text)):
        return countries
    stems = "".join(stem(question.words[each].text) for each in span)
    links = table.exact.get(stems, ())
    if len(span) == 1:
        if is_judged(question.words[span[0]]):
            return ()
        elements = [form for form in question.words[span[0]].forms if form.startswith("symbol ")]
        if elements and elements[0] in table.exact:
            return table.exact[elements[0]]
        links = tuple(
            link for link in links if 0 < table.column(link.column).info.distinct <= FEW_VALUES
        )
        if len(stems) < 4:
            return ()
    return links or _coded(question, table, span)


def _countries(table: TableLinks, text: str) -> tuple[ValueLink, ...]:
    """The values of columns of countries that mean the one that is named, by name or code."""
    return tuple(
        ValueLink(column.info.name, value)
        for column in table.columns
        if column.is_country
        for spellings in [spellings_of(text) or spellings_like(text)]
        for value in column.info.values
        if squashed(value) in spellings
    )


def _of_named_columns(
    question: AskedQuestion, table: TableLinks, place: int, links: tuple[ValueLink, ...]
) -> tuple[ValueLink, ...]:
    """`high` is a value only of a column that a word beside it names: `high availability`."""
    beside = [
        question.words[near].forms
        for near in range(max(0, place - 2), min(place + 3, len(question.words)))
        if near != place and not question.is_harmless[near]
    ]
    said = frozenset().union(*beside)
    return tuple(link for link in links if table.column(link.column).says_first(said))


def _harmless_links(
    question: AskedQuestion, table: TableLinks, span: tuple[int, ...]
) -> tuple[ValueLink, ...]:
    """A category that begins or ends with a general word (`on hold`), or is a verb (`placed`)."""
    words = [question.words[place] for place in span]
    if len(span) == 1 and not vocabulary.HARMLESS_LEMMAS & set(lemmas_of(words[0].folded)):
        return ()
    text = question.text[words[0].start : words[-1].end]
    return tuple(
        link
        for link in table.exact.get(squashed(text), ())
        if folded(link.value) == folded(text)
        and table.column(link.column).info.distinct <= FEW_VALUES
    )


def is_judged(word: QuestionWord) -> bool:
    """Whether a word compares or judges: it stands within values for something else."""
    return (
        word.folded in vocabulary.VAGUE
        or word.folded in vocabulary.NOT_IN_A_PLAN
        or base_adjective(word.text) is not None
    )


def _coded(
    question: AskedQuestion, table: TableLinks, span: tuple[int, ...]
) -> tuple[ValueLink, ...]:
    """A value that the heading explains: `C = compression`, `20 part delivered`."""
    keys = {tuple(stem(question.words[place].text) for place in span)}
    if len(span) == 1:
        keys |= {(form,) for form in question.words[span[0]].forms}
    return tuple(
        dict.fromkeys(
            ValueLink(column.info.name, column.codes[key])
            for column in table.columns
            if column.codes
            for key in keys
            if key in column.codes
        )
    )


def links_of_word(word: QuestionWord, table: TableLinks) -> set[ValueLink]:
    """The values that hold a word; a name as it is written, where some hold it so."""
    keys = {word.folded} if word.has_digit else {*word_keys(word.text), *word.forms}
    links = {link for key in keys for link in table.by_word.get(key, ())}
    is_name = word.text[0].isupper() and word.start > 0
    written = {link for link in links if word.folded in folded(link.value)} if is_name else set()
    return written or links
