"""Which documents and which windows give questions, whatever others there are."""

from collections import Counter
from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.questions.sampling import chosen_windows, sampled
from rag_assets.questions.windows import windows_of

IDS = st.uuids(version=5).map(str)
STRATA = st.dictionaries(IDS, st.sampled_from(["en", "sv", "de"]), max_size=60)
MOST = st.integers(0, 20)


@given(STRATA, MOST)
def test_as_many_are_sampled_as_there_is_room_for(strata, most):
    found = sampled(strata, most=most)

    assert len(set(found)) == len(found) == min(most, len(strata))
    assert set(found) <= strata.keys()


@given(STRATA, MOST)
def test_each_stratum_has_a_place_and_the_large_ones_have_more(strata, most):
    found = Counter(strata[each] for each in sampled(strata, most=most))
    sizes = Counter(strata.values())

    if most >= len(sizes):
        assert found.keys() == sizes.keys()
    assert all(
        found[one] >= found[other] for one in found for other in found if sizes[one] > sizes[other]
    )


@given(STRATA, MOST)
def test_of_a_stratum_the_first_by_their_ids_are_sampled(strata, most):
    found = set(sampled(strata, most=most))

    for stratum in set(strata.values()):
        members = sorted(each for each in strata if strata[each] == stratum)
        inside = [each in found for each in members]
        assert inside == sorted(inside, reverse=True)


@given(STRATA, MOST, IDS, st.sampled_from(["en", "sv", "de", "new"]))
def test_a_document_that_is_added_leaves_the_others_where_they_are(strata, most, added, stratum):
    """Or pushes some out: nothing else comes in, but for the last of a stratum that lost places."""
    strata.pop(added, None)
    before = set(sampled(strata, most=most))
    after = set(sampled({**strata, added: stratum}, most=most))

    own = {each for each in strata if strata[each] == stratum}
    assert not (after - before - {added}) - own, "no other stratum gains by it"
    assert len(after - before) <= 2, "at most itself, and one more place of its stratum"
    assert len(before - after) <= 2


@given(STRATA, MOST)
def test_more_room_only_adds(strata, most):
    assert set(sampled(strata, most=most)) <= set(sampled(strata, most=most + 1))


DOCUMENT = str(UUID(int=7))


def chosen(coherence, *, size=2, kinds=None, sections=None, most=2, document=DOCUMENT):
    """The chosen windows of a document, as ranges of its chunks."""
    chunks = len(coherence) + size - 1
    starts, ends = windows_of(np.zeros(chunks, int), size=size)
    marks = (np.array(kinds or [0] * chunks), np.array(sections or [0] * chunks))
    values = np.array(coherence, float)
    found = chosen_windows(starts, ends, values, *marks, document=document, most=most)
    return [(int(starts[each]), int(ends[each])) for each in found]


def test_the_most_coherent_windows_are_chosen_that_share_no_chunk():
    assert chosen([0.1, 0.8, 0.9, 0.7, 0.2, 0.3]) == [(2, 4), (5, 7)]


def test_a_section_that_gave_none_comes_first():
    sections = [0, 0, 0, 0, 0, 0, 1, 1]

    assert chosen([0.9, 0.1, 0.8, 0.1, 0.7, 0.1, 0.2], sections=sections) == [(0, 2), (6, 8)]


def test_kinds_take_turns_by_their_share_of_the_chunks():
    kinds = [0, 0, 0, 0, 0, 0, 1, 1]  # a quarter are tables, say
    coherence = [0.9, 0.1, 0.8, 0.1, 0.7, 0.1, 0.2]
    documents = [str(UUID(int=number)) for number in range(400)]

    first = Counter(chosen(coherence, kinds=kinds, most=1, document=each)[0] for each in documents)

    assert first.keys() == {(0, 2), (6, 8)}
    assert 60 < first[6, 8] < 140


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.integers(1, 5), st.integers(1, 4), IDS
)
def test_chosen_windows_never_share_a_chunk(coherence, size, most, document):
    kinds = [place % 3 for place in range(len(coherence) + size - 1)]

    found = chosen(coherence, size=size, most=most, kinds=kinds, document=document)

    taken = [place for start, end in found for place in range(start, end)]
    assert 1 <= len(found) <= most
    assert len(set(taken)) == len(taken)


def test_of_a_document_that_says_nothing_there_is_no_window():
    nothing = np.array([], int)

    assert chosen_windows(*[nothing] * 5, document=DOCUMENT, most=2) == []
