import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from threading import Event

import dagster as dg
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rag_assets import lineage, schemas
from rag_assets.config import (
    Config,
    DocumentSource,
    Evaluation,
    GlossarySettings,
    QueryFusion,
    QuestionSet,
    RerankerSettings,
    Retrieval,
    Retriever,
    Sources,
)
from rag_assets.evaluation import assets
from rag_assets.evaluation.evaluate import evaluate_file, evaluate_variant
from rag_assets.evaluation.evaluation_wording import differences_table, report_markdown
from rag_assets.evaluation.latency import WARM_UP, latencies
from rag_assets.evaluation.questions import (
    parse,
    questions_of,
    questions_table,
    read_questions,
    refresh_questions,
)
from rag_assets.evaluation.results import EvaluationResult, rankings_in
from rag_assets.graph import STEPS
from rag_assets.laboratory.experiments.arms import ArmRunner
from rag_assets.laboratory.experiments.design import ExperimentArm
from rag_assets.media.json_lines import QuestionsError
from rag_assets.models.embedding import load_encoder
from rag_assets.resources import resources_of
from rag_assets.retrieval import opening
from rag_assets.store import MissingTableError, Store
from rag_assets.table_lookup.arm import arms_of
from rag_assets_testing.scripted_language_model import ScriptedServer, answers, status
from rag_assets_tests.models.model_server import serving
from rag_assets_tests.models.tiny import PLAIN_MODELS, PLAIN_VARIANTS
from rag_assets_tests.retrieval import corpus

RETRIEVERS = ("hybrid", "baseline", "bm25")

UNITS = [
    corpus.chunk(
        "The yield strength of the structural steel S355 is 355 MPa.",
        uri="steel.pdf",
        pages=[1],
    ),
    corpus.chunk(
        "Welding of S355 needs preheating from a thickness of 30 mm.",
        uri="steel.pdf",
        pages=[1, 2],
        index=1,
        char_start=60,
        char_end=119,
    ),
    corpus.chunk("Graphite is a solid lubricant for high temperatures.", uri="oil.md", pages=[]),
    corpus.chunk("Cats sleep for most of the day.", uri="cats.md", pages=[]),
    corpus.row(
        "Item in alloys where name is titanium and density is 4.5.", table="alloys", key="1"
    ),
    corpus.row(
        "Item in alloys where name is magnesium and density is 1.7.", table="alloys", key="2"
    ),
]

QUESTIONS = [
    {
        "id": "strength",
        "question": "What is the yield strength of S355?",
        "gold": ["doc:steel#page=1"],
        "evidence": [{"doc_id": "steel", "page": 1, "text": "is 355\nMPa"}],
        "split": "dev",
    },
    {"id": "lubricant", "question": "Which solid lubricant is there?", "gold": ["doc:oil"]},
    {"id": "titanium", "question": "density of titanium", "gold": ["row:alloys:1"]},
    {"id": "lost", "question": "How do dogs sleep?", "gold": ["doc:dogs"], "split": "dev"},
]


def write_lines(path: Path, lines: list[dict]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """A project whose joint table holds `UNITS`, embedded by the default model."""
    root = tmp_path_factory.mktemp("project")
    questions = write_lines(root / "questions.jsonl", QUESTIONS)
    documents = write_lines(
        root / "documents.jsonl",
        [
            {"doc_id": "steel", "path": "docs/steel.pdf"},
            {"doc_id": "oil", "path": "docs/oil.md"},
            {"doc_id": "dogs", "path": "docs/dogs.md"},
        ],
    )
    config = Config(
        models=PLAIN_MODELS,
        variants=PLAIN_VARIANTS,
        state_dir=root / "state",
        sources=Sources(documents=[DocumentSource(url=str(root / "docs"))]),
        retrieval={"retriever": "hybrid"},
        evaluation=Evaluation(
            questions=[QuestionSet(path=questions, documents=documents)],
            retrievers=["baseline", "bm25", "hybrid"],
            bootstrap_samples=200,
        ),
    )
    build(config)
    return config


def build(config: Config) -> Store:
    store = lineage.open_for_writing(config, STEPS)
    encoder = load_encoder(config.models["minilm"], path="cpu/torch/fp32")
    vectors = encoder.embed_passages([unit["text"] for unit in UNITS]).vectors
    units = [unit | {"encoder_id": encoder.encoder_id} for unit in UNITS]
    corpus.write(store, config, units, vectors)
    corpus.index_text(store, config)
    corpus.left_together(store)
    refresh_questions(store, config, log=lambda _: None)
    return store


@pytest.fixture(scope="module")
def store(config: Config) -> Store:
    return lineage.open_for_writing(config, STEPS)


def evaluated(store: Store, config: Config) -> EvaluationResult:
    arms = arms_of(store, config)
    result = evaluate_variant(store, config, variant="default", arms=arms, log=lambda _: None)
    assert result is not None
    return result


@pytest.fixture(scope="module")
def result(store: Store, config: Config) -> EvaluationResult:
    return evaluated(store, config)


def value(result: EvaluationResult, metric: str, **wanted) -> float:
    row = result.value(metric, **({"retriever": "hybrid", "cutoff": 10} | wanted))
    assert row is not None
    return float(row["value"])


def test_means_are_over_all_questions_lost_gold_included(result: EvaluationResult) -> None:
    assert value(result, "hit_rate", domain="document") == pytest.approx(2 / 3)
    assert value(result, "hit_rate", domain="table") == 1
    assert value(result, "hit_rate", domain="combined") == pytest.approx(3 / 4)
    assert value(result, "mrr", domain="table", cutoff=1) == 1
    assert value(result, "hit_rate", domain="document", split="test") == 1
    assert value(result, "hit_rate", domain="document", split="dev") == 0.5


def test_each_level_counts_its_own_items_and_questions(result: EvaluationResult) -> None:
    by_level = {
        level: result.value(
            "recall", retriever="baseline", domain="document", cutoff=10, level=level
        )
        for level in ("gold", "document", "page", "quote")
    }
    assert {level: row["questions"] for level, row in by_level.items() if row} == {
        "gold": 3,
        "document": 3,
        "page": 1,
        "quote": 1,
    }
    assert by_level["quote"] is not None
    assert by_level["quote"]["value"] == 1


def test_every_retriever_has_every_metric_with_its_interval(result: EvaluationResult) -> None:
    rows = result.summary_rows(level="gold", domain="combined", split="all")
    assert len(rows) == len(RETRIEVERS) * (9 * 5 + 1)
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in rows)


def test_the_retriever_that_serves_is_compared_with_every_other(result: EvaluationResult) -> None:
    assert result.record.main_retriever == "hybrid"
    differences = result.difference_rows(level="gold", domain="combined", split="all")
    assert {(row["retriever"], row["reference"]) for row in differences} == {
        ("baseline", "hybrid"),
        ("bm25", "hybrid"),
    }


def test_a_difference_is_that_of_the_means(result: EvaluationResult) -> None:
    for row in result.difference_rows(level="gold", split="all", domain="combined"):
        wanted = {"domain": "combined", "cutoff": row["cutoff"]}
        means = [
            value(result, row["metric"], retriever=name, **wanted)
            for name in (row["retriever"], row["reference"])
        ]
        assert row["value"] == pytest.approx(means[0] - means[1])


def test_every_difference_of_a_mean_over_questions_is_tested(result: EvaluationResult) -> None:
    rows = result.difference_rows(level="gold", domain="combined", split="all")
    assert {row["metric"] for row in rows if row["p"] is None} == {"f1_of_means"}
    assert {row["metric"] for row in rows if row["p_mcnemar"] is not None} == {"hit_rate"}
    tested = [row for row in rows if row["p"] is not None]
    assert all(row["smallest_p"] <= row["p"] <= row["p_adjusted"] <= 1 for row in tested)
    assert {row["detectable"] is None for row in tested if row["value"] == 0} == {True}


def test_f1_of_means_is_that_of_mean_precision_and_recall(result: EvaluationResult) -> None:
    precision, recall, f1 = (
        value(result, name, domain="combined", cutoff=5)
        for name in ("precision", "recall", "f1_of_means")
    )
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_all_retrievers_are_tested_at_once(result: EvaluationResult) -> None:
    rows = result.overall_rows(domain="combined")
    assert [row["metric"] for row in rows] == ["hit_rate", "mrr", "ndcg"]
    assert all(row["retrievers"] == 3 and 0 < row["p"] <= 1 for row in rows)


def test_each_two_retrievers_are_held_beside_each_other(result: EvaluationResult) -> None:
    pairs = {(row["first"], row["second"]) for row in result.agreement_rows(domain="combined")}
    assert pairs == {("hybrid", "baseline"), ("hybrid", "bm25"), ("baseline", "bm25")}
    (row,) = result.agreement_rows(domain="combined", first="hybrid", second="baseline")
    assert row["overlap"] == row["union"] == len(UNITS)
    assert row["jaccard"] == 1
    assert row["items"] == 5


def test_gold_that_is_not_indexed_is_listed_with_its_reason(result: EvaluationResult) -> None:
    assert [(row["id"], row["gold"].partition(":")[0]) for row in result.missing()] == [
        ("questions/lost", "docs/dogs.md")
    ]


def manifest_of(store: Store, uri: str, *, reason: str | None = None) -> None:
    """Add a document to the manifest that has no text in the index."""
    row = {
        "document_id": uri,
        "source": "documents",
        "uri": uri,
        "size": 1,
        "modified": 0,
        "status": "encrypted",
        "reason": reason,
        "fingerprint": "",
        "row_fingerprint": "",
    }
    files = schemas.DOCUMENT_FILES.empty_table().from_pylist([row], schemas.DOCUMENT_FILES)
    store.append(schemas.DOCUMENT_FILES_TABLE, files, schema=schemas.DOCUMENT_FILES)


def test_the_reason_is_that_of_the_quarantine_or_the_manifest(
    config: Config, tmp_path: Path
) -> None:
    elsewhere = config.model_copy(update={"state_dir": tmp_path})
    store = build(elsewhere)
    manifest_of(store, "dogs.md", reason="dogs.md is encrypted: remove its password")
    (missing,) = evaluated(store, elsewhere).missing()
    assert missing["gold"] == "docs/dogs.md: dogs.md is encrypted: remove its password"


def test_a_document_that_came_without_text_is_told_of_though_the_index_is_the_same(
    config: Config, tmp_path: Path
) -> None:
    elsewhere = config.model_copy(update={"state_dir": tmp_path})
    store = build(elsewhere)
    (missing,) = evaluated(store, elsewhere).missing()
    assert "no such document" in missing["gold"]

    manifest_of(store, "dogs.md", reason="dogs.md is encrypted: remove its password")
    (missing,) = evaluated(store, elsewhere).missing()
    assert missing["gold"] == "docs/dogs.md: dogs.md is encrypted: remove its password"
    assert not evaluated(store, elsewhere).is_new


def test_gold_that_a_new_file_makes_ambiguous_is_scored_anew(
    config: Config, tmp_path: Path
) -> None:
    elsewhere = config.model_copy(update={"state_dir": tmp_path / "state"})
    store = build(elsewhere)
    units = [corpus.chunk("Nickel bears heat.", uri="metals/nickel.md", pages=[])]
    encoder = load_encoder(config.models["minilm"], path="cpu/torch/fp32")
    vectors = encoder.embed_passages([unit["text"] for unit in units]).vectors
    named = [unit | {"encoder_id": encoder.encoder_id} for unit in units]
    corpus.write(store, elsewhere, named, vectors)
    corpus.left_together(store)
    line = {"id": "nickel", "question": "What bears heat?", "gold": ["doc:nickel.md"]}
    path = write_lines(tmp_path / "nickel.jsonl", [line])

    def hits() -> tuple[float, float]:
        """As an evaluation and as an experiment count them."""
        result = evaluate_file(
            store,
            elsewhere,
            path=path,
            variant="default",
            retrievers=["baseline"],
            arms={},
            log=lambda _: None,
        )
        asked = questions_table(list(parse(QuestionSet(path=path)).rows.values()))
        runner = ArmRunner(store, elsewhere, questions_of(asked), log=lambda _: None)
        found = runner.run(
            ExperimentArm(name="dense", variant="default", retriever=Retriever(), factors={})
        )
        arm = found.scores.filter(pc.field("level") == "gold")["hit_rate@10"][0].as_py()
        return value(result, "hit_rate", retriever="baseline", domain="document"), arm

    assert hits() == (1, 1)
    manifest_of(store, "drafts/nickel.md")
    assert hits() == (0, 0)


def test_per_question_rows_and_rankings_are_kept_as_parquet(result: EvaluationResult) -> None:
    rows = pq.read_table(result.folder / "questions.parquet")
    assert rows.num_rows == len(RETRIEVERS) * (4 + 3 + 1 + 1)
    strength = rows.to_pylist()[0]
    assert strength["question_id"] == "questions/lost"
    assert strength["first_rank"] is None
    rankings = pq.read_table(result.folder / "rankings.parquet")
    assert set(rankings["retriever"].to_pylist()) == set(RETRIEVERS)
    assert set(rankings["question_id"].to_pylist()) <= {f"questions/{q['id']}" for q in QUESTIONS}


def test_nothing_is_redone_until_index_questions_or_settings_move(
    store: Store, config: Config, result: EvaluationResult
) -> None:
    again = evaluated(store, config)
    assert not again.is_new
    assert again.data_version == result.data_version
    assert again.scores.summary.equals(result.scores.summary)
    assert again.record == result.record

    settings = config.evaluation.model_copy(update={"cutoffs": [2]})
    other = evaluated(store, config.model_copy(update={"evaluation": settings}))
    assert other.is_new
    assert other.data_version != result.data_version
    assert evaluated(store, config).is_new


def test_an_evaluation_that_waited_is_of_what_there_was_when_it_began(
    config: Config, tmp_path: Path
) -> None:
    path = tmp_path / "questions.jsonl"
    sets = config.evaluation.model_copy(update={"questions": [QuestionSet(path=path)]})
    elsewhere = config.model_copy(update={"state_dir": tmp_path, "evaluation": sets})
    write_lines(path, QUESTIONS)
    store = build(elsewhere)
    waits = Event()

    def evaluate() -> EvaluationResult | None:
        return evaluate_variant(
            store, elsewhere, variant="default", arms={}, log=lambda _: waits.set()
        )

    def ask(lines: list[dict]) -> None:
        write_lines(path, lines)
        refresh_questions(store, elsewhere, log=lambda _: None)

    with ThreadPoolExecutor(1) as pool:
        with store.lock("evaluation__default", log=lambda _: None):
            waiting = pool.submit(evaluate)
            assert waits.wait(60)
            ask(QUESTIONS[:2])
        waited = waiting.result()
    assert waited is not None
    assert waited.record.questions == 2

    ask(QUESTIONS)
    assert evaluated(store, elsewhere).record.questions == len(QUESTIONS)


def test_what_a_config_names_twice_is_measured_once_and_what_serves_in_any_case(
    store: Store, config: Config
) -> None:
    twice = {"cutoffs": [5, 1, 5], "retrievers": ["bm25", "baseline", "bm25"]}
    settings = config.evaluation.model_copy(update=twice)
    result = evaluated(store, config.model_copy(update={"evaluation": settings}))

    assert result.record.cutoffs == [1, 5]
    assert result.record.retrievers == ["hybrid", "bm25", "baseline"]
    wanted = {"level": "gold", "domain": "combined", "split": "all"}
    rows = result.summary_rows(metric="mrr", cutoff=5, **wanted)
    assert [row["retriever"] for row in rows] == ["hybrid", "bm25", "baseline"]


def test_an_index_that_was_rewritten_is_searched_anew_though_it_holds_the_same(
    config: Config, tmp_path: Path
) -> None:
    elsewhere = config.model_copy(update={"state_dir": tmp_path})
    store = build(elsewhere)
    names = elsewhere.tables_of("default")
    before = evaluated(store, elsewhere)

    for name in (names.joint, names.documents, names.rows):
        held = store.read(name)
        store.open(name).delete("true")
        store.append(name, held, schema=held.schema)
    after = evaluated(store, elsewhere)

    assert (
        after.record.settings["index data version"] == before.record.settings["index data version"]
    )
    kept = pq.read_table(after.folder / "rankings.parquet")
    questions = [question.text for question in read_questions(store)]
    index = opening.open_index(store, elsewhere, "default")
    for retriever in RETRIEVERS:
        now = index.search_many(questions, retriever=retriever, top_k=100)
        scores = kept.filter(pc.field("retriever") == retriever)["score"].to_pylist()
        assert scores == now["score"].to_pylist(), retriever


def test_an_edited_file_of_rewrites_is_searched_anew(
    store: Store, config: Config, tmp_path: Path
) -> None:
    def rewritten(text: str) -> EvaluationResult:
        lines = [{"query": q["question"], "rewrites": [text]} for q in QUESTIONS]
        path = write_lines(tmp_path / "rewrites.jsonl", lines)
        fusion = QueryFusion(rewriter="file", path=path)
        retrieval = Retrieval(
            retrievers={"rewritten": Retriever(signals=["bm25"], query_fusion=fusion)}
        )
        return evaluate_file(
            store,
            config.model_copy(update={"retrieval": retrieval}),
            path=config.evaluation.questions[0].path,
            variant="default",
            retrievers=["rewritten"],
            arms={},
            log=lambda _: None,
        )

    assert rewritten("steel").is_new
    assert not rewritten("steel").is_new
    assert rewritten("oil").is_new


def test_a_retriever_that_cannot_search_stops_no_other_and_is_measured_once_it_can(
    store: Store, config: Config, tmp_path: Path
) -> None:
    path = tmp_path / "rewrites.jsonl"
    fusion = QueryFusion(rewriter="file", path=path)
    lame = Retriever(signals=["bm25"], query_fusion=fusion)
    retrieval = Retrieval(retriever="bm25", retrievers={"lame": lame})

    def measured() -> EvaluationResult:
        return evaluate_file(
            store,
            config.model_copy(update={"retrieval": retrieval}),
            path=config.evaluation.questions[0].path,
            variant="default",
            retrievers=["lame", "bm25"],
            arms={},
            log=lambda _: None,
        )

    first = measured()
    assert list(first.record.retrievers) == ["bm25"]
    assert str(path) in first.record.unmeasured["lame"]
    assert not measured().is_new
    write_lines(path, [{"query": q["question"], "rewrites": ["steel"]} for q in QUESTIONS])
    assert measured().record.unmeasured == {}


def rewritten_by(server: ScriptedServer, **settings: str) -> dict[str, object]:
    """Parts of a config in which a language model rewrites the queries of one retriever."""
    entry = {"base_url": server.url, "model": server.model, "attempts": 1}
    models = Config.model_validate({"language_models": {"writer": entry}}).language_models
    fusion = QueryFusion.model_validate({"rewriter": "model", **settings})
    by_model = Retriever(signals=["bm25"], query_fusion=fusion)
    return {
        "language_models": models,
        "retrieval": Retrieval(retriever="bm25", retrievers={"rewritten": by_model}),
        "evaluation": Evaluation(retrievers=["rewritten"], bootstrap_samples=200),
    }


def test_a_second_evaluation_asks_no_language_model_and_another_strategy_is_measured_anew(
    config: Config, tmp_path: Path
) -> None:
    store = build(config.model_copy(update={"state_dir": tmp_path}))
    own = config.model_copy(update={"state_dir": tmp_path})
    with ScriptedServer(answers('{"rewrites": ["solid oil"]}')) as server:
        mine = own.model_copy(update=rewritten_by(server))
        first = evaluated(store, mine)
        assert (first.is_new, server.calls) == (True, len(QUESTIONS))
        assert first.spending["writer"]["language model calls"] == len(QUESTIONS)
        said = str(first.record.settings["rewriting of rewritten"])
        assert said.startswith("writer (scripted), prompt rewrite_conservative v1 ")

        assert not evaluated(store, mine).is_new
        shutil.rmtree(first.folder)
        again = evaluated(store, mine)
        assert again.is_new
        assert server.calls == len(QUESTIONS)
        assert again.scores.questions.equals(first.scores.questions)

        other = own.model_copy(update=rewritten_by(server, strategy="diverse"))
        assert evaluated(store, other).is_new
        assert server.calls == 2 * len(QUESTIONS)


def test_nothing_is_measured_with_a_language_model_that_is_away_until_it_answers(
    config: Config, tmp_path: Path
) -> None:
    store = build(config.model_copy(update={"state_dir": tmp_path}))
    own = config.model_copy(update={"state_dir": tmp_path})
    with ScriptedServer(status(503)) as server:
        mine = own.model_copy(update=rewritten_by(server))
        first = evaluated(store, mine)
        assert first.record.retrievers == ["bm25"]
        assert "writer gave no rewrites (unavailable: " in first.record.unmeasured["rewritten"]
        assert not evaluated(store, mine).is_new

        server.script = answers('{"rewrites": ["solid oil"]}')
        assert evaluated(store, mine).record.retrievers == ["bm25", "rewritten"]


def test_the_time_of_a_language_model_counts_though_its_answer_is_kept(
    config: Config, tmp_path: Path
) -> None:
    store = build(config.model_copy(update={"state_dir": tmp_path}))
    with ScriptedServer(answers('{"rewrites": ["solid oil"]}').after(0.2)) as server:
        own = config.model_copy(update={"state_dir": tmp_path, **rewritten_by(server)})
        latency = evaluated(store, own).record.latency["rewritten"]

        assert server.calls == len(QUESTIONS)
    assert latency.stages["rewrite"] > 200
    assert latency.p50 > 200


def test_an_edited_glossary_is_measured_anew_where_it_is_used(
    store: Store, config: Config, tmp_path: Path
) -> None:
    file = tmp_path / "terms.csv"
    plain = {"plain": Retriever(signals=["bm25"], glossary=False)}

    def measured(synonym: str, retriever: str) -> tuple[bool, str]:
        file.write_text(f"term,synonyms\nsteel,{synonym}\n")
        own = config.model_copy(
            update={
                "glossary": GlossarySettings(files=[file]),
                "retrieval": Retrieval(retriever=retriever, retrievers=plain),
                "evaluation": config.evaluation.model_copy(update={"retrievers": [retriever]}),
            }
        )
        chosen = own.retrieval.retrievers[retriever]
        arm = ExperimentArm(name=retriever, variant="default", retriever=chosen, factors={})
        runner = ArmRunner(store, own, read_questions(store), log=lambda _: None)
        return evaluated(store, own).is_new, runner.key_of(arm)

    first, again, edited = (measured(word, "bm25") for word in ("oil", "oil", "iron"))
    assert (first[0], again[0], edited[0]) == (True, False, True)
    assert first[1] == again[1] != edited[1]
    without, edited = (measured(word, "plain") for word in ("oil", "iron"))
    assert (without[0], edited[0]) == (True, False)
    assert without[1] == edited[1]


@pytest.mark.parametrize("cutoff", [10, 60])
def test_what_is_evaluated_is_searched_as_it_is_served(
    config: Config, tmp_path: Path, cutoff: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arms that an evaluation searched deeper than a search does would be fused otherwise.

    A batch of questions is embedded together, which moves a vector by the rounding of its numbers.
    """
    monkeypatch.setattr(opening, "load_reranker", lambda *_, **__: LongerIsBetter())
    searching = [name for name in config.retrieval.retrievers if name != "bge_m3"]
    settings = config.evaluation.model_copy(update={"cutoffs": [cutoff], "retrievers": searching})
    retrieval = config.retrieval.model_copy(update={"depth": 3, "top_k": 2})
    own = config.model_copy(
        update={"state_dir": tmp_path, "evaluation": settings, "retrieval": retrieval}
    )
    store = build(own)
    kept = pq.read_table(evaluated(store, own).folder / "rankings.parquet")
    index = opening.open_index(store, own, "default").without_cache()
    for name in searching:
        for question in read_questions(store):
            ranked = kept.filter(
                (pc.field("retriever") == name) & (pc.field("question_id") == question.question_id)
            )
            hits = index.search(question.text, retriever=name)
            units, scores = (ranked[column].to_pylist() for column in ("unit_id", "score"))
            assert len(units) >= len(hits) > 0
            assert units[: len(hits)] == [hit.unit_id for hit in hits], name
            assert scores[: len(hits)] == pytest.approx([hit.score for hit in hits], abs=1e-6)


def test_a_question_takes_as_long_whatever_was_asked_before(
    store: Store, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that the clock sees is remembered: each arm embeds and searches by itself."""
    evaluated(store, config)
    embedded: list[str] = []
    index = opening.open_index(store, config, "default")
    embed = type(index.encoder).embed

    def counted(self, tokenized, /):
        embedded.extend(window.text for window in tokenized.windows)
        return embed(self, tokenized)

    monkeypatch.setattr(type(index.encoder), "embed", counted)
    asked = ["What is the yield strength of S355?"]
    arms = {name: config.retrieval.retrievers[name] for name in RETRIEVERS}
    for order in (arms, dict(reversed(arms.items()))):
        embedded.clear()
        found = latencies(index, asked, order, top_k=5)
        assert len(embedded) == 2 * (WARM_UP + 1)
        assert {name for name, one in found.items() if "embed" in one.stages} == {
            "baseline",
            "hybrid",
        }
        assert all(one.p50 > 0 and one.questions == 1 for one in found.values())


def test_retrievers_take_turns_in_an_order_that_no_list_of_them_decides(
    store: Store, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes after a slow one is slower: that falls on all of them alike."""
    evaluated(store, config)
    index = opening.open_index(store, config, "default")
    asked: list[Retriever] = []
    find = type(index).search

    def noted(self, question, /, *, retriever, **options):
        asked.append(retriever)
        return find(self, question, retriever=retriever, **options)

    monkeypatch.setattr(type(index), "search", noted)
    arms = {name: config.retrieval.retrievers[name] for name in RETRIEVERS}
    turns = []
    for order in (arms, dict(reversed(arms.items()))):
        asked.clear()
        latencies(index, [f"What is steel {n}?" for n in range(6)], order, top_k=5)
        turns.append(asked[WARM_UP * len(arms) :])
    assert turns[0] == turns[1]
    firsts = turns[0][:: len(arms)]
    assert any(first != firsts[0] for first in firsts)


class LongerIsBetter:
    """A fake reranker: the longer a text, the more relevant."""

    reranker_id = "length"

    def score(self, pairs, /):
        return np.array([1 - 1 / (1 + len(text)) for _, text in pairs])


def test_a_reranker_whose_weights_were_replaced_is_asked_anew(
    store: Store, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "load_reranker", lambda *_, **__: LongerIsBetter())
    (tmp_path / "config.json").write_text('{"hidden_size": 8, "max_position_embeddings": 64}')
    retrieval = Retrieval(
        retrievers={"own": Retriever(signals=["bm25"], reranker="mine")},
        rerankers={"mine": RerankerSettings(path=str(tmp_path))},
    )
    own = config.model_copy(
        update={
            "retrieval": retrieval,
            "evaluation": config.evaluation.model_copy(update={"retrievers": ["own"]}),
        }
    )
    arm = ExperimentArm(
        name="own", variant="default", retriever=retrieval.retrievers["own"], factors={}
    )

    def seen(weights: str) -> tuple[bool, str]:
        (tmp_path / "model.safetensors").write_text(weights)
        runner = ArmRunner(store, own, read_questions(store), log=lambda _: None)
        return evaluated(store, own).is_new, runner.key_of(arm)

    first, again, replaced = seen("old"), seen("old"), seen("trained")
    assert (first[0], again[0], replaced[0]) == (True, False, True)
    assert first[1] == again[1] != replaced[1]


def test_a_reranker_that_was_replaced_behind_its_server_is_asked_anew(
    store: Store, config: Config
) -> None:
    with serving() as server:
        endpoint = {"url": server.url, "attempts": 1}
        retrieval = Retrieval.model_validate(
            {
                "retriever": "own",
                "retrievers": {"own": {"signals": ["bm25"], "reranker": "hosted"}},
                "rerankers": {
                    "hosted": {"backend": "rerank_api", "path": "a", "endpoint": endpoint}
                },
            }
        )
        own = config.model_copy(
            update={
                "retrieval": retrieval,
                "evaluation": config.evaluation.model_copy(update={"retrievers": ["own"]}),
            }
        )
        arm = ExperimentArm(
            name="own", variant="default", retriever=retrieval.retrievers["own"], factors={}
        )

        def seen() -> tuple[bool, str]:
            runner = ArmRunner(store, own, read_questions(store), log=lambda _: None)
            return evaluated(store, own).is_new, runner.key_of(arm)

        first, again = seen(), seen()
        server.scale = 0.5
        replaced = seen()
        rankings = rankings_in(evaluated(store, own).folder)
        server.always = 500
        away = seen()

    assert (first[0], again[0], replaced[0], away[0]) == (True, False, True, False)
    assert first[1] == again[1] != replaced[1] == away[1]
    assert rankings is not None
    assert max(rankings["score"].to_pylist()) <= 0.5, (
        "the scores are those of the model that runs now"
    )


def test_a_report_that_was_cut_off_is_made_again(store: Store, config: Config) -> None:
    evaluated(store, config).report.unlink()
    result = evaluated(store, config)
    assert result.is_new
    assert result.report.is_file()


def test_a_second_evaluation_imports_nothing_heavy(store: Store, config: Config) -> None:
    from rag_assets.change.data_versions import current_version
    from rag_assets.store import PassRecord

    names = config.tables_of("default")
    for name in (names.joint, names.documents, names.rows):
        count, version = store.count(name), current_version(store, name, key="unit_id")
        finished = PassRecord("", version, inputs=count, rows=count, failed=0, bits=0)
        store.complete(name, replace(finished, files=store.files(name)))
    evaluated(store, config)
    program = f"""
import sys
from pathlib import Path
from rag_assets.config import Config
from rag_assets.evaluation.evaluate import evaluate_variant
from rag_assets.store import PassRecord, Store
from rag_assets.table_lookup.arm import arms_of
config = Config.from_record({config.model_dump(mode="json")!r})
store = Store(config.state_dir)
arms = arms_of(store, config)
result = evaluate_variant(store, config, variant="default", arms=arms, log=print)
assert result is not None and not result.is_new
print(*{{"torch", "transformers", "sentence_transformers", "lancedb"}} & sys.modules.keys())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_a_file_is_evaluated_with_the_documents_beside_it(
    store: Store, config: Config, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "mine.jsonl", [*QUESTIONS[:2], {"id": "bad"}])
    write_lines(tmp_path / "documents.jsonl", [{"doc_id": "steel", "path": "steel.pdf"}])
    result = evaluate_file(
        store,
        config,
        path=path,
        variant="default",
        retrievers=["bm25"],
        arms={},
        log=lambda _: None,
    )
    assert value(result, "hit_rate", retriever="bm25", domain="document") == 0.5
    assert [failure.label for failure in result.failures] == ["mine.jsonl line 3"]
    assert result.report.parent.name == "mine"


def test_a_file_without_a_question_is_an_error(
    store: Store, config: Config, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "mine.jsonl", [{"id": "bad"}])
    with pytest.raises(QuestionsError, match="line 1"):
        evaluate_file(
            store,
            config,
            path=path,
            variant="default",
            retrievers=["bm25"],
            arms={},
            log=lambda _: None,
        )


def test_a_variant_without_an_index_is_an_error(config: Config, tmp_path: Path) -> None:
    elsewhere = config.model_copy(update={"state_dir": tmp_path})
    store = lineage.open_for_writing(elsewhere, STEPS)
    refresh_questions(store, elsewhere, log=lambda _: None)
    with pytest.raises(MissingTableError, match="rag-assets refresh"):
        evaluated(store, elsewhere)


class Reader(HTMLParser):
    """Collects what a report shows and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(link) for name, link in attributes if name in ("src", "href")]


def test_the_report_is_one_file_with_plots_and_without_script(result: EvaluationResult) -> None:
    text = result.report.read_text("utf-8")
    reader = Reader()
    reader.feed(text)
    assert reader.tags.count("svg") == 4
    assert reader.links == []
    assert "script" not in reader.tags
    assert "How do dogs sleep?" in text
    assert "docs/dogs.md" in text


def test_a_question_with_markup_is_shown_as_text(result: EvaluationResult) -> None:
    from rag_assets.evaluation.evaluation_report import render

    questions = result.scores.questions
    column = questions.schema.get_field_index("question")
    marked = questions.set_column(column, "question", [["<script>x</script>"] * len(questions)])
    scores = replace(result.scores, questions=marked)
    text = render(replace(result, scores=scores))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_words_follow_from_the_numbers(result: EvaluationResult) -> None:
    markdown = report_markdown(result)
    assert "not separable at n = 4" in markdown
    assert "fewer than 20 documents or tables, intervals and tests are clustered by" in markdown
    assert "Gold of 1 questions is not in the index (1 pieces)" in markdown
    assert "| combined | 4 | hybrid | 0.750 [" in markdown
    assert "No retriever that was evaluated (baseline, bm25) is better than hybrid" in markdown


def test_effect_and_interval_stand_before_any_p(result: EvaluationResult) -> None:
    columns = list(differences_table(result)[0])
    assert columns.index("difference") < columns.index("p adjusted") < columns.index("p")
    assert columns.index("detectable") < columns.index("smallest p")
    text = result.report.read_text("utf-8")
    assert text.index("<th>difference</th>") < text.index("<th>p adjusted</th>")
    assert "4 by gold" in text
    assert "All 3 retrievers at once on all questions, hit_rate@10" in text


def materialize(config: Config) -> dg.ExecuteInProcessResult:
    graph = assets.definitions(config, STEPS, arms=arms_of)
    chosen = [asset for asset in graph.assets or [] if isinstance(asset, dg.AssetsDefinition)]
    return dg.materialize(
        chosen,
        partition_key="default",
        instance=dg.DagsterInstance.ephemeral(),
        resources=resources_of(config),
    )


def metadata_of(result: dg.ExecuteInProcessResult, key: str) -> dict[str, object]:
    (found,) = result.asset_materializations_for_node(key)
    return {name: value.value for name, value in found.metadata.items()}


def test_the_assets_show_numbers_plots_and_worst_questions(config: Config) -> None:
    run = materialize(config)
    assert run.success
    assert metadata_of(run, "question_sets")["dagster/row_count"] == 4
    shown = metadata_of(run, "retrieval_evaluation")
    assert next(iter(shown)) == "hit_rate@10", "what people look for comes first"
    assert "dagster/column_schema" not in shown, "sixty columns would stand above it"
    assert shown["hybrid/combined/hit_rate@10"] == 0.75
    assert shown["baseline/table/mrr@10"] == 1.0
    assert str(shown["plot 1"]).startswith("![plot](data:image/svg+xml;base64,")
    assert Path(str(shown["report"])).is_file()
    assert shown["gold not in the index"] == 1
    assert "worst questions" in shown
    assert sum(len(str(value)) for value in shown.values()) < 100_000


def test_without_questions_the_evaluation_says_how_to_get_some(tmp_path: Path) -> None:
    run = materialize(Config(state_dir=tmp_path))
    assert run.success
    assert "evaluation.questions" in str(metadata_of(run, "retrieval_evaluation")["note"])
