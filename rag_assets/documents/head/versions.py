"""Versions of documents: how names and texts spell them, and which of two is the newer one.

A version is known by one or more *scales*: a dotted number (`2.1`), a letter (`B`), a date. Two
versions are compared on the first scale that both have; on none, neither is newer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, TypeAlias

from rag_assets.documents.head.words import head_words

Scale: TypeAlias = Literal["number", "letter", "date"]
SCALES: tuple[Scale, ...] = ("number", "letter", "date")
"""The scales of versions, in the order in which they are compared."""

WORDS = (
    r"versions?|vers?\.?|revisions?|rev\.?|releases?|editions?|issues?|utg[åa]va|utg\.?|ausgabe|"
    r"auflage|ed\.|édition"
)
"""What stands before a version, or after an ordinal one."""
ORDINALS = head_words().ordinals
UNFINISHED = re.compile(
    r"(?:^|[\W_\d])(?:draft|utkast|entwurf|beta|alpha|rc|dev|pre)\d*(?:$|[\W_])", re.I
)
"""A version that is not released yet replaces none."""

_PLAIN = r"\d{1,4}(?:\.\d{1,5}){0,4}(?:\.?(?:rc|beta|alpha|dev|post|(?<=\.\d)[ab](?=\d))\.?\d*)?"
_NUMBER = rf"(?:{_PLAIN}|\d{{1,4}}[a-z])"
_DAY = r"(?:19|20)\d\d[-._]?(?:0[1-9]|1[0-2])(?:[-._]?(?:0[1-9]|[12]\d|3[01]))?"
_STATED = re.compile(
    rf"(?<![\w-])(?:{WORDS})(?:\s*/\s*(?:{WORDS}))?\s*(?:no\.?|nr\.?)?\s*[:=|#]?\s*\**\s*"
    rf"(?P<value>{_DAY}(?!\d)|v?{_NUMBER}(?![\w])|(?-i:[A-Z]{{1,2}})(?![\w.]))",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    rf"\b(?:(?P<word>{'|'.join(ORDINALS)})|(?P<digits>\d{{1,2}})(?:st|nd|rd|th))\s+"
    r"(?:edition|revision|issue)\b",
    re.IGNORECASE,
)
_IN_NAME = re.compile(
    rf"(?P<lead>^|[\s_.(,-])(?:"
    rf"(?:{WORDS})[\s_.-]*(?P<worded>{_DAY}(?!\d)|{_NUMBER}|[A-Z]{{1,2}})"
    rf"|v[\s_.-]?(?P<marked>{_PLAIN})"
    rf"|(?P<day>{_DAY})"
    rf"|(?P<dotted>(?=\d+\.\d){_PLAIN})"
    rf")(?=$|[\s_.),-])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """Which version of a document something is, on each scale that is known."""

    number: tuple[int, ...] | None = None
    letter: str | None = None
    day: date | None = None
    is_unfinished: bool = False

    @property
    def label(self) -> str:
        """For people: `2.1`, `B` or `2024-03-01`; empty if nothing is known."""
        draft = " (draft)" if self.is_unfinished else ""
        if self.number is not None:
            return ".".join(map(str, self.number)) + draft
        return (self.letter or (self.day.isoformat() if self.day else "")) + draft

    def key(self, scale: Scale) -> tuple[int, ...] | None:
        """What versions are sorted by on `scale`; None if this one has no place on it."""
        if scale == "number" and self.number is not None:
            return (*_trimmed(self.number),)
        if scale == "letter" and self.letter is not None:
            return (len(self.letter), *map(ord, self.letter))
        if scale == "date" and self.day is not None:
            return (self.day.toordinal(),)
        return None

    def joined(self, other: "DocumentVersion") -> "DocumentVersion":
        """What either says; where both do, this one."""
        return DocumentVersion(
            self.number if self.number is not None else other.number,
            self.letter or other.letter,
            self.day or other.day,
            self.is_unfinished or other.is_unfinished,
        )

    def __bool__(self) -> bool:
        return any(self.key(scale) is not None for scale in SCALES)


UNKNOWN = DocumentVersion()


@dataclass(frozen=True, slots=True)
class NamedVersion:
    """A version that a path spells, and the path without it."""

    version: DocumentVersion
    base: str
    """The path with `*` in the place of the version, lower case, separators made one."""
    mark: Literal["worded", "marked", "day", "dotted"]
    """The mark by which it is told: a word (`rev B`), a `v`, a date, or dots alone."""
    before: str = field(default="")
    """The word before it, lower case."""


def compared(one: DocumentVersion, other: DocumentVersion) -> int | None:
    """-1 if `one` is older, 1 if it is newer, 0 if they are the same; None if nobody can tell."""
    for scale in SCALES:
        mine, theirs = one.key(scale), other.key(scale)
        if mine is not None and theirs is not None:
            return (mine > theirs) - (mine < theirs)
    return None


def stated_versions(text: str) -> Iterator[DocumentVersion]:
    """The versions that `text` states with a word, such as `Revision: B`, in their order."""
    for match in _STATED.finditer(text):
        if version := version_of(match["value"]):
            yield version
    for match in _ORDINAL.finditer(text):
        word = (match["word"] or "").lower()
        yield DocumentVersion((ORDINALS.index(word) + 1 if word else int(match["digits"]),))


def without_stated(text: str) -> str:
    """`text` without the versions that it states, and what joined them to the rest."""
    text = _ORDINAL.sub(" ", _STATED.sub(" ", text))
    return re.sub(r"\s*[,;:(\u2013-]*\s*\)?\s*$", "", text)


def named_versions(path: str) -> Iterator[NamedVersion]:
    """The versions that the parts of a path may spell, those of the file's name first.

    The extension is no part of the name.
    """
    *folders, name = path.split("/")
    stem, dot, extension = name.rpartition(".")
    if not dot or not extension.isalnum() or extension.isdigit():
        stem, extension = name, ""
    parts = [*folders, stem]
    for place in reversed(range(len(parts))):
        part = parts[place]
        for match in reversed(list(_IN_NAME.finditer(part))):
            mark = next(name for name in ("worded", "marked", "day", "dotted") if match[name])
            version = version_of(match[mark])
            if not version:
                continue
            start = match.start() + len(match["lead"])
            base = f"{part[:start]}*{part[match.end() :]}"
            whole = "/".join([*parts[:place], base, *parts[place + 1 :]])
            is_draft = bool(UNFINISHED.search(part))
            yield NamedVersion(
                version.joined(DocumentVersion(is_unfinished=is_draft)),
                normalised(UNFINISHED.sub("", whole) if is_draft else whole),
                mark,
                _last_word(part[:start]),
            )


def version_of(text: str) -> DocumentVersion | None:
    """The version that `text` spells, without the word before it."""
    text = text.strip().strip("()").removeprefix("v").removeprefix("V")
    if re.fullmatch(_DAY, text) and (day := day_of(text)):
        return DocumentVersion(day=day)
    if re.fullmatch(r"[A-Za-z]{1,2}", text):
        return DocumentVersion(letter=text.upper()) if text.isupper() or len(text) == 1 else None
    match = re.fullmatch(r"(\d+(?:\.\d+)*)\.?(rc|beta|alpha|dev|post|[a-z])?\.?(\d*)", text, re.I)
    if match is None:
        return None
    number, word = tuple(map(int, match[1].split("."))), (match[2] or "").lower()
    is_unfinished = word in ("rc", "beta", "alpha", "dev") or (word in "ab" and bool(match[3]))
    if word and not is_unfinished and word != "post":
        number = (*number, ord(word) - ord("a") + 1)
    return DocumentVersion(number, is_unfinished=bool(word) and is_unfinished)


def day_of(text: str) -> date | None:
    """The date that `text` spells as year, month and (if given) day; the first of the month."""
    digits = re.sub(r"\D", "", text)
    try:
        return date(int(digits[:4]), int(digits[4:6] or 1), int(digits[6:8] or 1))
    except ValueError:
        return None


def normalised(path: str) -> str:
    """A path in which spelling makes no difference: lower case, one kind of separator."""
    parts = [re.sub(r"[\s_.,-]+", "-", part.lower()).strip("-") for part in path.split("/")]
    return "/".join(parts)


def _trimmed(number: tuple[int, ...]) -> tuple[int, ...]:
    """`2.0` and `2` are one version."""
    while len(number) > 1 and number[-1] == 0:
        number = number[:-1]
    return number


def _last_word(text: str) -> str:
    words = re.findall(r"[^\W\d_]+", text)
    return words[-1].lower() if words else ""
