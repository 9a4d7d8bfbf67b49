"""The things that a text is about: values of tables, names, formulas, quantities."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_assets.table_lookup.question.linking import TableLinks, links_of
from rag_assets.table_lookup.question.quantities import quantities
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.question.value_mentions import value_mentions
from rag_assets.table_lookup.words.word_forms import QuestionWord
from rag_assets.terms.formulas import formula
from rag_assets.terms.units import pint_dimension

if TYPE_CHECKING:
    from rag_assets.table_lookup.tables.catalogue import Catalogue

_WORD = re.compile(r"[^\W_]+(?:[-./:+_][^\W_]+)*")
_ENDS_SENTENCE = re.compile(r"[.?!:]\s*[\"'(]*$")


class Kind(NamedTuple):
    """What a mention is; two mentions that share a kind can stand in each other's place."""

    what: Literal["name", "formula", "number", "bare number", "quantity", "value", "heading"]
    table: str = ""
    """The table of a value or a heading, as `SOURCE/TABLE`."""
    of: str = ""
    """The column of a value, or the dimension of a quantity."""


NAME = Kind("name")
FORMULA = Kind("formula")
NUMBER = Kind("number")
BARE = Kind("bare number")
"""The kind of a number without a unit."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing that is named in a text."""

    text: str
    start: int
    """The first character of the mention in the text."""
    end: int
    """One past the last character of the mention."""
    kinds: frozenset[Kind]

    def has(self, *what: str) -> bool:
        """Whether it is one of these."""
        return any(kind.what in what for kind in self.kinds)

    @property
    def is_thing(self) -> bool:
        """Whether it names something: it is no number, and not a heading alone."""
        return self.has("name", "formula", "value")

    def within(self, table: str) -> "Mention":
        """The mention without its kinds in tables other than this one."""
        return replace(self, kinds=frozenset(k for k in self.kinds if k.table in ("", table)))


def likeliest_table(mentions: Iterable[Mention]) -> str:
    """The table that most of `mentions` are of, and most of them as values; "" if none is."""
    counts = Counter[str]()
    for mention in mentions:
        counts.update({kind.table for kind in mention.kinds if kind.table})
        values = {kind.table for kind in mention.kinds if kind.what == "value"}
        counts.update(dict.fromkeys(values, 1))
    return max(sorted(counts), key=lambda table: counts[table], default="")


def mentions_of(text: str, catalogue: "Catalogue | None" = None) -> tuple[Mention, ...]:
    """The mentions of `text` in their order; none shares a character with another.

    Args:
        text: A question or an answer, single blanks between its words.
        catalogue: Tables whose values are looked for; without it, names are told by how they are
            written.
    """
    kinds: defaultdict[tuple[int, int], set[Kind]] = defaultdict(set)
    for each in (*_quantities(text), *_values(text, catalogue), *_names(text)):
        kinds[each.start, each.end] |= each.kinds
    candidates = [Mention(text[a:b], a, b, frozenset(of)) for (a, b), of in kinds.items()]
    found: list[Mention] = []
    for each in sorted(candidates, key=lambda one: (-(one.end - one.start), one.start)):
        near = [one for one in found if one.start < each.end and each.start < one.end]
        if not near:
            found.append(each)
    return tuple(sorted(found, key=lambda one: one.start))


def _quantities(text: str) -> Iterator[Mention]:
    for each in quantities(text, frozenset()):
        dimension = pint_dimension(each.unit) if each.unit else None
        kinds = {NUMBER, Kind("quantity", of=dimension or each.unit) if each.unit else BARE}
        start = each.at if each.op == "=" else each.start
        said = text[start : each.end].rstrip()
        yield Mention(said, start, start + len(said), frozenset(kinds))


def _values(text: str, catalogue: "Catalogue | None") -> Iterator[Mention]:
    if catalogue is None:
        return
    links = links_of(catalogue)
    question = links.parsed(text)
    spans: dict[tuple[int, int], set[Kind]] = {}
    yield from _headings(question, links.tables)
    for table in links.tables:
        for each in value_mentions(question, table):
            words = [question.words[place] for place in each.words]
            span = (words[0].start, words[-1].end)
            kinds = (Kind("value", _named_table(table), name) for name in each.columns)
            spans.setdefault(span, set()).update(kinds)
    for (start, end), kinds in spans.items():
        said = text[start:end]
        yield Mention(said, start, end, frozenset(kinds | _written_kinds(said)))


def _headings(question: AskedQuestion, tables: Sequence[TableLinks]) -> Iterator[Mention]:
    """Runs of words that stand in the headings of a table."""
    for table in tables:
        run: list[QuestionWord] = []
        for place, word in enumerate(question.words):
            if not question.is_harmless[place] and _is_heading_word(word, table):
                run.append(word)
                continue
            yield from _heading(question.text, run, table)
            run = []
        yield from _heading(question.text, run, table)


def _heading(text: str, run: Sequence[QuestionWord], table: TableLinks) -> Iterator[Mention]:
    if run:
        start, end = run[0].start, run[-1].end
        kind = Kind("heading", _named_table(table))
        yield Mention(text[start:end], start, end, frozenset({kind}))


def _is_heading_word(word: QuestionWord, table: TableLinks) -> bool:
    return word.text.islower() and any(word.forms & column.forms for column in table.columns)


def _named_table(table: TableLinks) -> str:
    return f"{table.info.source}/{table.info.table}"


def _names(text: str) -> Iterator[Mention]:
    """Runs of words that are written like names: with a digit, or with capitals."""
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        is_name = _is_name(match.group(), is_first=_begins_sentence(text[: match.start()]))
        follows = bool(run) and text[run[-1].end() : match.start()] == " "
        if is_name and (not run or follows):
            run.append(match)
            continue
        yield from _named(text, run)
        run = [match] if is_name else []
    yield from _named(text, run)


def _named(text: str, run: Sequence[re.Match[str]]) -> Iterator[Mention]:
    if run:
        said = text[run[0].start() : run[-1].end()]
        yield Mention(said, run[0].start(), run[-1].end(), frozenset({NAME, *_written_kinds(said)}))


def _written_kinds(text: str) -> set[Kind]:
    if formula(text) is not None:
        return {NAME, FORMULA}
    has_capital = any(map(str.isupper, text[1:])) or any(map(str.isdigit, text))
    return {NAME} if has_capital else set()


def _is_name(word: str, *, is_first: bool) -> bool:
    if any(map(str.isdigit, word)):
        return any(map(str.isalpha, word))
    return any(map(str.isupper, word[1:])) or (word[:1].isupper() and not is_first)


def _begins_sentence(before: str) -> bool:
    return not before.strip() or _ENDS_SENTENCE.search(before) is not None
