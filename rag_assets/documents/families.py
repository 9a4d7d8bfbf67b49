"""Families: which documents are versions of one, and which of them is current.

Documents are linked where their names differ in nothing but a version (`manual_v2.pdf`), where
their first pages give one number and different versions (`STD-1234`, revision B), or where one says
that it replaces another. Whatever else tells two documents apart (a part, a plant, a grade, a
language) keeps them apart, and so does a date that means a period (the report of a week). Like
titles and texts alone make a proposal, which waits for a person. Decisions of people go before all.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations, pairwise
from typing import Literal, NamedTuple, TypeAlias

from rag_assets.documents.family_decisions import Decisions
from rag_assets.documents.stated_facts import PUBLIC, Stated, likeness, number_of, year_of
from rag_assets.documents.version_marks import (
    SCALES,
    DocumentVersion,
    NamedVersion,
    Scale,
    compared,
    named_versions,
    stated_versions,
)
from rag_assets.documents.version_words import (
    LANGUAGES,
    LASTING,
    NUMBERED,
    OF_ONE_VERSION,
    PERIODIC,
    PERIODICALS,
    SHELVES,
)
from rag_assets.identity import fingerprint

LinkedBy: TypeAlias = Literal["name", "number", "statement", "decision", "likeness"]
Status: TypeAlias = Literal["current", "superseded", "proposed"]

LIKE_TITLES = 0.5
"""Least share of words that the titles of two versions have in common."""
LIKE_TEXTS = 0.5
"""Least likeness of two first pages for a proposal."""
MOST_LIKE = 12
"""Documents of one title: more of them are a series of forms, of which nothing is proposed."""

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
    def named(self) -> Sequence[NamedVersion]:
        """The versions that its path spells and that are surely none of something else."""
        return [each for each in named_versions(self.uri) if self._is_sure(each)]

    @cached_property
    def version(self) -> DocumentVersion:
        """What its name or else its first page says."""
        stated = self.stated.version
        named = self.named[0].version if self.named else DocumentVersion()
        return stated.joined(named) if self.stated.number else named.joined(stated)

    @cached_property
    def number(self) -> tuple[str, bool, date | None]:
        """Its number, whether that is a public one, and the year that the name gives with it."""
        name = self.uri.rpartition("/")[2].replace("_", " ")
        if found := PUBLIC.match(
            name.replace(" ", "-", 1) if " " in name else name
        ) or PUBLIC.match(name):
            return self.stated.number or number_of(found["number"]), True, year_of(found)
        return self.stated.number, self.stated.is_public, None

    @cached_property
    def place(self) -> str:
        """Source and folders without those that only sort versions, such as `archive`."""
        folders = self.uri.split("/")[:-1]
        kept = [
            folder.lower()
            for folder in folders
            if not SHELVES & {*_words(folder)} and not re.fullmatch(r"(?:19|20)\d\d", folder)
        ]
        return "/".join([self.source, *kept])

    @cached_property
    def languages(self) -> frozenset[str]:
        """Languages that its name gives."""
        return LANGUAGES & {*_words(self.uri.rpartition("/")[2])}

    @cached_property
    def words(self) -> frozenset[str]:
        """Of its name and its title."""
        return frozenset(_words(self.uri.rpartition("/")[2])) | {*_words(self.stated.title)}

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

    def _is_sure(self, named: NamedVersion) -> bool:
        """Whether what looks like a version in the path is the version of this document."""
        in_file = "*" in named.base.rpartition("/")[2]
        around = {*_words(named.base)}
        if named.before in NUMBERED or (in_file and around & OF_ONE_VERSION):
            return False
        if named.base.rpartition("/")[2] == "*" and in_file:
            return False  # a file that is called by its version alone is about that version
        if named.mark == "worded":
            return not around & PERIODICALS
        if named.mark == "day":
            return bool(self.words & LASTING) and not self.words & PERIODIC
        if named.mark == "dotted":
            stated = self.stated.version
            is_stated = compared(stated, named.version) == 0
            return len(named.version.number or ()) > 2 or is_stated
        return True


@dataclass(frozen=True, slots=True)
class Membership:
    """What a document is among its versions."""

    family: str | None
    """None for a document without other versions."""
    place: int | None
    """From 0, the oldest; copies of one version share it. None for proposals and drafts."""
    status: Status
    linked_by: LinkedBy | None
    evidence: str
    """One sentence on what the document itself says; no other document is named."""


ALONE = Membership(None, None, "current", None, "")


class _Reason(NamedTuple):
    by: LinkedBy
    key: str
    evidence: str


class _Links:
    """Who is a version of whom, and who takes whose place."""

    def __init__(self, documents: Iterable[Candidate]) -> None:
        self._above = {each.document_id: each.document_id for each in documents}
        self.newer: defaultdict[str, set[str]] = defaultdict(set)
        self.reasons: dict[str, _Reason] = {}

    def join(self, one: str, other: str, *reasons: tuple[str, _Reason]) -> None:
        """The two are versions of one document."""
        self._above[self.root(one)] = self.root(other)
        for document, reason in reasons:
            self.reasons.setdefault(document, reason)

    def supersede(self, older: str, by: str) -> None:
        """Unless that would make a circle, which a wrong statement could."""
        if older != by and older not in self._descendants(by):
            self.newer[older].add(by)

    def root(self, document: str) -> str:
        """What stands for the family."""
        while self._above[document] != document:
            self._above[document] = self._above[self._above[document]]
            document = self._above[document]
        return document

    def families(self) -> list[list[str]]:
        """Families of two or more."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for document in self._above:
            found[self.root(document)].append(document)
        return [members for members in found.values() if len(members) > 1]

    def _descendants(self, document: str) -> set[str]:
        found: set[str] = set()
        left = [document]
        while left:
            for each in self.newer.get(left.pop(), ()):
                if each not in found:
                    found.add(each)
                    left.append(each)
        return found


def memberships(
    documents: Sequence[Candidate], decisions: Decisions | None = None
) -> dict[str, Membership]:
    """The membership of each document, by its id."""
    decided = decisions or Decisions()
    links = _Links(documents)
    for by, groups in (("name", _by_name(documents)), ("number", _by_number(documents))):
        for key, group in groups.items():
            for versions in _apart(group, decided, by=by):
                _link(links, versions, by=by, key=key)
    _link_statements(links, documents, decided)
    _link_decisions(links, documents, decided)
    found = _placed(links, documents)
    return found | _proposed(documents, found, decided)


def _by_name(
    documents: Sequence[Candidate],
) -> Mapping[str, list[tuple[Candidate, DocumentVersion]]]:
    """Documents whose paths differ in nothing but the version."""
    groups: defaultdict[str, list[tuple[Candidate, DocumentVersion]]] = defaultdict(list)
    for document in documents:
        for named in document.named:
            *folders, name = named.base.split("/")
            kept = [folder for folder in folders if not SHELVES & {*_words(folder)}]
            key = "/".join([document.source, *kept, name])
            groups[key].append((document, named.version.joined(document.version)))
    return groups


def _by_number(
    documents: Sequence[Candidate],
) -> Mapping[str, list[tuple[Candidate, DocumentVersion]]]:
    """Documents that give one number; in one place, unless the number is a public one."""
    groups: defaultdict[str, list[tuple[Candidate, DocumentVersion]]] = defaultdict(list)
    for document in documents:
        number, is_public, year = document.number
        version = document.version.joined(DocumentVersion(day=year))
        if number and version:
            place = "" if is_public else document.place
            groups[f"{number} {place}"].append((document, version))
    return groups


def _apart(
    group: Sequence[tuple[Candidate, DocumentVersion]], decided: Decisions, *, by: LinkedBy
) -> Iterator[list[tuple[Candidate, DocumentVersion]]]:
    """The group in parts whose members nothing tells apart but their versions."""
    parts: list[list[tuple[Candidate, DocumentVersion]]] = []
    for document, version in sorted(group, key=lambda pair: (pair[0].source, pair[0].uri)):
        for part in parts:
            first, its_version = part[0]
            if first.document_id == document.document_id:
                break
            if compared(version, its_version) is not None and all(
                _may_be_versions(document, other, decided, by=by) for other, _ in part
            ):
                part.append((document, version))
                break
        else:
            parts.append([(document, version)])
    return (part for part in parts if len(part) > 1)


def _may_be_versions(one: Candidate, other: Candidate, decided: Decisions, *, by: LinkedBy) -> bool:
    """Whether nothing tells the two apart but their versions."""
    if decided.are_unlike(one, other) or one.languages != other.languages:
        return False
    mine, theirs = dict(one.stated.qualifiers), dict(other.stated.qualifiers)
    if any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys()):
        return False
    if by == "number" and one.number[1] and other.number[1]:
        return True
    return _have_like_titles(one, other)


def _have_like_titles(one: Candidate, other: Candidate) -> bool:
    (words, telling), (others, telling_others) = one.title_words, other.title_words
    if telling != telling_others:
        return False
    shared, all_words = len(words & others), len(words | others)
    return not words or not others or shared >= LIKE_TITLES * all_words


def _link(
    links: _Links,
    versions: Sequence[tuple[Candidate, DocumentVersion]],
    *,
    by: LinkedBy,
    key: str,
) -> None:
    """Link the versions of one document, each to the next newer one that is released."""
    scale = _common_scale([version for _, version in versions])
    if scale is None:
        return
    highest: dict[str, DocumentVersion] = {}
    for document, version in versions:  # copies of one file are one version, whatever their names
        known = highest.get(document.content)
        if known is None or (version.key(scale) or ()) > (known.key(scale) or ()):
            highest[document.content] = version
    steps: defaultdict[tuple[tuple[int, ...], bool], list[Candidate]] = defaultdict(list)
    for document, _ in versions:
        version = highest[document.content]
        steps[version.key(scale) or (), not version.is_unfinished].append(document)
    if len(steps) < 2:
        return
    ordered = [(step, steps[step]) for step in sorted(steps)]
    reasons = {
        document.document_id: _Reason(by, key, _evidence(document, version, by=by))
        for document, version in versions
    }
    for (_, older), (_, newer) in pairwise(ordered):
        for one in older:
            links.join(
                one.document_id,
                newer[0].document_id,
                *((each.document_id, reasons[each.document_id]) for each in (one, *newer)),
            )
        for other in newer[1:]:
            links.join(other.document_id, newer[0].document_id)
    for place, (_, older) in enumerate(ordered):
        following = next((held for (_, is_done), held in ordered[place + 1 :] if is_done), ())
        for one in older:
            for other in following:
                links.supersede(one.document_id, by=other.document_id)


def _common_scale(versions: Sequence[DocumentVersion]) -> Scale | None:
    """The first scale on which all have a place."""
    return next(
        (scale for scale in SCALES if all(each.key(scale) is not None for each in versions)), None
    )


def _evidence(document: Candidate, version: DocumentVersion, *, by: LinkedBy) -> str:
    if by == "name":
        return f"its name gives version {version.label}"
    return f"it gives the number {document.number[0]} and version {version.label}"


def _link_statements(links: _Links, documents: Sequence[Candidate], decided: Decisions) -> None:
    """Let documents take the place of those that they say they replace."""
    by_number: defaultdict[str, list[Candidate]] = defaultdict(list)
    by_name: defaultdict[str, list[Candidate]] = defaultdict(list)
    if not any(document.stated.replaces for document in documents):
        return
    for document in documents:
        if document.number[0]:
            by_number[document.number[0]].append(document)
        by_name[_stem(document.uri)].append(document)
    for document in documents:
        for value in document.stated.replaces:
            for older in _named_in(value, by_number, by_name):
                if older.content == document.content or decided.are_unlike(document, older):
                    continue
                key = f"{older.source}/{older.uri}"
                said = _Reason("statement", key, f"it says that it replaces {value}")
                told = _Reason("statement", key, "another document says that it replaces this one")
                links.join(
                    older.document_id,
                    document.document_id,
                    (document.document_id, said),
                    (older.document_id, told),
                )
                if not document.version.is_unfinished:
                    links.supersede(older.document_id, by=document.document_id)


def _named_in(
    value: str,
    by_number: Mapping[str, Sequence[Candidate]],
    by_name: Mapping[str, Sequence[Candidate]],
) -> Iterator[Candidate]:
    """The documents that `value` names, by their number and version or by their file."""
    wanted = number_of(value)
    year = next((year_of(match) for match in PUBLIC.finditer(value)), None)
    version = next(stated_versions(value), DocumentVersion()).joined(DocumentVersion(day=year))
    for number, found in by_number.items():
        if re.search(rf"(?:^|[^A-Z0-9]){re.escape(number)}(?![A-Z0-9]|-\d)", wanted):
            for each in found:
                its_version = each.version.joined(DocumentVersion(day=each.number[2]))
                if not version or compared(version, its_version) == 0:
                    yield each
    for token in re.findall(r"[^\s,;()]+", value):
        if len(found := by_name.get(_stem(token.strip(".")), ())) == 1:
            yield found[0]


def _link_decisions(links: _Links, documents: Sequence[Candidate], decided: Decisions) -> None:
    for newer, older in decided.versions(documents):
        reason = _Reason("decision", f"{older.source}/{older.uri}", "somebody decided so")
        pair = [(each.document_id, reason) for each in (newer, older)]
        links.join(older.document_id, newer.document_id, *pair)
        links.supersede(older.document_id, by=newer.document_id)


def _placed(links: _Links, documents: Sequence[Candidate]) -> dict[str, Membership]:
    """What the links make of each document."""
    found = {each.document_id: ALONE for each in documents}
    for members in links.families():
        reasons = [links.reasons[each] for each in members if each in links.reasons]
        family = fingerprint("family", min(reason.key for reason in reasons))[:16]
        ahead = {each: _steps_ahead(each, links.newer) for each in members}
        longest = max(ahead.values())
        has_order = {each for each in members if each in links.newer} | {
            newer for each in members for newer in links.newer.get(each, ())
        }
        for each in members:
            reason = links.reasons.get(each)
            found[each] = Membership(
                family,
                longest - ahead[each] if each in has_order else None,
                "superseded" if links.newer.get(each) else "current",
                reason.by if reason else None,
                reason.evidence if reason else "it is a copy of another version",
            )
    return found


def _steps_ahead(document: str, newer: Mapping[str, set[str]]) -> int:
    """How many versions follow at most."""
    return max((1 + _steps_ahead(each, newer) for each in newer.get(document, ())), default=0)


def _proposed(
    documents: Sequence[Candidate], found: Mapping[str, Membership], decided: Decisions
) -> dict[str, Membership]:
    """Documents that are like others in title and text, and for which nobody has decided."""
    titles: defaultdict[tuple[str, ...], list[Candidate]] = defaultdict(list)
    for document in documents:
        words, _ = document.title_words
        if words and not document.words & PERIODIC:
            titles[tuple(sorted(words))].append(document)
    proposed: dict[str, Membership] = {}
    for title, like in titles.items():
        for one, other in combinations(like if len(like) <= MOST_LIKE else [], 2):
            alone = [each for each in (one, other) if found[each.document_id].family is None]
            if not alone or not _is_proposal(one, other, decided):
                continue
            known = {found[each.document_id].family for each in (one, other)} - {None}
            family = (
                next(iter(known), None) or fingerprint("proposal", one.source, list(title))[:16]
            )
            evidence = "its title and first page are like those of another document"
            for each in alone:
                proposed[each.document_id] = Membership(
                    family, None, "proposed", "likeness", evidence
                )
    return proposed


def _is_proposal(one: Candidate, other: Candidate, decided: Decisions) -> bool:
    return (
        one.content != other.content
        and one.stated.language == other.stated.language
        and not decided.know(one, other)
        and compared(one.version, other.version) != 0
        and _may_be_versions(one, other, decided, by="likeness")
        and likeness(one.stated.sketch, other.stated.sketch) >= LIKE_TEXTS
    )


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return (stem if dot and extension.isalpha() else name).lower()


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())
