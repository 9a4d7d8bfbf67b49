"""Families: which documents are versions of one, and which of them is current.

Documents are linked where their names differ in nothing but a version (`manual_v2.pdf`), where
their first pages give one number and different versions (`STD-1234`, revision B), or where one says
that it replaces another. Whatever else tells two documents apart (a part, a plant, a grade, a
language) keeps them apart, and so does a date that means a period (the report of a week). Like
titles and texts alone make a proposal, which waits for a person. Decisions of people go before all.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, TypeAlias

from rag_assets.documents.families.candidates import Candidate, have_like_titles, is_shelf
from rag_assets.documents.families.decisions import Decisions
from rag_assets.documents.families.links import LinkedBy, Links, Reason
from rag_assets.documents.head.facts import PUBLIC, likeness, number_of, year_of
from rag_assets.documents.head.versions import (
    SCALES,
    UNKNOWN,
    DocumentVersion,
    Scale,
    compared,
    stated_versions,
)
from rag_assets.documents.head.words import have_any
from rag_assets.identity import fingerprint

LIKE_TEXTS = 0.5
"""Least likeness of two first pages."""
MOST_LIKE = 12
"""Documents of one title: more of them are a series of forms, of which nothing is proposed."""

Status: TypeAlias = Literal["current", "superseded", "proposed"]
Versioned: TypeAlias = tuple[Candidate, DocumentVersion]
Groups: TypeAlias = Mapping[str, Sequence[Versioned]]
"""Documents that may be versions of one, by what they have in common."""


@dataclass(frozen=True, slots=True)
class Membership:
    """What a document is among its versions."""

    family: str | None
    """The id of the family; None for a document without other versions."""
    place: int | None
    """The place among the versions, from 0 for the oldest, which copies of one version share. None
    for proposals and drafts."""
    status: Status
    linked_by: LinkedBy | None
    evidence: str
    """A sentence on what the document itself says; it names no other document."""


ALONE = Membership(None, None, "current", None, "")


def memberships(
    documents: Sequence[Candidate], decisions: Decisions | None = None
) -> dict[str, Membership]:
    """The membership of each document, by its id."""
    decided = decisions or Decisions()
    links = Links(documents)
    _link_decisions(links, documents, decided)  # first: what says otherwise would make a circle
    for by, groups in (("name", _by_name(documents)), ("number", _by_number(documents))):
        for key, group in groups.items():
            for versions in _apart(group, decided, by=by):
                _link(links, versions, by=by, key=key)
    link_statements(links, documents, decided)
    found = _placed(links, documents)
    return found | _proposed(documents, found, decided)


def _by_name(documents: Sequence[Candidate]) -> Groups:
    """Documents whose paths differ in nothing but the version, one of which surely is a version."""
    groups: defaultdict[str, list[Versioned]] = defaultdict(list)
    sure: set[str] = set()
    for document in documents:
        for named, is_sure in document.spelled:
            *folders, name = named.base.split("/")
            kept = [folder for folder in folders if not is_shelf(folder)]
            key = "/".join([document.source, *kept, name])
            groups[key].append((document, named.version.joined(document.version)))
            if is_sure:
                sure.add(key)
    return {key: group for key, group in groups.items() if key in sure}


def _by_number(documents: Sequence[Candidate]) -> Groups:
    """Documents that give one number; in one place, unless the number is a public one."""
    groups: defaultdict[str, list[Versioned]] = defaultdict(list)
    for document in documents:
        number, is_public, year = document.number
        version = document.version.joined(DocumentVersion(day=year))
        if number and version:
            place = "" if is_public else document.place
            groups[f"{number} {place}"].append((document, version))
    return groups


def _apart(
    group: Sequence[Versioned], decided: Decisions, *, by: LinkedBy
) -> Iterator[list[Versioned]]:
    """The group in parts whose members nothing tells apart but their versions."""
    parts: list[list[Versioned]] = []
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
    return have_like_titles(one, other)


def _link(
    links: Links,
    versions: Sequence[Versioned],
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
        document.document_id: Reason(by, key, _evidence(document, version, by=by))
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


def _link_decisions(links: Links, documents: Sequence[Candidate], decided: Decisions) -> None:
    for newer, older in decided.versions(documents):
        reason = Reason("decision", f"{older.source}/{older.uri}", "somebody decided so")
        pair = [(each.document_id, reason) for each in (newer, older)]
        links.join(older.document_id, newer.document_id, *pair)
        links.supersede(older.document_id, by=newer.document_id)


def _placed(links: Links, documents: Sequence[Candidate]) -> dict[str, Membership]:
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
    """Documents that are like others, and for which nobody has decided; the rest stays."""

    def may_be(one: Candidate, other: Candidate) -> bool:
        return (
            not decided.know(one, other)
            and compared(one.version, other.version) != 0
            and _may_be_versions(one, other, decided, by="likeness")
        )

    proposed: dict[str, Membership] = {}
    evidence = "its title and first page are like those of another document"
    for one, other in like_pairs(documents, may_be=may_be):
        both = (one.document_id, other.document_id)
        title = sorted(one.title_words[0])
        known = next((family for each in both if (family := found[each].family)), None)
        family = known or fingerprint("proposal", one.source, title)[:16]
        for each in both:
            if found[each].family is None:
                proposed[each] = Membership(family, None, "proposed", "likeness", evidence)
    return proposed


def like_pairs(
    documents: Sequence[Candidate], *, may_be: Callable[[Candidate, Candidate], bool]
) -> Iterator[tuple[Candidate, Candidate]]:
    """Pairs of one title whose first pages have most of their text in common.

    `may_be` says whether nothing is known that tells two documents apart.
    """
    titles: defaultdict[frozenset[str], list[Candidate]] = defaultdict(list)
    for document in documents:
        words, _ = document.title_words
        if words and not have_any(document.words, "periodic"):
            titles[words].append(document)
    for like in titles.values():
        for one, other in combinations(like if len(like) <= MOST_LIKE else [], 2):
            is_other_text = one.content != other.content
            is_one_language = one.stated.language == other.stated.language
            if is_other_text and is_one_language and may_be(one, other) and _are_like(one, other):
                yield one, other


def _are_like(one: Candidate, other: Candidate) -> bool:
    return likeness(one.stated.sketch, other.stated.sketch) >= LIKE_TEXTS


def link_statements(links: Links, documents: Sequence[Candidate], decided: Decisions) -> None:
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
                said = Reason("statement", key, f"it says that it replaces {value}")
                told = Reason("statement", key, "another document says that it replaces this one")
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
    version = next(stated_versions(value), UNKNOWN).joined(DocumentVersion(day=year))
    for number, found in by_number.items():
        if re.search(rf"(?:^|[^A-Z0-9]){re.escape(number)}(?![A-Z0-9]|-\d)", wanted):
            for each in found:
                its_version = each.version.joined(DocumentVersion(day=each.number[2]))
                if not version or compared(version, its_version) == 0:
                    yield each
    for token in re.findall(r"[^\s,;()]+", value):
        if len(found := by_name.get(_stem(token.strip(".")), ())) == 1:
            yield found[0]


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return (stem if dot and extension.isalpha() else name).lower()
