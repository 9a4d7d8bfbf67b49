"""A document that may have versions: what its path and its first page tell of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from rag_assets.documents.head.facts import PUBLIC, Stated, number_of, year_of
from rag_assets.documents.head.versions import (
    DocumentVersion,
    NamedVersion,
    compared,
    named_versions,
)
from rag_assets.documents.head.words import have_any, words_for

LIKE_TITLES = 0.5
"""Least share of words that the titles of two versions have in common."""

_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")
_ISO_DATE = re.compile(r"\b(?:19|20)\d\d-[01]\d(?:-[0-3]\d)?\b")


@dataclass(frozen=True)
class Candidate:
    """A document that may have versions, with all that is known of it."""

    document_id: str
    source: str
    uri: str
    content: str
    """Equal for copies of one file."""
    stated: Stated

    @cached_property
    def spelled(self) -> Sequence[tuple[NamedVersion, bool]]:
        """What its path spells that may be its version, and whether it surely is."""
        found = [each for each in named_versions(self.uri) if self._may_be_its_own(each)]
        return [(each, self._is_sure(each)) for each in found]

    @cached_property
    def named(self) -> Sequence[NamedVersion]:
        """The versions that its path surely spells."""
        return [each for each, is_sure in self.spelled if is_sure]

    @cached_property
    def version(self) -> DocumentVersion:
        """What its name or else its first page says."""
        stated = self.stated.version
        named = self.named[0].version if self.named else DocumentVersion()
        return stated.joined(named) if self.stated.number else named.joined(stated)

    @cached_property
    def number(self) -> tuple[str, bool, date | None]:
        """The document's number, whether it is a public one, and the year in its name."""
        name = self.uri.rpartition("/")[2]
        if found := PUBLIC.match(name):
            return self.stated.number or number_of(found["number"]), True, year_of(found)
        return self.stated.number, self.stated.is_public, None

    @cached_property
    def place(self) -> str:
        """Source and folders without those that only sort versions, such as `archive`."""
        folders = self.uri.split("/")[:-1]
        kept = [
            folder.lower()
            for folder in folders
            if not (is_shelf(folder) or re.fullmatch(r"(?:19|20)\d\d", folder))
        ]
        return "/".join([self.source, *kept])

    @cached_property
    def languages(self) -> frozenset[str]:
        """Languages that its name gives."""
        return words_for("languages") & {*words_of(self.uri.rpartition("/")[2])}

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name and its title."""
        return frozenset(words_of(self.uri.rpartition("/")[2])) | {*words_of(self.stated.title)}

    @cached_property
    def title_words(self) -> tuple[frozenset[str], frozenset[str]]:
        """Words of its title, and tokens that tell it from others (numbers, single letters)."""
        own = {each.version.label for each in self.named} | {self.version.label}
        tokens = [token.lower() for token in _WORD.findall(_ISO_DATE.sub(" ", self.stated.title))]
        while tokens and (tokens[-1].removeprefix("v") in own or tokens[-1] == "version"):
            tokens.pop()
        while tokens and "." in tokens[0] and tokens[0].removeprefix("v") in own:
            tokens.pop(0)
        telling = {token for token in tokens if len(token) == 1 or re.search(r"\d", token)}
        return frozenset(tokens) - telling, frozenset(telling)

    def _may_be_its_own(self, named: NamedVersion) -> bool:
        """Whether what looks like a version in the path is one, and that of this document."""
        name = named.base.rpartition("/")[2]
        around = words_of(named.base)
        is_of_one = "*" in name and have_any(around, "of_one_version")
        if is_of_one or named.before in words_for("numbered"):
            return False
        if named.mark == "day":
            return have_any(self.words, "lasting") and not have_any(self.words, "periodic")
        is_periodical = named.mark == "worded" and have_any(around, "periodicals")
        return name != "*" and not is_periodical  # what a version alone names is about that version

    def _is_sure(self, named: NamedVersion) -> bool:
        """Whether it is no size or the like: two numbers with a dot may be anything."""
        if named.mark != "dotted" or len(named.version.number or ()) > 2:
            return True
        return compared(self.stated.version, named.version) == 0


def have_like_titles(one: Candidate, other: Candidate) -> bool:
    """Whether the titles are of like words, and nothing in them tells the two apart."""
    (words, telling), (others, telling_others) = one.title_words, other.title_words
    if telling != telling_others:
        return False
    shared, all_words = len(words & others), len(words | others)
    return not words or not others or shared >= LIKE_TITLES * all_words


def words_of(text: str) -> list[str]:
    """The words of a name or title, lower case, without numbers."""
    return re.findall(r"[^\W\d_]+", text.lower())


def is_shelf(folder: str) -> bool:
    """Whether a folder only sorts versions, and does not tell one document from another."""
    return have_any(words_of(folder), "shelves")
