"""Searches for current versions, for all, and for those of a day."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.versions import DocumentOfFamily, IndexedFamilies
from rag_assets_tests.retrieval.corpus import ENCODER_ID, VARIANT, random_vectors
from rag_assets_tests.retrieval.versioned import VERSIONS, built, family_rows, write_families

RETRIEVERS = ("baseline", "bm25", "hybrid", "hybrid_late_fusion")
OTHERS = [f"other{number}.md" for number in range(4)]


class StandInEncoder:
    """Embeds all queries alike: no ranking is judged here."""

    encoder_id = model_id = ENCODER_ID
    dimension = 16

    def embed_queries(self, queries):
        return np.repeat(random_vectors(1, seed=7), len(queries), axis=0)

    embed_passages = embed_queries


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    store, config = built(tmp_path_factory.mktemp("state"), [*VERSIONS, *OTHERS])
    write_families(store, config, family_rows())
    return open_index(store, config, VARIANT, encoder=StandInEncoder())


def found(index, retriever="hybrid", *, top_k=10, **filters):
    results = index.search("pump", retriever=retriever, top_k=top_k, filters=Filters(**filters))
    return {hit.uri for hit in results}


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_search_returns_current_versions_unless_told_otherwise(index, retriever):
    assert found(index, retriever) == {"v3.md", *OTHERS}
    assert found(index, retriever, versions="all") == {*VERSIONS, *OTHERS}


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_superseded_version_takes_nobodys_place(index, retriever):
    for top_k in range(1, 6):
        assert len(found(index, retriever, top_k=top_k)) == top_k


@pytest.mark.parametrize(
    ("day", "valid"),
    [
        (date(2014, 6, 1), set()),
        (date(2016, 6, 1), {"v1.md"}),
        (date(2017, 1, 1), {"v2.md"}),
        (date(2030, 1, 1), {"v3.md"}),
    ],
)
def test_the_versions_of_a_day(index, day, valid):
    assert found(index, as_of=day) == {*valid, *OTHERS}


def test_results_say_which_versions_were_searched(index):
    results = index.search("pump", retriever="bm25")
    assert (results.versions, results.left_out) == ("current", 2)
    every = index.search("pump", retriever="bm25", filters=Filters(versions="all"))
    assert (every.versions, every.left_out) == ("all", 0)
    assert {hit.uri for hit in every if hit.is_superseded} == {"v1.md", "v2.md"}
    day = index.search("pump", retriever="bm25", filters=Filters(as_of=date(2016, 1, 1)))
    assert day.versions == "as of 2016-01-01"


def test_filters_are_joined(index):
    assert found(index, uri="v1.md") == set()
    assert found(index, uri="v1.md", versions="all") == {"v1.md"}


def test_what_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="exclude each other"):
        Filters(versions="all", as_of=date(2020, 1, 1))


def test_a_version_stays_until_a_newer_one_is_in_the_index(tmp_path):
    store, config = built(tmp_path, ["v1.md", "v2.md"])
    write_families(store, config, family_rows())
    index = open_index(store, config, VARIANT, encoder=StandInEncoder())
    assert found(index, "bm25") == {"v2.md"}


def test_without_a_table_of_families_all_versions_are_current(tmp_path):
    store, config = built(tmp_path, [*VERSIONS])
    index = open_index(store, config, VARIANT, encoder=StandInEncoder())
    assert found(index, "bm25") == {*VERSIONS}


MEMBERS = st.lists(
    st.tuples(st.integers(0, 3), st.none() | st.dates(date(2000, 1, 1), date(2020, 1, 1))),
    min_size=1,
    max_size=6,
)


@given(drawn=MEMBERS, day=st.dates(date(1999, 1, 1), date(2021, 1, 1)))
def test_a_choice_leaves_at_most_one_version_of_a_family(drawn, day):
    newest = max(place for place, _ in drawn)
    members = [
        DocumentOfFamily(
            str(number),
            "documents",
            str(number),
            "",
            released,
            "family",
            place,
            "current" if place == newest else "superseded",
        )
        for number, (place, released) in enumerate(drawn)
    ]
    families = IndexedFamilies(members)
    for choice in ("current", day):
        left = [each.place for each in members if each.document_id not in families.left_out(choice)]
        assert len(set(left)) <= 1
        assert choice != "current" or set(left) == {newest}
