"""Choosing a retriever: small indexes in which it is known which signal finds what."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import lineage
from rag_assets.config import Config, Evaluation, QuestionSet, Retrieval, Retriever
from rag_assets.evaluation.choosing import (
    CHOSEN,
    RetrieverChoice,
    candidates,
    choose_retriever,
    folds_of,
)
from rag_assets.evaluation.evaluate import evaluate_file, parsed_file
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.evaluation.questions import Question
from rag_assets.graph import STEPS
from rag_assets.media.json_lines import QuestionsError
from rag_assets.models.embedding import load_encoder
from rag_assets.serving.evaluation_text import choice as text_of
from rag_assets.store import Store
from rag_assets_tests.evaluation.test_evaluate import write_lines
from rag_assets_tests.models.tiny import PLAIN_MODELS, PLAIN_VARIANTS
from rag_assets_tests.retrieval import corpus

TOPICS = [
    *("apples", "bridges", "candles", "dolphins", "engines", "feathers", "glaciers", "hammers"),
    *("islands", "jungles", "kettles", "lanterns", "mountains", "needles", "oceans", "pianos"),
    *("quarries", "rivers", "saddles", "tunnels", "umbrellas", "violins", "windmills", "zebras"),
]
EVEN = {topic for place, topic in enumerate(TOPICS) if place % 2 == 0}
"""The topics of the dev questions; the others are asked about in test questions."""
NO_SPLITS: Mapping[str, str] = {}
SPLITS = {topic: "dev" if topic in EVEN else "test" for topic in TOPICS}


def project(
    root: Path,
    *,
    meant: Collection[str] = (),
    named: Collection[str] = (),
    splits: Mapping[str, str] = SPLITS,
    asked: Sequence[str] = TOPICS,
    **retrieval: object,
) -> Config:
    """An index with a document on each topic.

    Dense search finds those on topics that are `meant`: other documents have vectors that say
    nothing. Words find those on topics that are `named`: the text of the others shares no word with
    a question.
    """
    lines = [
        {"id": topic, "question": f"What about {topic}?", "gold": [f"doc:{topic}.md"]}
        | ({"split": splits[topic]} if splits else {})
        for topic in asked
    ]
    questions = write_lines(root / "questions.jsonl", lines)
    nowhere = {"late_interaction": {"backend": "late_interaction", "path": str(root / "nowhere")}}
    config = Config(
        models=PLAIN_MODELS,
        variants=PLAIN_VARIANTS,
        state_dir=root / "state",
        retrieval=Retrieval.model_validate({"rerankers": nowhere} | retrieval),
        evaluation=Evaluation(questions=[QuestionSet(path=questions)], bootstrap_samples=500),
    )
    store = lineage.open_for_writing(config, STEPS)
    encoder = load_encoder(config.models["minilm"], path="cpu/torch/fp32")
    units = [
        corpus.chunk(
            f"{topic if topic in named else 'something'} {place}",
            uri=f"{topic}.md",
            encoder_id=encoder.encoder_id,
        )
        for place, topic in enumerate(TOPICS)
    ]
    vectors = encoder.embed_passages([f"All about {topic}." for topic in TOPICS]).vectors
    empty = corpus.random_vectors(len(TOPICS), dimension=vectors.shape[1])
    is_meant = np.array([topic in meant for topic in TOPICS])
    corpus.write(store, config, units, np.where(is_meant[:, None], vectors, empty))
    corpus.index_text(store, config)
    corpus.left_together(store)
    return config


def chosen(config: Config) -> RetrieverChoice:
    path = config.evaluation.questions[0].path
    return choose_retriever(
        Store.of(config),
        config,
        parsed_file(config, path).questions,
        variant="default",
        arms={},
        log=lambda _: None,
    )


def shown(choice: RetrieverChoice, retriever: str, metric: str) -> dict:
    return next(
        row for row in choice.summary if (row["retriever"], row["metric"]) == (retriever, metric)
    )


@pytest.mark.parametrize(
    ("found_by", "serving", "proposed"),
    [("meant", "bm25", "baseline"), ("named", "baseline", "bm25")],
)
def test_the_signal_that_finds_the_gold_is_proposed(tmp_path, found_by, serving, proposed):
    choice = chosen(project(tmp_path, **{found_by: TOPICS}, retriever=serving))
    assert (choice.serving, choice.best) == (serving, proposed)
    assert {row["metric"] for row in choice.better} == {"hit_rate", "mrr", "ndcg"}
    assert choice.protocol == "Chosen on 12 dev questions, shown on 12 test questions"
    text = text_of(choice)
    assert f"Proposed: {proposed}. It is better than {serving}" in text
    assert f"retrieval: {{retriever: {proposed}}}" in text


def test_what_serves_is_kept_where_nothing_is_better(tmp_path):
    choice = chosen(project(tmp_path, meant=TOPICS, named=TOPICS, retriever="hybrid"))
    assert choice.means["baseline"] == choice.means["bm25"] == choice.means["hybrid"] == 1.0
    assert (choice.best, choice.better) == ("hybrid", [])
    assert "Keep hybrid: none of the others came before it." in text_of(choice)


def test_what_did_well_only_where_it_was_chosen_is_not_proposed(tmp_path):
    choice = chosen(
        project(tmp_path, meant=EVEN, named=[*{*TOPICS} - EVEN, *EVEN][:14], retriever="bm25")
    )
    assert choice.means[choice.best] > choice.means["bm25"]
    assert choice.better == []
    text = text_of(choice)
    assert f"Keep bm25: {choice.best} came first, but it is not shown to be better" in text
    assert "retrieval:" not in text


def test_what_is_proposed_has_the_numbers_that_evaluate_gives_it(tmp_path):
    """Half of the topics are found by each signal, so that only a fusion finds all."""
    fused = ("best", "reranked", "fast", "hybrid", "hybrid_late_fusion")
    config = project(
        tmp_path,
        meant=TOPICS[:12],
        named=TOPICS[12:],
        retriever="baseline",
        retrievers=dict.fromkeys(fused, Retriever()),
    )
    choice = chosen(config)
    assert choice.best == "dense 0.2 with bm25, reciprocal_rank"
    assert choice.better
    [_, pasted] = text_of(choice).split("write into the config:")
    edited = config.model_dump() | {
        "retrieval": config.retrieval.model_dump() | yaml.safe_load(pasted)["retrieval"]
    }
    result = evaluate_file(
        Store.of(config),
        Config.from_record(edited),
        path=config.evaluation.questions[0].path,
        variant="default",
        retrievers=["baseline", CHOSEN],
        arms={},
        log=lambda _: None,
    )
    same = {"cutoff": 10, "level": "gold", "domain": "combined", "split": "test"}
    for name in ("baseline", CHOSEN):
        for metric in ("mrr", "hit_rate", "ndcg", "recall"):
            [row] = result.summary_rows(retriever=name, metric=metric, **same)
            assert shown(choice, name, metric)["value"] == row["value"]
            assert shown(choice, name, metric)["low"] == pytest.approx(row["low"])
    for row in choice.differences:
        [other] = result.difference_rows(retriever=CHOSEN, metric=row["metric"], **same)
        assert (row["value"], row["questions"]) == (other["value"], other["questions"])
        assert row["p"] == pytest.approx(other["p"])


def test_questions_without_splits_are_cross_validated(tmp_path):
    choice = chosen(project(tmp_path, meant=TOPICS, splits=NO_SPLITS, retriever="bm25"))
    assert "24 questions have no splits dev and test: cross-validated in 5 folds of 24" in (
        choice.protocol
    )
    assert choice.best == "baseline"
    assert shown(choice, CHOSEN, "mrr")["questions"] == len(TOPICS)
    assert choice.better


def test_a_retriever_that_cannot_search_is_named_and_stops_none(tmp_path):
    choice = chosen(project(tmp_path, meant=TOPICS, retriever="bm25"))
    assert {"hybrid_reranked", "weighted_fusion"} <= choice.unmeasured.keys()
    assert "Not compared: hybrid_reranked" in text_of(choice)
    assert not choice.unmeasured.keys() & choice.means.keys()


def test_the_grid_leaves_the_other_stages_of_what_serves_as_they_are():
    own = {
        "signals": ["dense", "bm25"],
        "signal_fusion": {"mode": "max_norm", "weights": {"bm25": 3}},
        "domain_fusion": {"mode": "simple"},
        "query_fusion": {"anchor": "q1"},
        "candidates": 7,
        "reranker": "late_interaction",
        "arms": ["lookup"],
    }
    asking = {"query_fusion": {"rewriter": "model"}}
    retrieval = Retrieval(retriever="own", retrievers={"own": own, "asking": asking})
    known = retrieval.retrievers
    found = candidates(Config(retrieval=retrieval), signals=["dense", "sparse", "bm25"])
    assert {*known} - {*found} == {"asking"}, "it would cost money"
    without = candidates(Config(retrieval=retrieval), signals=["dense", "bm25"])
    assert {*known} - {*without} == {"asking", "bge_m3"}
    grid = {name: one for name, one in found.items() if name not in known}
    assert len(grid) == 26
    for name, one in grid.items():
        same = ("domain_fusion", "arms", "collapse", "expand", "glossary")
        assert all(getattr(one, stage) == getattr(known["own"], stage) for stage in same)
        is_reranked = (one.reranker, one.candidates) == ("late_interaction", 7)
        assert is_reranked == (one.reranker is not None) == name.endswith(", reranked")
    fused = grid["dense 0.35 with sparse and bm25 and lookup, distribution_based"].signal_fusion
    assert fused.weights == {"dense": 0.35, "sparse": 0.325, "bm25": 0.325}


def test_a_name_says_whether_the_lookup_arm_is_in():
    serving = {"signals": ["dense", "bm25"], "arms": ["lookup"]}
    retrieval = Retrieval(retriever="own", retrievers={"own": serving})
    found = candidates(Config(retrieval=retrieval), signals=["dense", "bm25"])
    assert found["bm25"].arms == ()
    assert found["bm25 with lookup"] == Retriever(signals=["bm25"], arms=("lookup",))
    assert not any("alone" in name for name in found)
    grid = {name: one for name, one in found.items() if name not in retrieval.retrievers}
    assert all("lookup" in name for name in grid)
    without = Retrieval(retriever="hybrid_late_fusion")
    plain = candidates(Config(retrieval=without), signals=["dense", "bm25"])
    assert "bm25 alone" in plain
    assert not any("lookup" in name for name in plain)


def test_what_was_chosen_before_serves_and_something_else_is_chosen(tmp_path):
    fused = ("best", "reranked", "fast", "hybrid", "hybrid_late_fusion")
    config = project(
        tmp_path,
        meant=TOPICS[:12],
        named=TOPICS[12:],
        retriever=CHOSEN,
        retrievers=dict.fromkeys((CHOSEN, *fused), Retriever()),
    )
    choice = chosen(config)
    assert shown(choice, CHOSEN, "mrr")["questions"] == 12
    assert choice.better
    pasted = yaml.safe_load(text_of(choice).split("write into the config:")[1])["retrieval"]
    assert (pasted["retriever"], [*pasted["retrievers"]]) == ("chosen_2", ["chosen_2"])


def test_gold_that_is_not_in_the_index_is_told(tmp_path):
    config = project(tmp_path, meant=TOPICS, retriever="bm25", asked=TOPICS[:4])
    lines = [
        {"id": f"q{at}", "question": "What?", "gold": [f"doc:gone{at}.md"], "split": split}
        for at, split in enumerate(["dev", "test"] * 2)
    ]
    write_lines(config.evaluation.questions[0].path, lines)
    choice = chosen(config)
    assert choice.without_gold == 4
    assert "Gold of 4 questions is not in the index" in text_of(choice)


def test_one_question_cannot_choose_and_show(tmp_path):
    config = project(tmp_path, splits=NO_SPLITS, asked=TOPICS[:1], retriever="bm25")
    with pytest.raises(QuestionsError, match="bring questions on several documents or rows"):
        chosen(config)


@given(st.lists(st.tuples(st.sampled_from(TOPICS), st.integers(1, 4)), min_size=2, max_size=80))
def test_each_question_is_shown_once_by_others_than_those_on_its_gold(places):
    questions = [
        Question(str(at), "", "which?", "document", "en", "test", (DocumentGold(*place),))
        for at, place in enumerate(places)
    ]
    if len(set(places)) == 1:
        return
    folds, _ = folds_of(questions)
    assert sorted(np.concatenate([shown_on for _, shown_on in folds])) == [*range(len(places))]
    for chosen_by, shown_on in folds:
        assert min(chosen_by.size, shown_on.size) > 0
        assert not {places[one] for one in chosen_by} & {places[one] for one in shown_on}
