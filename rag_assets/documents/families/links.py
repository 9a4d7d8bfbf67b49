"""Links between documents: who is a version of whom, who takes whose place, and why."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from rag_assets.documents.families.candidates import Candidate

LinkedBy: TypeAlias = Literal["name", "number", "statement", "decision", "likeness"]


class Reason(NamedTuple):
    """Why a document belongs to a family; documents of one family may have the same key."""

    by: LinkedBy
    key: str
    evidence: str


class Links:
    """Who is a version of whom, and who takes whose place."""

    def __init__(self, documents: Iterable[Candidate]) -> None:
        self._above = {each.document_id: each.document_id for each in documents}
        self.newer: defaultdict[str, set[str]] = defaultdict(set)
        self.reasons: dict[str, Reason] = {}

    def join(self, one: str, other: str, *reasons: tuple[str, Reason]) -> None:
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
