import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest

from rag_assets import schemas
from rag_assets.config import Gate
from rag_assets.evaluation import gold as golds
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.models.weights import WeightsError
from rag_assets.operations.gate.judging import basis_of, judge
from rag_assets.operations.gate.verdict_wording import verdict_markdown, verdict_plot, verdict_text
from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.operations.problems.current import state_problems
from rag_assets.operations.serving_index.promotion import (
    PromotionResult,
    judge_beside,
    promote_refreshed,
)
from rag_assets.retrieval import opening
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import pin_of
from rag_assets_testing.faults.hashing import HashEncoder
from rag_assets_testing.faults.project import Project
from rag_assets_tests.operations import gated


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Project, dict[str, CompleteSet]]:
    """A project with three variants, and nothing asked."""
    made = gated.make(tmp_path_factory.mktemp("gated"))
    sets = {name: gated.build(made, name) for name in ("default", "json_rows", "tiny")}
    return made, sets


@pytest.fixture
def project(built, tmp_path: Path) -> tuple[Project, dict[str, CompleteSet]]:
    """A copy of it to change."""
    made, sets = built
    shutil.copytree(made.home, tmp_path / "copy")
    return Project(tmp_path / "copy"), sets


def test_the_first_complete_index_serves(built):
    made, sets = built
    verdict = gated.judged(made, None, sets["default"])
    assert verdict.outcome == "PASS"
    assert verdict.compared.serving is None


def test_what_serves_already_passes(built):
    made, sets = built
    assert gated.judged(made, sets["default"], sets["default"]).outcome == "PASS"


def test_without_questions_another_state_of_the_recipe_passes_unasked(project):
    made, sets = project
    made.write("new.md", "# New\n\nA new document on brass.\n")
    said: list[str] = []
    verdict = gated.judged(made, sets["default"], gated.build(made), log=said.append)
    assert verdict.outcome == "PASS"
    assert verdict.known_items is None
    assert said == []


def test_without_questions_another_recipe_is_asked_for_known_items(built):
    made, sets = built
    verdict = gated.judged(made, sets["default"], sets["json_rows"])
    assert verdict.known_items is not None
    assert verdict.known_items.queries == 60
    assert verdict.known_items.serving > 0.9
    assert verdict.outcome == "PASS", verdict.reasons
    for text in (verdict_text(verdict), verdict_markdown(verdict).removeprefix("**")):
        assert text.startswith("PASS on known items only: json_rows against default")
    assert Verdict.from_json(verdict.to_json()).words == "PASS on known items only"


def test_known_items_are_the_same_each_time(built):
    made, sets = built
    first, second = (gated.judged(made, sets["default"], sets["tiny"]) for _ in range(2))
    assert first.known_items == second.known_items


def test_without_questions_a_retriever_that_finds_nothing_is_held(built):
    made, sets = built
    dense = made.config.model_copy(
        update={"retrieval": made.config.retrieval.model_copy(update={"retriever": "baseline"})}
    )
    verdict = gated.judged(
        made,
        sets["default"],
        sets["default"],
        config=dense,
        serving_retrieval=made.config.retrieval,
        retriever="bm25",
    )
    assert verdict.outcome == "HOLD"
    assert verdict.known_items is not None
    assert verdict.known_items.candidate < verdict.known_items.serving
    assert any("fewer known items" in reason for reason in verdict.reasons)
    assert verdict.remedy


def test_another_recipe_passes_on_enough_questions(project):
    made, sets = project
    gated.ask(made, gated.questions(100, 60))
    verdict = gated.judged(made, sets["default"], sets["json_rows"])
    assert verdict.outcome == "PASS", verdict.reasons
    assert verdict.difference is not None
    assert verdict.difference.questions == 160
    assert verdict.words == "PASS"
    assert verdict.known_items is None
    assert {each.by for each in verdict.slices} == {"domain", "language"}


def test_a_few_questions_decide_nothing_of_another_recipe(project):
    made, sets = project
    gated.ask(made, gated.questions(3, 2))
    verdict = gated.judged(made, sets["default"], sets["json_rows"])
    assert verdict.outcome == "HOLD"
    assert verdict.known_items is not None
    assert verdict.more_questions is not None
    assert "run `rag-assets variants promote json_rows`, which reads them" in verdict.remedy
    assert any("not ruled out" in reason for reason in verdict.reasons)


def test_a_few_questions_hold_no_night(project):
    made, sets = project
    gated.ask(made, gated.questions(3, 2))
    made.write("new.md", "# New\n\nA new document on zorium000 and zorium001.\n")
    verdict = gated.judged(made, sets["default"], gated.build(made))
    assert verdict.outcome == "PASS", verdict.reasons


def test_a_worse_retriever_fails_with_the_questions_that_it_lost(project):
    made, sets = project
    gated.ask(made, gated.questions(100, 60))
    dense = made.config.model_copy(
        update={"retrieval": made.config.retrieval.model_copy(update={"retriever": "baseline"})}
    )
    verdict = gated.judged(
        made,
        sets["default"],
        sets["default"],
        config=dense,
        serving_retrieval=made.config.retrieval,
        retriever="bm25",
    )
    assert verdict.outcome == "FAIL", verdict.reasons
    assert verdict.difference is not None
    assert verdict.difference.high < -(verdict.margin or 0)
    assert verdict.lost[0].reason.startswith("rank ")
    assert {each.name for each in verdict.slices if each.status == "is worse"} >= {"document"}
    for text in (verdict_text(verdict), verdict_markdown(verdict)):
        assert "FAIL: default with baseline against default with bm25" in text
        assert verdict.lost[0].text in text
    assert "domain document" in verdict_plot(verdict)


def test_a_night_that_spoils_rows_is_stopped(project):
    made, sets = project
    gated.ask(made, gated.questions(60, 60))
    made.execute("UPDATE densities SET alloy = 'unknown' WHERE id < 30")
    verdict = gated.judged(made, sets["default"], gated.build(made))
    assert not verdict.allows, verdict.reasons
    lost = {one.question_id for one in verdict.lost}
    assert lost <= {f"questions/r{n}" for n in range(30)}
    assert len(lost) > 20
    assert verdict.left_out == ()


def test_gold_that_is_gone_at_the_source_is_left_out_and_named(project):
    made, sets = project
    gated.ask(made, gated.questions(60, 60))
    (made.documents / "alloy003.md").unlink()
    made.write("moved/alloy004.md", gated.text_of(4))
    (made.documents / "alloy004.md").unlink()
    made.write("alloy005.md", gated.text_of(5, strength=777))
    made.execute("DELETE FROM densities WHERE id = 7")
    verdict = gated.judged(made, sets["default"], gated.build(made))
    assert verdict.outcome == "PASS", verdict.reasons
    gone = {one.question_id.removeprefix("questions/"): one for one in verdict.left_out}
    assert gone.keys() == {"d3", "d5", "r7"}
    assert "777 MPa" in gone["d5"].found_now
    assert verdict.difference is not None
    assert verdict.difference.questions == 117
    assert "correct" not in verdict.remedy


def test_a_gap_of_the_candidate_is_its_own_fault(project):
    """The source still has what the candidate lacks: the question stays, and is lost."""
    made, sets = project
    gated.ask(made, gated.questions(115, 0))
    lacking = gated.build(made, "tiny")
    made.store.delete(lacking.joint.table, column="uri", keys=["alloy003.md"])
    lacking = replace(lacking, joint=pin_of(made.store, lacking.joint.table))
    verdict = gated.judged(made, sets["default"], lacking)
    assert [one.question_id for one in verdict.lost] == ["questions/d3"]
    assert "does not hold" in verdict.lost[0].reason


def test_gold_in_a_superseded_document_stands_apart(project):
    made, _ = project
    text = "# Zinc\n\nZinc melts at {} degrees.\n"
    made.write("zinc_v1.md", text.format(419))
    old = {"id": "old", "question": "When does zinc melt?", "gold": ["doc:zinc_v1.md"]}
    gated.ask(made, [*gated.questions(115, 0), old])
    serving = gated.build(made)
    made.write("zinc_v2.md", text.format(420))
    verdict = gated.judged(made, serving, gated.build(made))
    assert [one.question_id for one in verdict.superseded] == ["questions/old"]
    assert verdict.difference is not None
    assert verdict.difference.questions == 115


def test_a_variant_that_the_config_lost_can_still_be_judged_against(project):
    made, sets = project
    gated.ask(made, gated.questions(100, 60))
    made.file.write_text(gated.CONFIG.replace("  default: {parser: pdfium, chunking: small}\n", ""))
    verdict = gated.judged(made, sets["default"], sets["json_rows"])
    assert verdict.outcome == "PASS", verdict.reasons
    assert verdict.compared.serving == "default"


def test_a_side_whose_model_is_gone_is_no_crash(built):
    """Else nothing could take its place: an override asks for a verdict too."""
    made, sets = built
    dense = made.config.retrieval.model_copy(update={"retriever": "hybrid"})
    config = made.config.model_copy(update={"retrieval": dense})

    def gone(*_: object, **__: object) -> HashEncoder:
        raise WeightsError("its folder is gone")

    asked = {"serving": sets["default"], "candidate": sets["default"], "log": lambda _: None}
    with patch.object(opening, "load_for_queries", gone):
        held = judge(made.store, made.config, serving_retrieval=dense, retriever="hybrid", **asked)
        failed = judge(
            made.store, config, serving_retrieval=made.config.retrieval, retriever="bm25", **asked
        )
    assert (held.outcome, failed.outcome) == ("HOLD", "FAIL")
    for verdict in (held, failed):
        assert "its folder is gone" in verdict.reasons[0]


def test_the_night_searches_nothing_twice(project):
    made, _ = project
    gated.ask(made, gated.questions(60, 60))
    yesterday = gated.build(made)
    gated.evaluated(made)
    gated.judged(made, None, yesterday)
    made.write("new.md", "# New\n\nA new document on brass.\n")
    today = gated.build(made)
    gated.evaluated(made)
    said: list[str] = []
    assert gated.judged(made, yesterday, today, log=said.append).outcome == "PASS"
    assert said == []


def test_only_new_questions_are_searched(project):
    made, sets = project
    gated.ask(made, gated.questions(80, 60))
    gated.judged(made, sets["default"], sets["json_rows"])
    gated.ask(made, gated.questions(81, 60))
    said: list[str] = []
    gated.judged(made, sets["default"], sets["json_rows"], log=said.append)
    assert said == [
        f"{name}: searching 1 queries with bm25 for the gate" for name in ("default", "json_rows")
    ]


def test_two_questions_with_one_text_are_each_judged(project):
    made, sets = project
    asked = gated.questions(115, 0)
    gated.ask(made, [*asked, {**asked[0], "id": "again"}])
    verdict = gated.judged(made, sets["default"], sets["json_rows"])
    assert verdict.difference is not None
    assert verdict.difference.questions == 116


def test_question_text_in_the_new_index_holds_it(project):
    made, sets = project
    asked = gated.questions(60, 60)
    for one in asked:
        one["question"] = f"Please tell me about the {one['question']}"
    gated.ask(made, asked)
    made.write("asked.md", "\n\n".join(one["question"] for one in asked))
    verdict = gated.judged(made, sets["default"], gated.build(made))
    assert verdict.outcome == "HOLD"
    assert any("E003" in reason for reason in verdict.reasons)


def test_a_flaw_of_both_recipes_of_a_variant_is_said_once(project):
    made, _ = project
    asked = gated.questions(60, 60)
    gated.ask(made, asked)
    made.write("asked.md", "\n\n".join(one["question"] for one in asked))
    serving = gated.build(made)
    text = made.file.read_text()
    made.file.write_text(text.replace("chunking: small}", "chunking: small, serializer: yaml}", 1))
    verdict = gated.judged(made, serving, gated.build(made))
    assert len([reason for reason in verdict.reasons if "E003" in reason]) == 1


def test_a_verdict_survives_json(built):
    made, sets = built
    verdict = gated.judged(made, sets["default"], sets["json_rows"])
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


def test_a_verdict_goes_stale(project):
    made, sets = project
    gated.ask(made, gated.questions(80, 60))
    serving, candidate = sets["default"], sets["json_rows"]
    verdict = gated.judged(made, serving, candidate)

    def stale(config=None, served=serving, after=timedelta(0)) -> str | None:
        now = basis_of(made.store, config or made.config, serving=served, candidate=candidate)
        max_age = timedelta(days=made.config.gate.max_age)
        return verdict.stale_because(now, at=datetime.now(UTC) + after, max_age=max_age)

    assert stale() is None
    assert stale(after=timedelta(days=13)) is None
    assert "15 days ago" in (stale(after=timedelta(days=15)) or "")
    assert "index that serves" in (stale(served=sets["tiny"]) or "")
    config = made.config.model_copy(update={"gate": Gate(margin=0.3)})
    assert "gate" in (stale(config) or "")
    retrieval = made.config.retrieval.model_copy(update={"retriever": "hybrid"})
    config = made.config.model_copy(update={"retrieval": retrieval})
    assert "searches" in (stale(config) or "")
    gated.ask(made, gated.questions(81, 60))
    assert "questions" in (stale() or "")


def test_questions_that_are_all_gone_hold_the_next_index_and_are_told(project):
    made, _ = project
    config = made.config

    def promoted(*, edition: str = "") -> PromotionResult:
        if edition:
            made.write(f"{edition}.md", f"# {edition}\n\nA document on brass.\n")
            gated.build(made)
        with gated.hashed_queries():
            return promote_refreshed(made.store, config, log=lambda _: None)

    gated.ask(made, gated.questions(20, 20))
    assert [promoted().status, promoted(edition="two").status] == ["moved", "moved"]
    assert state_problems(made.store, config) == []

    append_made(made, 3)  # which are no questions of the user
    gated.ask(made, [])
    assert [each.assets for each in state_problems(made.store, config)] == [("question_sets",)]
    held = promoted(edition="three")
    assert held.status == "held"
    assert "hold no question any more" in held.reasons[0]

    gated.ask(made, gated.questions(20, 20))
    assert promoted(edition="four").status == "moved"
    assert state_problems(made.store, config) == []


def test_questions_that_were_added_count_at_the_next_promotion(project):
    made, _ = project
    gated.ask(made, gated.questions(3, 2))
    file = made.home / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in gated.questions(100, 60)))
    with file.open("a") as lines:
        lines.write('{"question": "half a line"')
    told: list[str] = []
    found = judge_beside(made.store, made.config, "json_rows", log=told.append).verdict
    assert found
    assert found.difference
    assert found.difference.questions == 160
    assert any(
        "unusable lines of questions: 1, such as questions.jsonl line 161" in line for line in told
    )

    file.unlink()
    again = judge_beside(made.store, made.config, "json_rows", log=told.append).verdict
    assert again
    assert again.outcome == found.outcome
    assert any("judging by the questions that were last read" in line for line in told)


def test_questions_of_a_program_that_were_not_shown_decide_nothing(project):
    made, sets = project
    of_program = "- {path: questions.jsonl, generated: true}"
    made.file.write_text(made.file.read_text().replace("- path: questions.jsonl", of_program))
    gated.ask(made, gated.questions(100, 60))

    verdict = gated.judged(made, sets["default"], sets["json_rows"])

    assert verdict.difference is None
    assert verdict.known_items is not None
    assert verdict.reasons[-1].startswith("160 generated questions are a smoke test and decide")


def test_questions_of_people_decide_beside_those_of_a_program(project):
    made, sets = project
    gated.ask(made, gated.questions(100, 60))
    append_made(made, 40)
    refresh_questions(made.store, made.config, log=lambda _: None)

    verdict = gated.judged(made, sets["default"], sets["json_rows"])

    assert verdict.difference is not None
    assert verdict.difference.questions == 160
    assert verdict.words == "PASS"
    assert verdict.reasons[-1].startswith("40 generated questions are a smoke test")


def append_made(made: Project, count: int) -> None:
    """Let there be so many made questions, which nothing finds."""
    gold = golds.to_json([DocumentGold("alloy000.md")])
    rows = [
        {
            "question_id": f"known_items/{number}",
            "input_id": str(number),
            "index": 0,
            "origin": "known_items",
            "kind": "sentence",
            "question": f"Nothing is like number {number}",
            "language": "en",
            "split": "test",
            "gold": gold,
            "maker": "a test",
            "left_out": "",
            "fingerprint": "",
            "row_fingerprint": str(number),
        }
        for number in range(count)
    ]
    schema = schemas.GENERATED_QUESTIONS
    made.store.append(
        schemas.GENERATED_QUESTIONS_TABLE, pa.Table.from_pylist(rows, schema=schema), schema=schema
    )
