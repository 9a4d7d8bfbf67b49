"""Fitting on a small index with a real model: parts and their weights, in documents and rows."""

import json
import random

import pytest

from rag_assets import lineage
from rag_assets.answering.drafting import Drafter
from rag_assets.answering.lookup.catalogue import catalogue_of
from rag_assets.answering.refusal import fitting
from rag_assets.answering.refusal.cases import UNANSWERABLE, samples_of, tells
from rag_assets.answering.refusal.deciding import RefusalRule
from rag_assets.answering.refusal.features import features_of
from rag_assets.answering.refusal.fitting import (
    FEWEST_QUESTIONS,
    chosen,
    fit,
    questions_with_gold,
    weights_of,
)
from rag_assets.config import (
    Config,
    DocumentSource,
    Evaluation,
    QuestionSet,
    Retrieval,
    Retriever,
    Sources,
)
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.models.embedding import load_encoder
from rag_assets.retrieval import opening
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of_recipe
from rag_assets_tests.models.tiny import PLAIN_MODELS
from rag_assets_tests.retrieval import corpus

COUNT = 40
PARTS = [str(5000 + 7 * number) for number in range(COUNT)]
"""Numbers, no codes: what is quoted without a code of the question is no answer at all."""
WEIGHTS = [f"{1000 + 13 * number} grams" for number in range(COUNT)]
KINDS = ("gear", "shaft", "bearing", "valve", "piston")


def is_row(number: int) -> bool:
    return number % 4 == 0


def units() -> list[dict]:
    """For each part what tells its weight, and for all but rows more of the same topic."""
    found = []
    for number, (part, weight) in enumerate(zip(PARTS, WEIGHTS, strict=True)):
        kind = KINDS[number % len(KINDS)]
        if is_row(number):
            text = f"Item in parts where name is {part} and kind is {kind} and weight is {weight}."
            found.append(corpus.row(text, table="parts", key=str(number)))
            continue
        uri = f"{part}.md"
        texts = (
            f"The {kind} {part} weighs {weight} when it is dry.",
            f"The {kind} {part} is made of steel and painted.",
        )
        found += [
            corpus.chunk(text, uri=uri, index=place, pages=[place + 1])
            for place, text in enumerate(texts)
        ]
    return found


def questions() -> list[dict]:
    return [
        {
            "id": part,
            "question": f"What is the weight of part {part}?",
            "gold": [f"row:parts:{number}" if is_row(number) else f"doc:{part}.md#page=1"],
            "answer": weight,
            "split": "dev",
        }
        for number, (part, weight) in enumerate(zip(PARTS, WEIGHTS, strict=True))
    ]


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Config:
    root = tmp_path_factory.mktemp("project")
    file = root / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in questions()))
    config = Config(
        models=PLAIN_MODELS,
        state_dir=root / "state",
        sources=Sources(documents=[DocumentSource(url=str(root / "docs"))]),
        retrieval=Retrieval(retriever="hybrid"),
        evaluation=Evaluation(questions=[QuestionSet(path=file)]),
    )
    store = lineage.store_of(config)
    encoder = load_encoder(config.models["minilm"], path="cpu/torch/fp32")
    rows = [unit | {"encoder_id": encoder.encoder_id} for unit in units()]
    vectors = encoder.embed_passages([unit["text"] for unit in rows]).vectors
    corpus.write(store, config, rows, vectors)
    corpus.index_text(store, config)
    corpus.left_together(store)
    refresh_questions(store, config, log=lambda _: None)
    return config


@pytest.fixture(scope="module")
def store(config) -> Store:
    return lineage.store_of(config)


@pytest.fixture(scope="module")
def index(store, config):
    return open_index(store, config, "default")


@pytest.fixture(scope="module")
def drafter(store, index) -> Drafter:
    return Drafter(store, index.complete_set, catalogue_of(store, index.complete_set), most=4)


@pytest.fixture(scope="module")
def asked(store, config, index):
    return questions_with_gold(store, config, index, split="dev")


def test_gold_is_found_at_its_own_level(asked):
    assert len(asked) == COUNT
    assert all(len(each.gold) == 1 for each in asked)
    assert all(each.is_recognized for each in asked)
    documents = [each for each in asked if each.question.domain == "document"]
    assert all(len(each.source) == 2 for each in documents)


def test_each_question_is_asked_with_and_without_an_answer(index, asked, drafter):
    samples = samples_of(index, asked[:8], drafter=drafter, retriever="bm25")

    by_kind = {kind: [each for each in samples if each.kind == kind] for kind in UNANSWERABLE}
    assert all(len(found) == 8 for found in by_kind.values())
    assert not any(each.is_right for found in by_kind.values() for each in found)
    assert sum(each.is_right for each in samples if each.kind == "answerable") >= 6
    neighbours = [each.features for each in by_kind["neighbour"]]
    assert all(features.missing for features in neighbours)


def test_what_is_left_out_holds_no_value_and_keeps_the_topic(index, asked, drafter):
    seen: list[tuple[str, list[str]]] = []
    answers = {each.question.text: each.answer for each in asked}

    class Remembering(Drafter):
        def draft(self, question, results, *, looked):
            seen.append((question, [hit.text for hit in results.hits]))
            return super().draft(question, results, looked=looked)

    remembering = Remembering(
        drafter.store, drafter.complete_set, drafter.catalogue, most=drafter.most
    )
    documents = [each for each in asked if each.question.domain == "document"][:4]
    samples = samples_of(index, documents, drafter=remembering, retriever="bm25")
    for sample, (question, texts) in zip(samples, seen, strict=True):
        part = question.split()[-1].strip("?")
        if sample.kind in ("source_gone", "value_gone"):
            assert not any(tells(text, answers[question]) for text in texts)
        if sample.kind == "value_gone":
            assert any(f"{part} is made of steel" in text for text in texts)
        if sample.kind == "source_gone":
            assert not any(part in text for text in texts)


def test_questions_without_an_answer_count_as_their_share(index, asked, drafter):
    samples = samples_of(index, asked[:4], drafter=drafter)
    weights = weights_of(samples, unanswerable=0.25)

    total = sum(weights)
    without = sum(
        weight
        for sample, weight in zip(samples, weights, strict=True)
        if sample.kind != "answerable"
    )
    assert without / total == pytest.approx(0.25)


def test_a_rule_is_fitted_kept_and_not_fitted_again(store, config, monkeypatch):
    rule = fit(store, config, "default")

    assert rule.curve is not None
    assert rule.measured is not None
    assert rule.measured.auroc > 0.8
    assert rule.promise.questions == COUNT
    complete_set = set_of_recipe(store, config, "default")
    hybrid = config.retrieval.retrievers["hybrid"]
    assert RefusalRule.read(store, complete_set, hybrid, within=config.retrieval) == rule

    monkeypatch.setattr(opening, "open_index", None)
    assert fit(store, config, "default") == rule


def test_another_retriever_or_another_depth_voids_a_rule(store, config):
    fit(store, config, "default")
    complete_set = set_of_recipe(store, config, "default")
    hybrid = config.retrieval.retrievers["hybrid"]
    others = [
        (Retriever(signals=["bm25"]), config.retrieval),
        (hybrid, config.retrieval.model_copy(update={"depth": 7})),
    ]
    assert RefusalRule.read(store, complete_set, hybrid, within=config.retrieval)
    for retriever, within in others:
        assert RefusalRule.read(store, complete_set, retriever, within=within) is None


def test_a_damaged_rule_counts_as_none(store, config):
    fit(store, config, "default")
    complete_set = set_of_recipe(store, config, "default")
    hybrid = config.retrieval.retrievers["hybrid"]
    file = fitting.file_of(store, complete_set, hybrid, within=config.retrieval)
    file.write_text(file.read_text()[:-40])

    assert RefusalRule.read(store, complete_set, hybrid, within=config.retrieval) is None
    fit(store, config, "default")
    assert RefusalRule.read(store, complete_set, hybrid, within=config.retrieval)


def test_with_too_few_questions_nothing_is_withheld(index, asked, config, drafter):
    samples = samples_of(index, asked[:5], drafter=drafter)
    rule = fitting.fit_rule(samples, asked=config.answering, made_from="")

    assert rule.curve is None
    assert rule.promise.needed is not None
    assert rule.promise.needed > FEWEST_QUESTIONS
    found = index.search("What is the weight of part P999?")
    drafted = drafter.draft(found.query, found, looked=None)
    assert rule.decide(features_of(found.query, found, drafted)).outcome == "answer"


@pytest.mark.parametrize("retriever", ["bm25", "baseline", "hybrid", "hybrid_reranked", "best"])
def test_features_are_had_from_any_retriever(index, drafter, retriever):
    results = index.search(f"What is the weight of part {PARTS[1]}?", retriever=retriever)
    drafted = drafter.draft(results.query, results, looked=None)
    features = features_of(results.query, results, drafted)

    assert features.missing == ()
    assert features.values["digits_covered_by_all"] == 1
    known = {name for name, value in features.values.items() if value is not None}
    assert ("dense_rank" in known) == (retriever != "bm25")
    assert ("words_rank" in known) == (retriever != "baseline")
    assert ("reranked" in known) == (retriever in ("hybrid_reranked", "best"))
    assert all(value is None or value == value for value in features.values.values())


def test_of_many_questions_the_same_ones_are_taken(asked, monkeypatch):
    monkeypatch.setattr(fitting, "MOST_QUESTIONS", 10)
    mixed = list(asked)
    random.Random(0).shuffle(mixed)

    assert len(chosen(asked)) == 10
    assert chosen(mixed) == chosen(asked)
