"""Rules of access: which units they let somebody see, and that searches find those alone."""

import re

import pytest
from pydantic import ValidationError

from rag_assets.config import Config
from rag_assets.retrieval.access import EVERYTHING, Access, AccessRules, Sight
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.units import UnitTable
from rag_assets.store import Store
from rag_assets_testing.faults.hashing import ENCODER_ID, HashEncoder
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, index_text, row, write

GROUPS = {"groups": ["hr", "ops"]}
UNITS = 60
PAPERS = ["ops/a.md", "ops/b.md", "c.md", "d.md", "e.md"]


def sources(documents, tables=None):
    return {
        **GROUPS,
        "sources": {
            "documents": {"name": "documents", "url": "papers", "groups": documents},
            "tables": {"name": "lab", "url": "lab", "groups": tables},
        },
    }


@pytest.fixture
def index(tmp_path):
    """Units of five documents and a table, of which `ops` sees two documents."""
    settings = sources({"ops/**": ["ops"], "**": ["hr"]}, {"steels": ["hr"]})
    config = Config.model_validate({**settings, "state_dir": tmp_path})
    texts = [f"steel plate {number} of {'gasket ' * (number % 4)}" for number in range(UNITS)]
    units = [
        row(text, table="steels", key=str(number), encoder_id=ENCODER_ID)
        if number % 3 == 0
        else chunk(text, uri=PAPERS[number % 5], index=number, encoder_id=ENCODER_ID)
        for number, text in enumerate(texts)
    ]
    store = Store(tmp_path)
    write(store, config, units, HashEncoder(None).embed_passages(texts).vectors)
    index_text(store, config)
    return open_index(store, config, VARIANT, encoder=HashEncoder(None)), store, config


def view_of(index, store, config, *groups):
    rules = AccessRules(store, config, index.complete_set)
    return index.seen_by(Sight(rules, frozenset(groups)), arms={})


@pytest.mark.parametrize("retriever", ["bm25", "baseline", "hybrid_late_fusion"])
def test_a_search_finds_the_best_of_what_is_seen_and_as_many_as_there_are(index, retriever):
    index, store, config = index
    view = view_of(index, store, config, "ops")
    every = index.search("steel gasket", retriever=retriever, top_k=UNITS)
    seen = [hit.unit_id for hit in every if hit.uri.startswith("ops/")]

    found = view.search("steel gasket", retriever=retriever, top_k=UNITS)
    assert {hit.unit_id for hit in found} == {*seen}
    if retriever != "hybrid_late_fusion":  # a fusion by ranks depends on what is ranked
        shallow = view.search("steel gasket", retriever=retriever, top_k=5)
        assert [hit.unit_id for hit in shallow] == seen[:5]
        assert [hit.score for hit in shallow] == [
            hit.score for hit in every if hit.unit_id in seen
        ][:5]


def test_vectors_that_are_searched_in_their_table_are_searched_on_until_enough_are_seen(index):
    index, store, config = index
    sight = Sight(AccessRules(store, config, index.complete_set), frozenset({"ops"}))
    table = store.open(config.tables_of(VARIANT).joint)
    exact, through_table = UnitTable(table), UnitTable(table, ann_from_rows=1)
    vectors = HashEncoder(None).embed_queries(["steel"])
    for where in (None, "index > 20"):
        [wanted] = exact.seen_by(sight).nearest(vectors, depth=4, where=where)
        [found] = through_table.seen_by(sight).nearest(vectors, depth=4, where=where)
        assert found.unit_ids == wanted.unit_ids
        assert len(found) == 4


def test_who_sees_nothing_finds_nothing(index):
    index, store, config = index
    view = view_of(index, store, config)
    assert not view.search("steel", retriever="hybrid_late_fusion")
    assert view.values("source") == set()
    unit = index.search("steel", retriever="bm25")[0].unit_id
    assert view.read([unit], ["text"]).num_rows == 0


def test_a_view_keeps_no_rankings_where_others_find_them(index):
    index, store, config = index
    view_of(index, store, config, "ops").search_many(["steel"], retriever="bm25")
    assert not (store.root / "cache" / "retrieval.sqlite").exists()


@pytest.mark.parametrize(
    ("uri", "groups"),
    [
        ("ops/a.md", {"ops"}),
        ("OPS/deep/a.md", {"ops"}),
        ("a.md", {"hr"}),
        ("pay/a.md", set()),
    ],
)
def test_the_first_pattern_that_fits_decides(tmp_path, index, uri, groups):
    _, store, _ = index
    rules = {"ops/**": ["ops"], "pay/**": [], "**": ["hr"]}
    config = Config.model_validate({**sources(rules), "state_dir": tmp_path})
    audience = AccessRules(store, config, open_index(store, config, VARIANT).complete_set)
    assert audience.of_place("documents", uri) == groups
    assert audience.of_place("lab", "steels") is None  # open to all
    assert audience.of_place("gone", uri) == set()  # of no source that the config has


@pytest.mark.parametrize("name", ["pay [2026]", "pay.a", "log_*", "log_?"])
def test_a_table_is_known_by_its_name_whatever_signs_stand_in_it(tmp_path, index, name):
    """Tables of a folder are called as their files: a bracket is no pattern."""
    _, store, _ = index
    config = Config.model_validate(
        {**sources(None, {name: ["hr"], "*": ["ops"]}), "state_dir": tmp_path}
    )
    audience = AccessRules(store, config, open_index(store, config, VARIANT).complete_set)
    assert audience.of_place("lab", name) == {"hr"}
    assert audience.of_place("lab", "pays2") == {"ops"}


def test_where_no_source_names_groups_everything_is_seen():
    config = Config.model_validate(sources(None))
    assert Access(frozenset()).within(config) == EVERYTHING
    ruled = Config.model_validate(sources({}))
    assert Access(frozenset({"hr", "unknown"})).within(ruled) == Access(frozenset({"hr"}))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (sources({"**": ["hrr"]}), r"documents\.groups\.\*\*.*'hrr'.*did you mean hr"),
        (sources(None, {"pay": ["it"]}), r"sources\.tables\.lab\.groups\.pay.*'it'.*hr, ops"),
        (sources({"[z-a]": []}), r"\[z-a\] is no pattern"),
        ({"groups": ["hr, ops"]}, "no comma"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused_by_its_key(settings, says):
    with pytest.raises(ValidationError, match=re.compile(says, re.DOTALL)):
        Config.model_validate(settings)


def test_other_rules_are_no_other_source():
    """What is stored is made from the source; a rule is looked up."""
    plain, ruled = (Config.model_validate(sources(rules, rules)) for rules in (None, {"*": ["hr"]}))
    assert plain.sources.model_dump_json() == ruled.sources.model_dump_json()
