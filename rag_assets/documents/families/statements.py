"""Links that documents state themselves: `Supersedes: STD-1234 revision A`."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rag_assets.documents.families.candidates import Candidate
from rag_assets.documents.families.decisions import Decisions
from rag_assets.documents.families.links import Links, Reason
from rag_assets.documents.families.stated_facts import PUBLIC, number_of, year_of
from rag_assets.documents.families.version_marks import (
    UNKNOWN,
    DocumentVersion,
    compared,
    stated_versions,
)


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
