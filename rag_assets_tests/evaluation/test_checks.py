import json
from dataclasses import asdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rag_assets import quality
from rag_assets.config import Config
from rag_assets.evaluation import checks, flaws, results
from rag_assets.evaluation.results import EvaluationRecord
from rag_assets.schemas import RANKING_COLUMNS
from rag_assets.store import Store
from rag_assets_tests.quality.judging import failures, judged

RETRIEVERS = ("bm25", "hybrid")
QUESTIONS = [f"q{n}" for n in range(20)]


def lines() -> list[dict]:
    """Three units for each question and retriever."""
    return [
        dict.fromkeys(RANKING_COLUMNS)
        | {"retriever": retriever, "question_id": question}
        | {"rank": rank, "unit_id": f"u{rank}", "score": 1 / rank}
        for retriever in RETRIEVERS
        for question in QUESTIONS
        for rank in (1, 2, 3)
    ]


@pytest.fixture
def config(tmp_path):
    return Config(state_dir=tmp_path)


def judge(config, rankings, *, made_from="1", missing=(), flaws=()):
    store = Store(config.state_dir)
    folder = results.folder_of(store, "default")
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rankings), folder / "rankings.parquet")
    questions = [
        {"retriever": retriever, "question_id": question, "question": f"what is {question}?"}
        | {"level": "gold", "missing": [f"doc:{question}"] if question in missing else []}
        for retriever in RETRIEVERS
        for question in QUESTIONS
    ]
    pq.write_table(pa.Table.from_pylist(questions), folder / "questions.parquet")
    record = EvaluationRecord(
        made_from, "default", "now", 20, RETRIEVERS, [10], "hybrid", {}, {}, 0.02, flaws=flaws
    )
    (folder / results.RECORD_FILE).write_text(json.dumps(asdict(record)))
    return judged(checks.subjects(config), store, asset="retrieval_evaluation")


def test_sound_rankings_hold(config):
    result = judge(config, lines())

    assert failures(result) == {}
    assert result.rows == 120


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"rank": 7}, "ranks_consecutive"),
        ({"unit_id": "u1"}, "ids_unique"),
        ({"score": 3.0}, "scores_ordered"),
        ({"score": float("nan")}, "scores_ordered"),
    ],
)
def test_a_broken_ranking_blocks_and_its_line_is_shown(config, change, check):
    rankings = lines()
    rankings[5] |= change

    result = judge(config, rankings)

    assert result.blocks
    assert failures(result).keys() == {check}
    example = failures(result)[check].examples[0]
    assert (example["retriever"], example["question_id"]) == ("bm25", "q1")


def test_questions_without_an_answer_warn(config):
    answered = [row for row in lines() if row["retriever"] == "bm25" or row["question_id"] > "q15"]
    result = judge(config, answered)

    assert "few_questions_unanswered" in failures(result)
    outcome = failures(result)["few_questions_unanswered"]
    assert outcome.observed == pytest.approx(8 / 20)
    assert outcome.examples[0] == {"retriever": "hybrid", "question": "what is q0?"}
    assert not result.blocks


def test_a_retriever_that_ranks_nothing_at_all_answered_no_question(config):
    result = judge(config, [row for row in lines() if row["retriever"] == "bm25"])

    assert failures(result)["few_questions_unanswered"].observed == 1.0


def test_gold_that_the_index_lacks_warns(config):
    assert failures(judge(config, lines(), missing=["q3", "q4"])) == {}

    result = judge(config, lines(), made_from="2", missing=["q3", "q4", "q5"])

    outcome = failures(result)["few_gold_missing"]
    assert outcome.observed == pytest.approx(0.15)
    assert outcome.examples[0] == {"question": "what is q3?", "gold": "doc:q3"}


def test_an_evaluation_that_did_not_move_is_not_read_again(config):
    first = judge(config, lines())

    assert judge(config, lines()[:3]) == first
    assert failures(judge(config, lines()[:3], made_from="2")) != {}


def test_without_questions_there_is_nothing_to_hold(config):
    (subject,) = checks.subjects(config)
    result = quality.result_of(
        subject, store=Store(config.state_dir), log=print, partition="default"
    )

    assert failures(result) == {}
    assert result.rows == 0


def test_a_user_may_expect_something_of_the_columns(config):
    declared = {"expect": "ExpectColumnValuesToBeInSet", "column": "unit_id"}
    declared |= {"arguments": {"value_set": ["u1", "u2"]}}
    config = Config(state_dir=config.state_dir, checks={"rankings": {"expectations": [declared]}})

    outcome = failures(judge(config, lines()))["column_values_to_be_in_set_unit_id"]

    assert outcome.unexpected == 40
    assert outcome.examples[0]["unit_id"] == "u3"


def test_a_flaw_is_told_as_a_sentence_with_its_remedy(config):
    flaw = flaws.found("question_in_index", "3 of 20 questions stand in the index")

    result = judge(config, lines(), flaws=[flaw])

    said = "\n".join(result.explain(next(iter(result.failed))))
    assert (
        f"E003 question_in_index: 3 of 20 questions stand in the index: {flaw.rule.remedy}" in said
    )
