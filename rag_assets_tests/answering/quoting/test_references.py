"""Reference matching: the best cut of an answer into segments with their units."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.quoting.sourcing import (
    Calibrated,
    best_segments,
    disagreements,
    match_references,
)


class SharedWords:
    """A stand-in for a reranker: the share of a query's words that the text has."""

    def __init__(self):
        self.batches = []

    def score(self, pairs, /):
        self.batches.append(list(pairs))
        return np.array(
            [
                len(set(query.split()) & set(text.split())) / max(len(set(query.split())), 1)
                for query, text in pairs
            ]
        )


@st.composite
def problems(draw):
    count, units = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    longest = draw(st.integers(1, 8))
    shares = st.floats(0, 1).map(lambda value: round(value, 3))
    scores = {
        ((start, end), unit): draw(shares)
        for start in range(count)
        for end in range(start + 1, min(start + longest, count) + 1)
        for unit in range(units)
    }
    return count, scores, {"null": draw(shares), "cut": draw(shares), "longest": longest}


def all_cuts(count, longest):
    for mask in range(1 << (count - 1)):
        cuts = [0, *(place + 1 for place in range(count - 1) if mask >> place & 1), count]
        if all(end - start <= longest for start, end in pairwise(cuts)):
            yield list(pairwise(cuts))


def value_of(bounds, scores, *, null, cut):
    best = [max([null, *(v for (own, _), v in scores.items() if own == each)]) for each in bounds]
    return sum((end - start) * b - cut for (start, end), b in zip(bounds, best, strict=True))


@given(problems())
def test_the_cut_is_worth_as_much_as_the_best_of_all_and_has_no_more_segments(problem):
    count, scores, settings = problem
    null, cut, longest = settings["null"], settings["cut"], settings["longest"]
    found = best_segments(count, scores, **settings)
    every = [
        (round(value_of(bounds, scores, null=null, cut=cut), 9), -len(bounds))
        for bounds in all_cuts(count, longest)
    ]
    own = value_of([(each.start, each.end) for each in found], scores, null=null, cut=cut)

    assert own == pytest.approx(max(every)[0], abs=1e-8)
    assert len(found) <= min(
        len(bounds)
        for bounds in all_cuts(count, longest)
        if value_of(bounds, scores, null=null, cut=cut) > own - 1e-10
    )
    assert [each.start for each in found] == [0, *(each.end for each in found[:-1])]
    assert found[-1].end == count


def test_ties_go_to_the_unit_that_comes_first():
    scores = {((0, 1), unit): 0.9 for unit in range(3)}

    (segment,) = best_segments(1, scores, null=0.5, cut=0.0, longest=4)

    assert segment.unit == 0


def test_sentences_find_their_units_and_strangers_find_none():
    units = ["the pump runs at ten bar", "copper conducts heat well", "unrelated words only"]
    sentences = ["the pump runs", "at ten bar", "copper conducts", "nobody knows this"]

    found = match_references(sentences, units, SharedWords())

    assert [(each.start, each.end, each.unit) for each in found] == [
        (0, 2, 0),
        (2, 3, 1),
        (3, 4, None),
    ]


def test_each_pair_is_scored_once_and_only_the_nearest_units_are_compared_with_segments():
    scorer = SharedWords()
    sentences = [f"sentence {place} word{place}" for place in range(6)]
    match_references(sentences, [f"word{place} x" for place in range(5)], scorer)

    scored = [pair for batch in scorer.batches for pair in batch]
    assert len(scorer.batches) == 2
    assert len(scored) == len(set(scored))
    assert len(scored) < 5 * (6 + 5 + 4 + 3)


def test_no_sentences_have_no_segments_and_no_units_give_none():
    assert match_references([], ["a unit"], SharedWords()) == ()
    assert [each.unit for each in match_references(["a", "b"], [], SharedWords())] == [None]


def test_a_wrong_citation_is_disagreed_with_and_a_right_one_is_not():
    units = ["the pump runs at ten bar", "copper conducts heat well"]
    sentences = ["the pump runs", "copper conducts"]
    scorer = SharedWords()
    segments = match_references(sentences, units, scorer)

    found = disagreements(segments, [[1], [1]], sentences=sentences, units=units, scorer=scorer)

    assert [(each.sentence, each.cited, each.matched) for each in found] == [(0, (1,), 0)]


def test_calibration_keeps_the_order_and_the_bounds():
    pairs = [("a b c d", "a"), ("a b c d", "a b c"), ("a b c d", "a b c d")]

    scores = Calibrated(SharedWords()).score(pairs)

    assert (np.diff(scores) > 0).all()
    assert ((scores >= 0) & (scores <= 1)).all()
