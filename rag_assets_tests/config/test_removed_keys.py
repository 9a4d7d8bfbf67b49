"""Keys that are gone are refused in a file, and change nothing of what was recorded with them."""

import json

import pytest

from rag_assets.answering.reporting.decomposition import MOST_PARTS
from rag_assets.answering.reporting.gathering import MOST_UNITS, NEAR
from rag_assets.answering.reporting.writing import ReadingList
from rag_assets.config import (
    ConfigError,
    IndexSettings,
    ReportSettings,
    Retrieval,
    Retriever,
    TextIndexSettings,
    VectorIndexSettings,
    load,
)
from rag_assets.identity import fingerprint
from rag_assets.retrieval.following import BACK, MOST_NAMING, SEEDS
from rag_assets.retrieval.retrievers import FOUND_FIRST
from rag_assets.store.search_indexes import (
    COMMON_TEXT,
    settings_named,
    text_index_name,
    vector_index_name,
)
from rag_assets.store.serving_pointer import QuerySide

BY_RANKS = {"mode": "reciprocal_rank", "weights": {}, "k": None, "first_rank": 1}
RECORDED = {
    "signals": ["dense", "bm25"],
    "depth": None,
    "signal_fusion": BY_RANKS,
    "domain_fusion": {
        **BY_RANKS,
        "mode": "weighted",
        "order": "signals_first",
        "depth": None,
        "reranker": "late_interaction",
        "alpha": 0.1,
        "top_j": 20,
        "statistic": "mean",
        "top_m": 3,
    },
    "query_fusion": {
        "rewriter": "rules",
        "path": None,
        "queries": 2,
        "fuse": "after_reranking",
        "anchor": "q1",
        "fusion": BY_RANKS,
    },
    "candidates": 40,
    "reranker": "own_model",
    "rerank_fusion": BY_RANKS,
    "collapse": None,
    "expand": None,
    "links": {"weight": 0.5, "back": 0.8, "seeds": 20, "most": 50, "in_text": ["name"]},
    "arms": ["lookup"],
}
"""A retriever as the release before the keys went recorded it, with the keys at their defaults."""
OWN_MODEL = {"backend": "late_interaction"}
OF_THEN = "34fb6c2dbeee45bebc4f14b082beb802d8515afa62e16d969e0051ed3d2bf49f"
"""Its fingerprint then."""
PLAIN_OF_THEN = "5a2a04270730a0c57d1533b3b1b228378d6154b1f4f5407b20bc2c2106d67bf4"
"""That of a retriever of which nothing is given."""


def test_a_recorded_retriever_is_read_and_keeps_its_fingerprint():
    read = Retriever.from_record(json.loads(json.dumps(RECORDED)))

    assert read.model_dump(mode="json") == RECORDED
    assert fingerprint(read.model_dump(mode="json")) == OF_THEN
    assert fingerprint(Retriever().model_dump(mode="json")) == PLAIN_OF_THEN
    assert "first_rank" not in json.dumps(read.model_dump(exclude_defaults=True))


INDEXES = {
    "ann_from_rows": None,
    "maintain_from_share": 0.1,
    "text": {
        "tokenizer": "simple",
        "language": "English",
        "stem": False,
        "stop_words": "english_and_swedish",
        "ascii_folding": True,
        "lower_case": True,
        "longest_word": 40,
        "shortest_ngram": 3,
        "longest_ngram": 3,
    },
    "vectors": {"type": "ivf_flat", "partitions": None, "sub_vectors": None, "bits": None},
}
"""The section `index`, likewise."""
INDEXES_OF_THEN = "4a3c1d80b6239b522f25f36d48482b8c55a5f9fe46e449fd5cb04a0909b4033f"


def test_indexes_keep_their_fingerprint_and_their_names():
    read = IndexSettings.from_record(json.loads(json.dumps(INDEXES)))
    other = TextIndexSettings(stem=True, tokenizer="icu", stop_words="english_and_swedish")

    assert read == IndexSettings(text=COMMON_TEXT)
    assert fingerprint(read.model_dump(mode="json")) == INDEXES_OF_THEN
    assert settings_named(text_index_name(read.text)) == "text_unstemmed_8b59070d"
    assert settings_named(text_index_name(other)) == "text_a3a026f9"
    assert vector_index_name(read.vectors) == "vector_ivf_flat"
    assert vector_index_name(VectorIndexSettings(type="ivf_pq")) == "vector_ivf_pq_9d3e4cad"


REPORT_OF_THEN = "7c1a13300adeddf315df5d46d63fa0b59947cc8ee5088880bb253ae3cbf12e6a"


def test_settings_of_reports_keep_their_fingerprint():
    assert fingerprint(ReportSettings().model_dump()) == REPORT_OF_THEN


def test_what_the_keys_said_by_default_is_what_the_code_does():
    assert (BACK, SEEDS, MOST_NAMING) == (0.8, 20, 50)
    assert (MOST_PARTS, MOST_UNITS, NEAR, ReadingList.most) == (5, 20, 0.98, 6)
    assert FOUND_FIRST.model_dump() == {**BY_RANKS, "weights": {"lookup": 2.0}}


def test_what_a_pointer_recorded_still_answers():
    side = QuerySide("own", RECORDED, {"own_model": OWN_MODEL}, depth=100, rrf_k=60)

    retrieval = side.within(Retrieval())

    assert retrieval.retrievers["own"] == Retriever.from_record(RECORDED)
    assert QuerySide.of(retrieval).settings == RECORDED


def test_a_record_that_used_a_key_which_is_gone_is_refused():
    other = {**RECORDED, "signal_fusion": {**BY_RANKS, "first_rank": 0}}

    with pytest.raises(
        ConfigError, match=r"recorded Retriever .*: `first_rank` was 0, and is gone: ranks"
    ):
        Retriever.from_record(other)


OF_A_RETRIEVER = {
    "signal_fusion: {first_rank: 1}": "delete the line `first_rank`: ranks count from 1",
    "domain_fusion: {statistic: max}": "delete the line `statistic`: the mean",
    "domain_fusion: {order: signals_first}": "delete the line `order`: the signals of each domain",
    "domain_fusion: {top_m: 3}": "delete the line `top_m`: the mean",
    "query_fusion: {queries: 3}": "delete the line `queries`: a query is searched with one",
    "query_fusion: {fuse: before_reranking}": "delete the line `fuse`: lists are fused after",
    "query_fusion: {fusion: {}}": "delete the line `fusion`: the lists are fused by",
    "arm_fusion: {}": "delete the line `arm_fusion`: arms join by reciprocal ranks",
    "links: {back: 0.8}": "delete the line `back`",
    "links: {seeds: 20}": "delete the line `seeds`",
    "links: {most: 50}": "delete the line `most`",
}
SENTENCES = {
    f"retrieval: {{retrievers: {{own: {{{given}}}}}}}": said
    for given, said in OF_A_RETRIEVER.items()
} | {
    "index: {text: {ascii_folding: false}}": "delete the line `ascii_folding`: accents",
    "index: {text: {lower_case: true}}": "delete the line `lower_case`",
    "index: {text: {longest_word: 40}}": "delete the line `longest_word`",
    "index: {text: {shortest_ngram: 2}}": "delete the line `shortest_ngram`",
    "index: {text: {longest_ngram: 4}}": "delete the line `longest_ngram`",
    "index: {text: {tokenizer: ngram}}": "index.text.tokenizer = 'ngram'",
    "index: {vectors: {sub_vectors: 8}}": "delete the line `sub_vectors`",
    "index: {vectors: {bits: 8}}": "delete the line `bits`",
    "answering: {report: {sub_questions: 5}}": "delete the line `sub_questions`: a prompt",
    "answering: {report: {units: 20}}": "delete the line `units`",
    "answering: {report: {near: null}}": "delete the line `near`",
    "answering: {report: {sentences: 8}}": "delete the line `sentences`: a section",
    "evaluation: {margin: 0.02}": "what the gate accepts is `gate.margin`",
    "clean_up: {keep_runs_days: 9}": "delete the line `keep_runs_days`: `keep_records_days` says",
    "clean_up: {keep_calls_days: 9}": "delete the line `keep_calls_days`: `keep_records_days` says",
    "clean_up: {keep_history_days: 9}": "`keep_history_days`: `keep_records_days` says",
}


@pytest.mark.parametrize("given", SENTENCES)
def test_a_file_that_names_a_key_which_is_gone_is_told_what_to_do(tmp_path, given):
    path = tmp_path / "rag_assets.yaml"
    path.write_text(f"{given}\n")

    with pytest.raises(ConfigError) as error:
        load(path)

    assert str(path) in str(error.value)
    assert SENTENCES[given] in str(error.value)
