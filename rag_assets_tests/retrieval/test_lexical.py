import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.config import Config
from rag_assets.retrieval import lexical
from rag_assets.retrieval.filters import encodable
from rag_assets.retrieval.units import UnitTable
from rag_assets.store import Store
from rag_assets_tests.retrieval.corpus import (
    VARIANT,
    chunk,
    index_text,
    random_vectors,
    row,
    write,
)

TEXTS = {
    "a": "Hot rolled steel plates are tested at room temperature.",
    "b": "Nickel alloys resist corrosion; steel does not.",
    "c": "The running fox is not a material.",
    "d": "AlSi10Mg (EN AC-43000): yield strength 240 MPa",
}
SAME = [f"same{number:02d}" for number in range(40)]


def text_table(path, *, indexed=True):
    config = Config(state_dir=path)
    store = Store(path)
    units = [chunk(text, unit_id=name) for name, text in TEXTS.items()]
    units += [
        row("gasket gasket", table="parts", key=name, unit_id=name) for name in reversed(SAME)
    ]
    write(store, config, units, random_vectors(len(units)))
    if indexed:
        index_text(store, config)
    return store, config, store.open(config.tables_of(VARIANT).joint)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return UnitTable(text_table(tmp_path_factory.mktemp("state"))[2])


def ids(ranking):
    return list(ranking.unit_ids)


def test_units_that_share_a_rarer_or_a_further_word_come_first(table):
    assert ids(lexical.best_matches(table, "steel plate", depth=5)) == ["a", "b"]
    assert ids(lexical.best_matches(table, "nickel steel", depth=5)) == ["b", "a"]


def test_words_match_whatever_their_case_or_inflection(table):
    assert ids(lexical.best_matches(table, "RUN foxes", depth=5)) == ["c"]


@pytest.mark.parametrize(
    "query",
    [
        "+steel -nickel",
        '"steel',
        "steel:(nickel",
        "steel AND nickel",
        "text:steel nickel*",
        "steel~2 nickel^",
    ],
)
def test_no_character_of_a_query_is_an_operator(table, query):
    assert sorted(ids(lexical.best_matches(table, query, depth=5))) == ["a", "b"]


@pytest.mark.parametrize("query", ["the", "?!", '"', "()", "\x00"])
def test_a_query_without_a_word_to_look_up_matches_nothing(table, query):
    assert ids(lexical.best_matches(table, query, depth=5)) == []


@given(query=st.text(), source=st.text(min_size=1))
@example(query='" OR 1=1 --', source="' OR '1'='1")
@example(query="\ud800", source="x")
@example(query="steel " * 2_000, source="x")
def test_no_query_and_no_filter_value_is_ever_an_error(table, query, source):
    where = f"source = '{encodable(source).replace(chr(39), chr(39) * 2)}'"

    lexical.best_matches(table, encodable(query), depth=5)
    assert ids(lexical.best_matches(table, encodable(query), depth=5, where=where)) == []


@pytest.mark.parametrize("depth", [1, 7, 39, 40, 60])
def test_equal_scores_are_cut_off_by_id(table, depth):
    assert ids(lexical.best_matches(table, "gasket", depth=depth)) == SAME[:depth]


def test_a_filter_is_applied_before_the_search(table):
    found = lexical.best_matches(table, "steel gasket", depth=2, where="domain = 'document'")

    assert sorted(ids(found)) == ["a", "b"]


def test_units_added_after_the_index_was_built_are_found_and_deleted_ones_are_not(tmp_path):
    store, config, _ = text_table(tmp_path)
    late = [chunk("titanium bolts", unit_id="late"), chunk("steel steel steel", unit_id="later")]
    write(store, config, late, random_vectors(2))
    name = config.tables_of(VARIANT).joint
    store.delete(name, column="unit_id", keys=["a"])
    table = store.open(name)

    assert table.index_stats("text_idx").num_unindexed_rows == 2
    units = UnitTable(table)
    assert ids(lexical.best_matches(units, "titanium", depth=5)) == ["late"]
    assert sorted(ids(lexical.best_matches(units, "STEELS", depth=5))) == ["b", "later"]


def test_a_table_without_a_full_text_index_is_refused(tmp_path):
    _, _, table = text_table(tmp_path, indexed=False)

    with pytest.raises(lexical.MissingTextIndexError, match="rag-assets refresh"):
        lexical.require_text_index(table)
