"""Flaws as a real evaluation of a small index shows them; by BM25 alone, so that no model loads."""

import json
from pathlib import Path

import pytest

from rag_assets import lineage
from rag_assets.config import Config, Evaluation, QuestionSet, Retrieval
from rag_assets.evaluation.doctor import flaws_between, flaws_of
from rag_assets.evaluation.evaluate import evaluate_variant
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.evaluation.results import EvaluationResult
from rag_assets.graph import STEPS
from rag_assets.laboratory.experiments.run import run_experiment
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets_tests.models.tiny import PLAIN_MODELS, PLAIN_VARIANTS
from rag_assets_tests.retrieval import corpus

COUNT = 40
METALS = ("iron", "copper", "zinc", "nickel", "lead", "tin", "cobalt", "chromium")


def text_of(number: int) -> str:
    metal = METALS[number % len(METALS)]
    return f"Specimen s{number:03d} of {metal} was heated and bore {300 + number} MPa afterwards."


def question(number: int, **changes: object) -> dict:
    line = {
        "id": f"q{number}",
        "question": f"strength s{number:03d}",
        "gold": [f"doc:report{number}.md"],
        "split": "dev" if number % 2 else "test",
    }
    return line | changes


@pytest.fixture
def project(tmp_path: Path) -> Config:
    return Config.model_validate(
        {
            "state_dir": tmp_path / "state",
            "models": PLAIN_MODELS,
            "variants": PLAIN_VARIANTS,
            "retrieval": Retrieval(retriever="bm25"),
            "evaluation": Evaluation(retrievers=["bm25"], bootstrap_samples=100),
        }
    )


def with_questions(project: Config, lines: list[dict], folder: Path, **changes: object) -> Config:
    path = folder / "questions.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    settings = project.evaluation.model_copy(update={"questions": [QuestionSet(path=path)]})
    return project.model_copy(update={"evaluation": settings, **changes})


def build(project: Config, *extra: dict) -> Store:
    store = lineage.open_for_writing(project, STEPS)
    units = [
        corpus.chunk(text_of(number), uri=f"report{number}.md", pages=[]) for number in range(COUNT)
    ]
    units += extra
    corpus.write(store, project, units, corpus.random_vectors(len(units), dimension=384))
    corpus.index_text(store, project)
    corpus.left_together(store)
    return store


def evaluated(store: Store, project: Config) -> EvaluationResult:
    refresh_questions(store, project, log=lambda _: None)
    result = evaluate_variant(store, project, variant="default", arms={}, log=lambda _: None)
    assert result is not None
    return result


def codes(store: Store, project: Config) -> set[str]:
    return {flaw.code for flaw in flaws_of(store, project, evaluated(store, project))}


def test_of_easy_questions_only_the_ceiling_is_named(project, tmp_path):
    asked = with_questions(project, [question(number) for number in range(COUNT)], tmp_path)
    assert codes(build(project), asked) == {"E005"}


def test_each_flaw_of_the_questions_is_named_and_kept_with_the_evaluation(project, tmp_path):
    lines = [question(number) for number in range(COUNT)]
    lines[:5] = [question(number, question=f"强度 {number} 号") for number in range(5)]
    lines[5:10] = [question(number, gold=["doc:lost.md"]) for number in range(5, 10)]
    lines += [question(number, id=f"again{number}") for number in range(10, 16)]
    copied = "strength of which specimen was measured after heating"
    lines[16:22] = [question(number, question=f"{copied} {number}") for number in range(16, 22)]
    asked = with_questions(project, lines, tmp_path)
    store = build(project, corpus.chunk(copied, uri="questions.md", pages=[]))
    assert {"E001", "E003", "E004", "E012"} <= codes(store, asked)
    again = evaluated(store, asked)
    assert not again.is_new
    assert {"E001", "E003", "E004", "E012"} <= {flaw.code for flaw in again.record.flaws}
    report = again.report.read_text("utf-8")
    assert "Is the evaluation sound?" in report
    assert "returned nothing for 5 of 46 questions" in report


def test_units_of_one_text_decide_by_their_order(project, tmp_path):
    copies = [
        corpus.chunk("The density of bronze is 8.8.", uri=f"copy{number}.md", pages=[])
        for number in range(30)
    ]
    lines = [question(number) for number in range(20)]
    lines += [
        question(100 + number, question="density of bronze", gold=[f"doc:copy{number}.md"])
        for number in range(20)
    ]
    assert "E007" in codes(build(project, *copies), with_questions(project, lines, tmp_path))


def test_a_retriever_that_an_experiment_chose_on_the_same_questions(project, tmp_path):
    lines = [question(number, split="test") for number in range(COUNT)]
    arms = [{"name": name, "retriever": settings} for name, settings in ARMS.items()]
    experiment = {"tuning": {"design": "arms", "arms": arms}}
    tuned = Config.from_record(project.model_dump() | {"experiments": experiment})
    asked = with_questions(tuned, lines, tmp_path)
    store = build(project)
    assert "E010" not in codes(store, asked)
    run = run_experiment(store, asked, "tuning", log=lambda _: None)
    assert "E010" in {flaw.code for flaw in run.record.flaws}
    assert "best of 3 arms" in run.markdown
    assert "E010" in codes(store, asked)
    with_dev = with_questions(tuned, [question(number) for number in range(COUNT)], tmp_path)
    refresh_questions(store, with_dev, log=lambda _: None)
    chosen = run_experiment(store, with_dev, "tuning", log=lambda _: None)
    assert "E010" not in {flaw.code for flaw in chosen.record.flaws}


ARMS = {
    "bm25": "bm25",
    "short": {"signals": ["bm25"], "depth": 3},
    "shortest": {"signals": ["bm25"], "depth": 1},
}


def test_evaluations_of_other_questions_are_not_to_be_compared(project, tmp_path):
    store = build(project)
    lines = [question(number) for number in range(COUNT)]
    first = evaluated(store, with_questions(project, lines, tmp_path))
    pins = {name: set_of(store, project, "default").joint for name in ("serving", "candidate")}
    assert flaws_between(store, {"serving": first, "candidate": first}, pins) == []
    second = evaluated(store, with_questions(project, lines[:-4], tmp_path))
    [flaw] = flaws_between(store, {"serving": first, "candidate": second}, pins)
    assert (flaw.code, flaw.blocking) == ("E002", True)
    assert "serving answered 40 questions and candidate 36; 36 are the same" in flaw.what
