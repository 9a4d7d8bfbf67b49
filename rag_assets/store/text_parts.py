"""The parts of a full-text index, and whether BM25 counts by them what the table holds.

Lance weighs words by what the parts of its index counted when they were built: how many units, how
long they are, in how many a word occurs. All parts are summed, which is why a unit counts the same
in whichever part it is. A unit that was deleted since is not found any more, yet counted; one that
no part covers is found, yet not counted, and weighed by itself. Either moves the score of every
other unit. So rankings equal those of an index built from scratch if, and only if, each part was
built after the last deletion in its fragments and the parts cover the table.

Fragments are never used again under the same number, and a deletion says after which version it was
made: that tells one from the other without a record of our own. (pylance 14.0)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance import LanceDataset, LanceFragment

TEXT = "text"
"""The column that is indexed."""
MOST_ROWS = 500_000
"""A part is built anew whole: three seconds for so many rows of thirty words. Each part lengthens a
query by a millisecond."""
FEW_ROWS = 5_000
"""A part of so few rows is built in 30 ms: it is never worth the millisecond."""
WORTH = 8
"""Parts of up to so many times the rows that are counted anyway are counted with them."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """One part of a full-text index."""

    uuid: str
    fragments: frozenset[int]
    """The fragments of the part that the table still has."""
    rows: int
    """The number of units in these fragments."""
    is_exact: bool
    """Whether the part counts these units and no others."""


@dataclass(frozen=True, slots=True)
class TextIndex:
    """A full-text index as it stands at one version of its table."""

    parts: Sequence[TextPart]
    uncounted: frozenset[int]
    """Fragments that no part covers."""

    @property
    def is_exact(self) -> bool:
        """Whether BM25 ranks as in an index built from scratch."""
        return not self.uncounted and all(part.is_exact for part in self.parts)


def text_index(dataset: "LanceDataset", *, name: str) -> TextIndex:
    """The full-text index called `name` of a table of units.

    An index that is not there has no part.
    """
    live = {fragment.fragment_id: fragment for fragment in dataset.get_fragments()}
    parts = [
        _part(
            segment.uuid,
            set(segment.fragment_ids),
            built_at=segment.dataset_version_at_last_update,
            live=live,
        )
        for index in dataset.describe_indices()
        if index.field_names == [TEXT] and index.name == name
        for segment in index.segments
    ]
    covered = frozenset[int]().union(*(part.fragments for part in parts))
    return TextIndex(parts, frozenset(live) - covered)


def to_be_counted(index: TextIndex, *, rows: Mapping[int, int]) -> list[list[int]]:
    """The fragments of each part that is to be built, so that the index is exact; none if it is.

    A table that lost all its units has one part without fragments: what was there before is dropped
    with it. `rows` says how many each fragment has. What changed decides the cost: a part in whose
    fragments nothing was deleted stays, unless it is small beside what is counted anyway.
    """
    if index.is_exact:
        return []
    due = set(index.uncounted)
    for part in index.parts:
        due |= set() if part.is_exact else part.fragments
    for part in sorted((part for part in index.parts if part.is_exact), key=lambda one: one.rows):
        counted = sum(rows[fragment] for fragment in due)
        # where all that a part covered is gone, only a part in its place makes Lance drop it
        if not due or part.rows <= max(FEW_ROWS, WORTH * counted):
            due |= part.fragments
    return _parted(sorted(due), rows=rows) or [[]]


def _part(
    uuid: str, fragments: set[int], *, built_at: int, live: Mapping[int, "LanceFragment"]
) -> TextPart:
    left = [live[fragment] for fragment in fragments & live.keys()]
    deletions = [one.metadata.deletion_file for one in left]
    return TextPart(
        uuid=uuid,
        fragments=frozenset(one.fragment_id for one in left),
        rows=sum(one.metadata.num_rows for one in left),
        is_exact=len(left) == len(fragments)
        and all(deleted is None or deleted.read_version < built_at for deleted in deletions),
    )


def _parted(fragments: Sequence[int], *, rows: Mapping[int, int]) -> list[list[int]]:
    parts: list[list[int]] = []
    count = 0
    for fragment in fragments:
        if not parts or count + rows[fragment] > MOST_ROWS:
            parts.append([])
            count = 0
        parts[-1].append(fragment)
        count += rows[fragment]
    return parts
