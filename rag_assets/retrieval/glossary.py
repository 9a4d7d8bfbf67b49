"""The glossary: expressions of the trade that mean the same, for search by words.

Embedding models know many synonyms; BM25 knows none, and neither knows the abbreviations and column
names of one company. So a query that holds an expression of the glossary also finds units that say
it in other words, which count less. Nothing in an index depends on the glossary: it may change at
any time.

Entries come from the config, from CSV files and from the headings of table columns. One that cannot
be used is left out and named in `Glossary.problems`; no search fails for it. An expression that
stands for two different things is ambiguous: it is named as well, and replaces nothing.
"""

import csv
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from pydantic import ValidationError

from rag_assets.config import Config, ConfigError, GlossaryEntry, GlossarySettings, TableSource
from rag_assets.config.headings import read_headings
from rag_assets.identity import fingerprint

COLUMNS = ("term", "synonyms", "abbreviations", "language")
BETWEEN = "|"
"""Between several expressions in a cell of a CSV file."""
OPEN = "a cell goes over several lines: is a quotation mark left open?"
WORD = re.compile(r"\w+")
UNIT = re.compile(r"\s*\[[^\[\]]*\]\s*$")
SHORT = 3
"""Abbreviations of so many characters may be words of a language as well: their case counts."""
PROBLEMS_SHOWN = 5
"""Problems that are logged one by one whenever an index is opened."""
AS_IT_STANDS = "="
"""First part of a form whose case counts."""
LEAST_INFLECTED = 4
"""Only words of at least so many characters may have an ending."""
ENDINGS: Mapping[str, Sequence[str]] = {
    "en": ("s", "es"),
    "sv": (
        *("n", "en", "t", "et", "s", "ns", "ens", "ts", "ets"),
        *("r", "ar", "er", "or", "na", "rna", "arna", "erna", "orna"),
    ),
}

Form: TypeAlias = tuple[str, ...]
"""The words of an expression, without regard to case; or `AS_IT_STANDS` and a word."""

logger = logging.getLogger(__name__)
_read: dict[str, "Glossary"] = {}
"""The glossary that was read last, by what it was read from: a long one takes seconds."""
_lock = Lock()


@dataclass(frozen=True, slots=True)
class _Expression:
    """An expression of an entry."""

    text: str
    form: Form
    endings: Sequence[str]
    """What may follow it in a query."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """An expression of a query, and what means the same."""

    expression: str
    """The expression as it stands in the query."""
    others: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Match:
    """A place of a query that holds an expression."""

    start: int
    end: int
    form: Form
    entry: int


@dataclass(frozen=True)
class Glossary:
    """Expressions that mean the same, and how to find them in a query."""

    weight: float
    """What a match of another expression counts beside the query's own words, in (0, 1]."""
    entries: Sequence[GlossaryEntry]
    """The entries that people wrote, which have the last word."""
    headings: Sequence[GlossaryEntry] = ()
    """The entries of columns: the heading in plain words, and the column's name."""
    unread: Sequence[str] = field(default=(), compare=False)
    """Files and lines that could not be used, and why."""

    @cached_property
    def content(self) -> str:
        """Fingerprint of all that rankings depend on."""
        entries = [one.model_dump(mode="json") for one in (*self.entries, *self.headings)]
        return fingerprint(self.weight, len(self.entries), entries)

    @cached_property
    def problems(self) -> Sequence[str]:
        """What could not be used, and expressions that people gave to two different terms."""
        people = range(len(self.entries))
        conflicts = [
            f"{text!r} stands for {' and for '.join(map(repr, terms))}: it replaces nothing until "
            "one of them gives it up"
            for text, owners in self._owners.values()
            if len(terms := self._terms([one for one in owners if one in people])) > 1
        ]
        return [*self.unread, *conflicts]

    def meanings(self, query: str) -> list[Meaning]:
        """The expressions in `query`, each with the others of its entry that the query lacks."""
        matches = self._matches(query)
        words = {match.entry: query[match.start : match.end] for match in matches}
        held = {_words(text) for text in words.values()} | {
            match.form for match in matches if match.form[0] == AS_IT_STANDS
        }
        found = [
            Meaning(text, [one.text for one in self._usable(entry) if one.form not in held])
            for entry, text in words.items()
        ]
        return [meaning for meaning in found if meaning.others]

    def rephrased(self, query: str) -> str | None:
        """The query with another expression in place of each that it holds; None if it has none."""
        parts, end = [], 0
        for match in self._matches(query):
            others = (one.text for one in self._usable(match.entry) if one.form != match.form)
            if other := next(others, None):
                parts += [query[end : match.start], other]
                end = match.end
        return "".join([*parts, query[end:]]) if parts else None

    @cached_property
    def _all(self) -> Sequence[GlossaryEntry]:
        return (*self.entries, *self.headings)

    @cached_property
    def _expressions(self) -> Sequence[Sequence[_Expression]]:
        return [list(_expressions_of(entry)) for entry in self._all]

    @cached_property
    def _owners(self) -> Mapping[Form, tuple[str, list[int]]]:
        """Each expression as it is written first, and the entries that hold it."""
        found: dict[Form, tuple[str, list[int]]] = {}
        for place, expressions in enumerate(self._expressions):
            for one in expressions:
                found.setdefault(one.form, (one.text, []))[1].append(place)
        return found

    def _terms(self, owners: Sequence[int]) -> list[str]:
        """The different terms of some entries."""
        terms = {_term_of(self._all[one]): self._all[one].term for one in owners}
        return [*terms.values()]

    @cached_property
    def _entry_of(self) -> Mapping[Form, int]:
        """The entry that an expression stands for: one of people, if any; none if ambiguous.

        Of several entries of one term it is the first.
        """
        people = len(self.entries)
        found: dict[Form, int] = {}
        for form, (_, owners) in self._owners.items():
            first = [one for one in owners if one < people] or owners
            if len(self._terms(first)) == 1:
                found[form] = self._same_term[_term_of(self._all[first[0]])][0]
        return found

    def _usable(self, entry: int) -> list[_Expression]:
        """What means the same as the term of an entry, other entries of that term included."""
        found: dict[Form, _Expression] = {}
        for same in self._same_term[_term_of(self._all[entry])]:
            for one in self._expressions[same]:
                if one.form in self._entry_of:
                    found.setdefault(one.form, one)
        return [*found.values()]

    @cached_property
    def _same_term(self) -> Mapping[str, Sequence[int]]:
        """The entries of each term: it may have several lines, or be a heading as well."""
        found: dict[str, list[int]] = {}
        for place, entry in enumerate(self._all):
            found.setdefault(_term_of(entry), []).append(place)
        return found

    @cached_property
    def _forms(self) -> Mapping[Form, tuple[int, Form]]:
        """What stands in a query: the entry it stands for, and the expression without an ending."""
        found = {form: (entry, form) for form, entry in self._entry_of.items()}
        for entry in dict.fromkeys(self._entry_of.values()):
            for one in self._usable(entry):
                *before, last = one.form
                for ending in one.endings:
                    inflected = (*before, last + ending)
                    if inflected not in self._owners:
                        found.setdefault(inflected, (entry, one.form))
        return found

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._forms), default=0)

    def _matches(self, query: str) -> list[_Match]:
        """The expressions in `query`, from left to right, the longest where several begin."""
        words = list(WORD.finditer(query))
        found, place = [], 0
        while place < len(words):
            counts = range(min(self._longest, len(words) - place), 0, -1)
            matches = (self._match(words[place : place + count]) for count in counts)
            match, count = next(
                ((one, count) for one, count in zip(matches, counts, strict=True) if one), (None, 1)
            )
            found += [match] if match else []
            place += count
        return found

    def _match(self, words: Sequence[re.Match[str]]) -> _Match | None:
        keys = [tuple(word[0].casefold() for word in words)]
        if len(words) == 1:
            keys.insert(0, (AS_IT_STANDS, words[0][0]))
        for key in keys:
            if key in self._forms:
                entry, form = self._forms[key]
                return _Match(words[0].start(), words[-1].end(), form, entry)
        return None


def _expressions_of(entry: GlossaryEntry) -> Iterator[_Expression]:
    """The expressions of an entry, the term first."""
    for place, text in enumerate([entry.term, *entry.synonyms]):
        form = _words(text)
        if form:
            languages = [entry.language] if entry.language and place == 0 else list(ENDINGS)
            is_inflected = len(form[-1]) >= LEAST_INFLECTED and form[-1].isalpha()
            endings = [ending for one in languages for ending in ENDINGS[one]]
            yield _Expression(text, form, endings if is_inflected else ())
    for text in entry.abbreviations:
        form = _words(text)
        if len(form) == 1 and len(text) <= SHORT:
            form = (AS_IT_STANDS, text)
        if form:
            yield _Expression(text, form, ())


def _term_of(entry: GlossaryEntry) -> str:
    """The term of an entry, by which entries belong together."""
    return entry.term.casefold()


def _words(text: str) -> Form:
    return tuple(word.casefold() for word in WORD.findall(text))


def glossary_of(config: Config) -> Glossary | None:
    """The glossary of the config; None without one. What cannot be used of it is logged."""
    glossary = read_glossary(config)
    problems = glossary.problems if glossary else ()
    for problem in problems[:PROBLEMS_SHOWN]:
        logger.warning("glossary: %s", problem)
    if (more := len(problems) - PROBLEMS_SHOWN) > 0:
        logger.warning("glossary: %d more like these", more)
    return glossary


def read_glossary(config: Config) -> Glossary | None:
    """The glossary of the config, and `Glossary.problems` with it; None without one.

    Who asks for it again gets the same one, until a file or the config says something else.
    """
    if config.glossary is None:
        return None
    sources = config.sources.tables if config.glossary.headings else []
    said = [each.model_dump_json() for each in (config.glossary, *sources)]
    files = [*config.glossary.files, *(each.headings_file for each in sources)]
    key = fingerprint(said, [_content(file) for file in files if file])
    with _lock:
        if key not in _read:
            _read.clear()
            _read[key] = _read_anew(config, config.glossary)
        return _read[key]


def _content(file: Path) -> str:
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        return str(error)


def _read_anew(config: Config, settings: GlossarySettings) -> Glossary:
    unread: list[str] = []
    entries = [*settings.entries]
    for file in settings.files:
        entries += _of_file(file, unread=unread)
    sources = config.sources.tables if settings.headings else []
    headings = [entry for source in sources for entry in _of_headings(source, unread=unread)]
    return Glossary(settings.weight, entries, headings, unread)


def _of_file(file: Path, *, unread: list[str]) -> list[GlossaryEntry]:
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        unread.append(f"{file} cannot be read ({error}) and is left out: save it as UTF-8")
        return []
    except OSError as error:
        unread.append(f"{file} cannot be read ({error}) and is left out")
        return []
    first = text.partition("\n")[0]
    rows = csv.DictReader(StringIO(text, newline=""), delimiter=";" if ";" in first else ",")
    if "term" not in (rows.fieldnames or ()):
        unread.append(
            f"{file} has no column term and is left out: its first line must be {','.join(COLUMNS)}"
        )
        return []
    entries, read = [], rows.line_num
    try:
        for row in rows:
            if _is_broken(row):
                unread.append(f"{file}, lines {read + 1} to {rows.line_num} are left out: {OPEN}")
            else:
                entries += _of_row(row, place=f"{file}, line {rows.line_num}", unread=unread)
            read = rows.line_num
    except csv.Error:
        unread.append(f"{file} is left out from line {read + 1} on: {OPEN}")
    return entries


def _is_broken(row: Mapping[str, str | None]) -> bool:
    """Whether a cell holds a line break, as all do that follow a quotation mark left open."""
    return any("\n" in value for value in row.values() if isinstance(value, str))


def _of_row(row: Mapping[str, str | None], *, place: str, unread: list[str]) -> list[GlossaryEntry]:
    """The entry of a line, if it is one."""

    def several(name: str) -> list[str]:
        return [one for one in (row.get(name) or "").split(BETWEEN) if one.strip()]

    try:
        entry = GlossaryEntry.model_validate(
            {
                "term": row.get("term") or "",
                "synonyms": several("synonyms"),
                "abbreviations": several("abbreviations"),
                "language": (row.get("language") or "").strip() or None,
            }
        )
    except ValidationError as error:
        [problem, *_] = error.errors(include_url=False, include_input=False)
        key = ".".join(map(str, problem["loc"]))
        unread.append(f"{place} is left out: {key}: {problem['msg'].lower()}")
        return []
    return [entry]


def _of_headings(source: TableSource, *, unread: list[str]) -> list[GlossaryEntry]:
    """The headings of a source in plain words, with the names of their columns.

    A name whose words stand in its heading (`test`: type of test) is a word like others.
    """
    try:
        named = [*read_headings(source).values()]
    except ConfigError as error:
        unread.append(str(error))
        named = []
    return [
        GlossaryEntry(term=words, abbreviations=[column.strip()])
        for headings in (*named, *(spec.headings for spec in source.tables))
        for column, heading in headings.items()
        if len(column.strip()) >= SHORT
        and (words := UNIT.sub("", heading).strip())
        and not {*_words(column.replace("_", " "))} <= {*_words(words)}
    ]
