"""Keys that are gone are refused in a file, and change nothing of what was recorded with them."""

import json

import pytest

from rag_assets.config import ConfigError, Retrieval, Retriever, load
from rag_assets.identity import fingerprint
from rag_assets.retrieval.following import BACK, MOST_NAMING, SEEDS
from rag_assets.retrieval.retrievers import FOUND_FIRST

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
OF_THEN = "34fb6c2dbeee45bebc4f14b082beb802d8515afa62e16d969e0051ed3d2bf49f"
"""Its fingerprint then."""
DEFAULTS_OF_THEN = "2fd5c85e641460bc5e71d36784e8457f30ab2666ec767e9d93d0f2760bacf40c"
"""That of the section `retrieval` of a file that does not name it."""


def test_a_recorded_retriever_is_read_and_keeps_its_fingerprint():
    read = Retriever.from_record(json.loads(json.dumps(RECORDED)))

    assert read.model_dump(mode="json") == RECORDED
    assert fingerprint(read.model_dump(mode="json")) == OF_THEN
    assert fingerprint(Retrieval().model_dump(mode="json")) == DEFAULTS_OF_THEN
    assert "first_rank" not in json.dumps(read.model_dump(exclude_defaults=True))


def test_what_the_keys_said_by_default_is_what_the_code_does():
    assert (BACK, SEEDS, MOST_NAMING) == (0.8, 20, 50)
    assert FOUND_FIRST.model_dump() == {**BY_RANKS, "weights": {"lookup": 2.0}}


def test_a_record_that_used_a_key_which_is_gone_is_refused():
    other = {**RECORDED, "signal_fusion": {**BY_RANKS, "first_rank": 0}}

    with pytest.raises(ConfigError, match=r"recorded Retriever .*`first_rank`: ranks count from 1"):
        Retriever.from_record(other)


SENTENCES = {
    "signal_fusion: {first_rank: 1}": "delete the line `first_rank`: ranks count from 1",
    "domain_fusion: {statistic: max}": "delete the line `statistic`: the mean",
    "domain_fusion: {top_m: 3}": "delete the line `top_m`: the mean",
    "query_fusion: {queries: 3}": "delete the line `queries`: a query is searched with one",
    "query_fusion: {fuse: before_reranking}": "delete the line `fuse`: lists are fused after",
    "query_fusion: {fusion: {}}": "delete the line `fusion`: the lists are fused by",
    "arm_fusion: {}": "delete the line `arm_fusion`: arms join by reciprocal ranks",
    "links: {back: 0.8}": "delete the line `back`",
    "links: {seeds: 20}": "delete the line `seeds`",
    "links: {most: 50}": "delete the line `most`",
}


@pytest.mark.parametrize("given", SENTENCES)
def test_a_file_that_names_a_key_which_is_gone_is_told_what_to_do(tmp_path, given):
    path = tmp_path / "rag_assets.yaml"
    path.write_text(f"retrieval: {{retrievers: {{own: {{{given}}}}}}}\n")

    with pytest.raises(ConfigError) as error:
        load(path)

    assert SENTENCES[given] in str(error.value)
    assert f"{path}: retrieval.retrievers.own" in str(error.value)
