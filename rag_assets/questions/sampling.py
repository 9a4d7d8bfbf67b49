"""Which documents give questions, and which of their windows.

The law: what one document gives does not depend on the others. Which documents are in the sample is
all that others decide, by a rule that keeps it as it is as far as it can:

- A stratum (a source and a language) has its documents in the order of their ids, which are hashes.
  Places go round by what part of each stratum is in already, so that each stratum has one, and the
  large ones have more (the divisor method of Adams).
- An edited document changes nothing for others, unless its language becomes another one.
- A document that is added or removed changes its own stratum's order by one, and the places of each
  stratum at most as its share changes: some document may enter or leave at the edge. All others
  stay, with the questions that they have.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping

import numpy as np

from rag_assets.identity import chance

KIND, SECTION = 8.0, 4.0
"""How much more than coherence, which is between -1 and 1, it counts that a window shows the kind
of unit whose turn it is, and that it is of a section that has given none."""


def sampled(strata: Mapping[str, Hashable], *, most: int) -> list[str]:
    """The ids of at most so many documents, in the order in which they have their places.

    Args:
        strata: For the id of each document what it is sampled by.
        most: Documents that give questions.
    """
    members: defaultdict[Hashable, list[str]] = defaultdict(list)
    for document in sorted(strata):
        members[strata[document]].append(document)
    turns = [
        (place / len(ids), document)
        for ids in members.values()
        for place, document in enumerate(ids)
    ]
    return [document for _, document in sorted(turns)[:most]]


def chosen_windows(
    starts: np.ndarray,
    ends: np.ndarray,
    coherence: np.ndarray,
    kinds: np.ndarray,
    sections: np.ndarray,
    *,
    document: str,
    most: int,
) -> list[int]:
    """At most so many windows of a document, no two of which share a chunk.

    Kinds of units take turns by their share of the document's chunks, beginning where a hash of its
    id says; a section that has given none comes before one that has; then the most coherent window.

    Args:
        starts: (m,) first chunk of each window, ascending: see `windows.windows_of`.
        ends: (m,) one past its last chunk.
        coherence: (m,).
        kinds: Number of the kind of each chunk, of other documents too.
        sections: Number of the section of each chunk, likewise.
        document: The id of the document.
        most: Windows to choose.

    Returns:
        Places in `starts`.
    """
    if not len(starts):
        return []
    own = kinds[starts[0] : ends[-1]]
    in_order, first = np.sort(own), chance("kind", document)
    is_free, is_new = np.ones((2, len(starts)), bool)
    chosen: list[int] = []
    while len(chosen) < most and is_free.any():
        wanted = in_order[int((first + len(chosen) / most) % 1 * len(own))]
        counted = np.concatenate([[0], np.cumsum(own == wanted)])
        shows = counted[ends - starts[0]] > counted[starts - starts[0]]
        worth = KIND * shows + SECTION * is_new + coherence
        best = int(np.where(is_free, worth, -np.inf).argmax())
        chosen.append(best)
        is_free &= (starts >= ends[best]) | (ends <= starts[best])
        is_new &= sections[starts] != sections[starts[best]]
    return chosen
