import uuid

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.quality import Profile, Profiler, Tally, lengths_of
from rag_assets.quality.drift import cosine_distance, distances
from rag_assets.quality.languages import languages_of

ENGLISH = "The plate was loaded in bending until the crack had grown through half of it."
SWEDISH = "Provningen visar att ytan ska kontrolleras efter varje steg och att det inte är klart."
GERMAN = "Die Prüfung ist mit der Norm und nicht mit dem Auftrag zu vergleichen."


def batch(**columns) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_exceptions_are_counted_over_batches_with_the_first_few_as_examples():
    tally = Tally("odd")
    for start in (0, 5, 10):
        numbers = batch(number=pa.array(range(start, start + 5)))
        tally.count("odd", pc.equal(pc.bit_wise_and(numbers["number"], 1), 1), shown=numbers)

    measures = tally.measures(Profile(15))

    assert measures.totals == {"odd": 7}
    assert measures.examples["odd"] == [{"number": n} for n in (1, 3, 5, 7, 9)]


def test_ids_that_occur_twice_are_found_across_batches():
    tally = Tally()
    for keys in (["a", "b"], ["c", "a"], ["a", "c"]):
        tally.keys(pa.array(keys))

    measures = tally.measures(Profile(6))

    assert measures.totals["duplicate_ids"] == 3
    assert measures.examples["duplicate_ids"] == [{"id": "a", "times": 3}, {"id": "c", "times": 2}]


@given(st.lists(st.lists(st.floats(0, 1e6), max_size=8), max_size=6))
def test_the_largest_value_is_the_largest_of_all_batches(parts):
    tally = Tally("most")
    for part in parts:
        tally.largest("most", np.array(part), shown=batch(place=pa.array(range(len(part)))))

    everything = sorted((value for part in parts for value in part), reverse=True)
    assert tally.totals["most"] == (everything[0] if everything else 0)
    shown = [example["most"] for example in tally.examples.get("most", [])]
    assert shown == everything[:5]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_a_profile_does_not_depend_on_the_batches(sizes):
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(sum(sizes), 8)).astype(np.float32)
    texts = [ENGLISH if n % 3 else SWEDISH for n in range(sum(sizes))]
    cells = [None if n % 4 else n for n in range(sum(sizes))]

    def profile(bounds) -> Profile:
        profiler = Profiler(expected_rows=sum(sizes))
        for start, end in bounds:
            part = batch(text=texts[start:end], page=pa.array(cells[start:end], pa.int32()))
            profiler.rows(part, nullable=["page"])
            lengths = lengths_of(part["text"])
            profiler.texts(part["text"], keys=part["text"], lengths=lengths)
            profiler.vectors(vectors[start:end])
        return profiler.profile()

    ends = np.cumsum(sizes).tolist()
    whole, parts = profile([(0, sum(sizes))]), profile(zip([0, *ends], ends, strict=False))

    assert (whole.rows, whole.null_shares, whole.mean_length, whole.languages) == (
        parts.rows,
        parts.null_shares,
        parts.mean_length,
        parts.languages,
    )
    assert whole.mean_norm == pytest.approx(np.linalg.norm(vectors, axis=1).mean(), rel=1e-5)
    assert parts.centroid == pytest.approx(vectors.mean(axis=0), rel=1e-3, abs=1e-5)


def test_a_vector_with_nan_counts_as_length_0_and_leaves_the_centroid_alone():
    profiler = Profiler(expected_rows=2)
    norms = profiler.vectors(np.array([[3, 4], [np.nan, 1]], np.float32))

    assert norms.tolist() == [5, 0]
    assert np.isfinite(profiler.profile().centroid).all()


def test_texts_are_sampled_by_their_keys_so_that_the_mix_is_known_cheaply():
    keys = pa.array([str(uuid.UUID(int=n * 2**108 + n, version=5)) for n in range(2**16)])
    texts = pa.array([SWEDISH if n % 4 == 0 else ENGLISH for n in range(2**16)])

    def mix(order) -> dict:
        profiler = Profiler(expected_rows=2**16)
        profiler.texts(texts.take(order), keys=keys.take(order), lengths=lengths_of(texts))
        return dict(profiler.profile().languages)

    forwards = pa.array(range(2**16))
    assert mix(forwards) == mix(pa.array(range(2**16 - 1, -1, -1)))
    assert mix(forwards)["sv"] == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        (SWEDISH, "sv"),
        (GERMAN, "de"),
        ("316L 240 MPa 0.5", "other"),
        ("", "other"),
        ("The", "other"),
        (ENGLISH.upper(), "en"),
    ],
)
def test_the_language_of_a_text_is_told_by_its_stop_words(text, language):
    assert languages_of(pa.array([text])) == {language: 1}


vectors = st.lists(st.floats(-1e3, 1e3, width=32), min_size=3, max_size=3)


@given(vectors, vectors, st.floats(0.01, 100))
def test_the_cosine_distance_ignores_lengths_and_is_symmetric(first, second, factor):
    distance = cosine_distance(first, second)
    assert 0 <= distance <= 2 + 1e-9
    assert distance == pytest.approx(cosine_distance(second, first), abs=1e-9)
    if np.linalg.norm(first) > 1e-3 and np.linalg.norm(second) > 1e-3:
        scaled = [value * factor for value in first]
        assert cosine_distance(scaled, second) == pytest.approx(distance, abs=1e-6)
        assert cosine_distance(first, first) == pytest.approx(0, abs=1e-9)


def test_distances_are_those_between_two_profiles():
    before = Profile(
        100, {"page": 0.1, "old": 0.5}, 50.0, {"en": 0.8, "sv": 0.2}, mean_norm=1.0, centroid=[1, 0]
    )
    now = Profile(
        150, {"page": 0.4, "new": 1.0}, 40.0, {"en": 0.5, "de": 0.5}, mean_norm=0.9, centroid=[0, 1]
    )

    found = distances(now, before=before)

    assert found.totals == pytest.approx(
        {
            "row_count_change": 0.5,
            "null_share_change": 0.3,
            "mean_length_change": 0.2,
            "language_change": 0.5,
            "mean_norm_change": 0.1,
            "centroid_distance": 1.0,
        }
    )
    assert found.examples["null_share_change"] == [{"of": "page", "before": 0.1, "now": 0.4}]
    assert found.examples["language_change"][0] == {"of": "de", "before": 0.0, "now": 0.5}


def test_a_change_of_one_tenth_is_one_tenth_and_not_a_little_more():
    before = Profile(1_000, {"page": 0.3}, 50.0, {"en": 0.7, "sv": 0.3}, mean_norm=1.0)
    now = Profile(1_000, {"page": 0.4}, 50.0, {"en": 0.6, "sv": 0.4}, mean_norm=1.1)

    totals = distances(now, before=before).totals

    for total in ("null_share_change", "language_change", "mean_norm_change"):
        assert totals[total] <= 0.1, total


def test_an_equal_profile_is_at_distance_0():
    profile = Profile(100, {"page": 0.1}, 50.0, {"en": 1.0}, 1.0, [0.6, 0.8])

    assert set(distances(profile, before=profile).totals.values()) == {0.0}
