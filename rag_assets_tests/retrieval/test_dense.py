import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lancedb.index import IvfFlat

from rag_assets.config import AnnSearch, Config
from rag_assets.retrieval import dense
from rag_assets.retrieval.units import UnitTable
from rag_assets.store import Store, ann
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, random_vectors, write

UNITS = 400
TWINS = range(50, 70)
"""Units with the very same vector."""


def table_of(path, vectors):
    config = Config(state_dir=path)
    state = Store(path)
    ids = [f"u{place:04d}" for place in range(len(vectors))]
    units = [chunk(f"text {name}", unit_id=name, source=f"s{name[-1]}") for name in ids]
    # written out of the order of their ids, so that ties do not come right by chance
    order = np.random.default_rng(1).permutation(len(vectors))
    write(state, config, [units[place] for place in order], vectors[order])
    return state.open(config.tables_of(VARIANT).joint)


@pytest.fixture(scope="module")
def unit_vectors():
    vectors = random_vectors(UNITS)
    vectors[TWINS] = vectors[TWINS[0]]
    return vectors


@pytest.fixture(scope="module")
def table(tmp_path_factory, unit_vectors):
    return table_of(tmp_path_factory.mktemp("state"), unit_vectors)


@pytest.fixture(scope="module")
def vectors(table):
    return dense.load(table)


def ids(ranking):
    return list(ranking.unit_ids)


def test_exact_search_orders_by_cosine_then_id(vectors, unit_vectors):
    query = random_vectors(1, seed=3)

    (ranking,) = vectors.nearest(query, depth=UNITS)

    cosines = unit_vectors.astype(float) @ query[0].astype(float)
    expected = sorted(range(UNITS), key=lambda place: (-cosines[place], place))
    assert ids(ranking) == [f"u{place:04d}" for place in expected]
    assert ranking.scores == pytest.approx(sorted(cosines, reverse=True))


def test_a_unit_is_nearest_to_its_own_vector_with_cosine_1(vectors, unit_vectors):
    (ranking,) = vectors.nearest(unit_vectors[7:8], depth=1)

    assert ids(ranking) == ["u0007"]
    assert ranking.scores[0] == pytest.approx(1, abs=1e-6)
    assert ranking.scores[0] <= 1


@pytest.mark.parametrize("depth", [1, 5, len(TWINS)])
def test_equal_vectors_are_cut_off_by_id_however_the_table_is_searched(
    table, vectors, unit_vectors, depth
):
    query = unit_vectors[TWINS[0]]

    expected = [f"u{place:04d}" for place in TWINS][:depth]
    assert ids(next(vectors.nearest(query[None], depth=depth))) == expected
    assert ids(dense.nearest_in_table(table, query, search=AnnSearch(), depth=depth)) == expected


@given(
    seeds=st.lists(st.integers(0, 10_000), min_size=1, max_size=40),
    depth=st.integers(1, UNITS + 5),
    blocks=st.sampled_from([1, 3, 1_000]),
    pairs=st.sampled_from([1, 7, 10_000]),
)
def test_searching_together_equals_searching_one_by_one_to_the_last_bit(
    vectors, seeds, depth, blocks, pairs
):
    queries = np.vstack([random_vectors(1, seed=seed) for seed in seeds])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "PRODUCT_BYTES", blocks * UNITS * 4)
        patch.setattr(dense, "PAIRS_AT_ONCE", pairs)
        together = list(vectors.nearest(queries, depth=depth))

    assert together == [next(vectors.nearest(query[None], depth=depth)) for query in queries]


@given(seed=st.integers(0, 10_000), depth=st.integers(1, 20), every=st.sampled_from([None, 1, 3]))
def test_a_shallow_search_finds_the_head_of_a_deep_one(vectors, seed, depth, every):
    query = random_vectors(1, seed=seed)
    chosen = None if every is None else np.arange(UNITS)[::every]

    (deep,) = vectors.nearest(query, depth=UNITS, chosen=chosen)
    (shallow,) = vectors.nearest(query, depth=depth, chosen=chosen)

    assert shallow == deep.head(depth)


def test_the_table_itself_gives_the_same_ranking(table, vectors):
    for query in random_vectors(5, seed=9):
        here = next(vectors.nearest(query[None], depth=30))
        there = dense.nearest_in_table(table, query, search=AnnSearch(), depth=30)

        assert ids(here) == ids(there)
        assert here.scores == pytest.approx(there.scores, abs=1e-6)


def test_only_chosen_units_are_returned_and_they_fill_the_depth(vectors):
    chosen = np.arange(UNITS)[::40]

    (ranking,) = vectors.nearest(random_vectors(1, seed=4), depth=50, chosen=chosen)

    assert set(ids(ranking)) == set(vectors.unit_ids.to_pylist()[::40])


def test_where_nothing_is_allowed_nothing_is_found(vectors):
    nothing = np.arange(0)

    found = vectors.nearest(random_vectors(2), depth=5, chosen=nothing)
    assert [ids(ranking) for ranking in found] == [[], []]


def test_a_table_too_large_for_memory_is_searched_where_it_lies(table, monkeypatch):
    monkeypatch.setattr(ann, "EXACT_BYTES", UNITS * 16 * 4)
    assert UnitTable(table).vectors is not None

    monkeypatch.setattr(ann, "EXACT_BYTES", UNITS * 16 * 4 - 1)
    assert UnitTable(table).vectors is None


def test_the_config_says_from_how_many_units_on_it_is_searched_where_it_lies(table):
    assert UnitTable(table, ann_from_rows=UNITS).vectors is None
    assert UnitTable(table, ann_from_rows=UNITS + 1).vectors is not None


def test_an_ann_index_is_used_filled_up_under_a_filter_and_sees_later_units(tmp_path):
    held = random_vectors(4_000, seed=5)
    table = table_of(tmp_path, held)
    exact = dense.load(table)
    table.create_index("vector", config=IvfFlat(distance_type="cosine", num_partitions=60))

    queries = held[:20] + 0.1 * random_vectors(20, seed=6)
    found = [
        dense.nearest_in_table(table, query, search=AnnSearch(), depth=20) for query in queries
    ]
    shared = [
        len(set(ids(ranking)) & set(ids(truth)))
        for ranking, truth in zip(found, exact.nearest(queries, depth=20), strict=True)
    ]
    assert sum(shared) >= 0.98 * 20 * len(queries)

    narrow = dense.nearest_in_table(
        table, queries[0], search=AnnSearch(), depth=400, where="source = 's3'"
    )
    assert len(narrow) == 400
    assert all(name.endswith("3") for name in ids(narrow))

    table.add(table.to_lance().to_table(limit=1).set_column(0, "unit_id", [["later"]]))
    copied = table.search().where("unit_id = 'later'").to_list()[0]["vector"]
    query = np.asarray(copied, np.float32)
    assert "later" in ids(dense.nearest_in_table(table, query, search=AnnSearch(), depth=2))
