"""Decisions of people on the versions of documents: a CSV file that they, or a command, write.

    newer,older,are
    manuals/pump_2024.pdf,manuals/pump_old.pdf,versions
    plant_a/WI-101.pdf,plant_b/WI-101.pdf,unlike

`versions`: the first is the newer version of the second, whatever their names say. `unlike`: they
are two documents. A document is named by its URI, or as source/URI where two sources have it.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

from rag_assets.identity import fingerprint
from rag_assets.process.errors import ExplainedError

COLUMNS = ("newer", "older", "are")
Kind: TypeAlias = Literal["versions", "unlike"]
KINDS: tuple[Kind, ...] = ("versions", "unlike")


class DecisionsError(ExplainedError, ValueError):
    """The file of decisions cannot be read; the message names the line."""


class Named(Protocol):
    """A document, as decisions name it."""

    @property
    def source(self) -> str:
        """Name of its source in the config."""
        ...

    @property
    def uri(self) -> str:
        """Below the root of its source."""
        ...


NamedT = TypeVar("NamedT", bound=Named)


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided on two documents."""

    newer: str
    older: str
    are: Kind


@dataclass(frozen=True, slots=True)
class Decisions:
    """All decisions, in the order of the file; a later one on the same two documents counts."""

    made: tuple[Decision, ...] = ()

    @property
    def content(self) -> str:
        """What the decisions say, as a fingerprint."""
        return fingerprint([[each.newer, each.older, each.are] for each in self.made])

    def are_unlike(self, one: Named, other: Named) -> bool:
        """Whether somebody decided that the two are different documents."""
        last = self._last(one, other)
        return last is not None and last.are == "unlike"

    def know(self, one: Named, other: Named) -> bool:
        """Whether somebody decided on the two."""
        return self._last(one, other) is not None

    def versions(self, documents: Sequence[NamedT]) -> Iterator[tuple[NamedT, NamedT]]:
        """The newer and the older one of each pair that are versions; unknown names are skipped."""
        if not self.made:
            return
        named: dict[str, NamedT] = {}
        for document in documents:
            named.setdefault(document.uri, document)
            named[f"{document.source}/{document.uri}"] = document
        for each in self.made:
            newer, older = named.get(each.newer), named.get(each.older)
            if newer and older and each.are == "versions" and self._last(newer, older) is each:
                yield newer, older

    def _last(self, one: Named, other: Named) -> Decision | None:
        names = [{each.uri, f"{each.source}/{each.uri}"} for each in (one, other)]
        for each in reversed(self.made):
            if (each.newer in names[0] and each.older in names[1]) or (
                each.newer in names[1] and each.older in names[0]
            ):
                return each
        return None


def read_decisions(file: Path | None) -> Decisions:
    """The decisions in `file`; none where there is no such file.

    Raises:
        DecisionsError: It is no CSV file with these columns, or a line holds another word.
    """
    if file is None or not file.exists():
        return Decisions()
    try:
        rows = csv.DictReader(io.StringIO(file.read_text("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise DecisionsError(f"{file} is not encoded in UTF-8: save it so") from error
    if not {*COLUMNS} <= {*(rows.fieldnames or ())}:
        raise DecisionsError(f"{file}: the first line must name the columns {', '.join(COLUMNS)}")
    made = []
    for place, row in enumerate(rows, start=2):
        newer, older, are = ((row[name] or "").strip() for name in COLUMNS)
        if not newer and not older:
            continue
        kind = next((each for each in KINDS if each == are), None)
        if kind is None or not newer or not older:
            raise DecisionsError(
                f"{file}, line {place}: needs two documents and {' or '.join(KINDS)}, not {are!r}"
            )
        made.append(Decision(newer, older, kind))
    return Decisions(tuple(made))


def as_csv(decisions: Decisions) -> str:
    """The file that says `decisions`."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    lines.writerows((each.newer, each.older, each.are) for each in decisions.made)
    return text.getvalue()
