"""Experiments on answers, and their evaluation, through a real server that plays a script."""

import json
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rag_assets.config import AnswerExperiment, Config
from rag_assets.evaluation.experiment_runs import Run
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.evaluation.results import folder_of
from rag_assets.laboratory.answer_evaluation.evaluating import evaluate_answers
from rag_assets.laboratory.answer_evaluation.report import report_of
from rag_assets.laboratory.answers.arms import ARMS
from rag_assets.laboratory.answers.report import experiment_report
from rag_assets.laboratory.answers.run import file_of, read_record, run_answer_experiment
from rag_assets.laboratory.experiments.design import ExperimentError
from rag_assets.laboratory.experiments.graph_answers import METRICS, NOBODY, TITLE
from rag_assets.laboratory.experiments.run import run_experiment
from rag_assets.questions.judging.verdicts import JUDGMENTS
from rag_assets.store import Store
from rag_assets_testing.scripted_language_model import (
    Behaviour,
    Script,
    ScriptedServer,
    answers,
    cut,
    status,
)
from rag_assets_tests.answering import project
from rag_assets_tests.laboratory.judges.scripted import ranked, scored, shown_answers

ASKED = {
    "stiff": ("What is the stiffness of the spring?", "doc:spring.md", "12 N/mm"),
    "paint": ("Which colour has the paint of the spring?", "doc:spring.md", "red"),
    "salt": ("How many hours does the alloy bear salt?", "doc:salt.md", "500 hours"),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Config:
    home = tmp_path_factory.mktemp("project")
    config = project.built(home)
    file = home / "questions.jsonl"
    file.write_text(
        "".join(
            json.dumps(
                {"id": key, "question": text, "gold": [gold], "answer": answer, "split": "test"}
            )
            + "\n"
            for key, (text, gold, answer) in ASKED.items()
        )
    )
    parts = config.model_dump(mode="json", exclude={"variants"})
    parts["evaluation"] = {"questions": [{"path": str(file)}], "bootstrap_samples": 200}
    config = config.model_copy(
        update={"evaluation": Config.model_validate({"evaluation": parts["evaluation"]}).evaluation}
    )
    refresh_questions(Store.of(config), config, log=print)
    return config


@contextmanager
def played(
    built: Config, script: Script, state: Path, **more: object
) -> Generator[tuple[Config, ScriptedServer]]:
    """`built` with a scripted writer whose calls are kept in `state`."""
    with ScriptedServer(script, model=state.name) as server:
        entry = {"base_url": server.url, "model": state.name, "local": True, "attempts": 1}
        read = Config.model_validate(
            {
                "language_models": {"w": entry},
                "answering": {"writer": "w", "further_queries": 0},
                "answer_experiments": {"citation_ablation": {}, "rag_or_not": None, **more},
            }
        )
        names = ("language_models", "answering", "answer_experiments")
        yield built.model_copy(update={name: getattr(read, name) for name in names}), server


def says(body: dict) -> Behaviour:
    """Cites where it is asked to, and knows nothing where it is shown nothing."""
    system, asked = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "from what you know" in system:
        return answers("It is 99 furlongs.")
    mark = " [1]" if "Rules:" in system else ""
    if "stiffness" in asked.rpartition("Question:")[2]:
        return answers(f"The stiffness of the spring is 12 N/mm{mark}.")
    return answers(f"The paint is red{mark}.")


def test_rules_of_citing_are_compared_with_none(built, tmp_path):
    with played(built, says, tmp_path) as (config, server):
        store = Store.of(config)
        record = run_answer_experiment(store, config, "citation_ablation", log=print)
        calls = server.calls
        again = run_answer_experiment(store, config, "citation_ablation", log=print)
        assert server.calls == calls, "a second run asks nothing"
    assert again == record == read_record(store, "citation_ablation")
    without, rules, _ = record.arms
    assert len(record.arms) == ARMS["citation_ablation"]
    assert [arm.name for arm in record.arms] == ["no rules", "rules", "rules, faults named"]
    assert without.numbers["cited"].mean == 0
    assert rules.numbers["cited"].mean == 1
    assert rules.differences["cited"].mean == 1
    assert without.numbers["grounded"].mean > 0.5, "measured though it cites nothing"
    assert not without.differences
    report = experiment_report(record)
    assert "| cited |" in report
    assert "rules, faults named" in report


def test_a_model_without_sources_is_compared_with_one_that_has_them(built, tmp_path):
    with played(built, says, tmp_path) as (config, server):
        record = run_answer_experiment(Store.of(config), config, "rag_or_not", log=print)
        alone = [
            one for one in server.requests if "from what you know" in one["messages"][0]["content"]
        ]
    assert len(alone) == len(ASKED)
    assert all("Sources:" not in json.dumps(one) for one in alone)
    memory, sources = record.arms
    assert len(record.arms) == ARMS["rag_or_not"]
    assert memory.numbers["grounded"].mean == 0
    assert sources.numbers["holds_answer"].mean > memory.numbers["holds_answer"].mean


def test_a_run_with_failed_calls_is_made_again(built, tmp_path):
    with played(built, [status(500)], tmp_path) as (config, server):
        store = Store.of(config)
        record = run_answer_experiment(store, config, "rag_or_not", log=print)
        assert all(arm.failed == len(ASKED) for arm in record.arms)
        server.script = says
        second = run_answer_experiment(store, config, "rag_or_not", log=print)
    assert not any(arm.failed for arm in second.arms)


def test_a_split_without_questions(built, tmp_path):
    other = {"rag": {"design": "rag_or_not", "split": "nowhere"}}
    with (
        played(built, says, tmp_path, **other) as (config, _),
        pytest.raises(ExperimentError, match="nowhere"),
    ):
        run_answer_experiment(Store.of(config), config, "rag", log=print)


def test_written_answers_are_evaluated_and_asked_once(built, tmp_path):
    with played(built, [status(500)], tmp_path) as (config, server):
        store = Store.of(config)
        failed = evaluate_answers(store, config, variant="default", log=print)
        assert failed is not None
        assert failed.failed == sum(each.outcome == "found" for each in failed.answers) > 0
        assert "the language model failed" in report_of(failed).replace("\n", " ")
        failing = server.calls
        server.script = says
        found = evaluate_answers(store, config, variant="default", log=print)
        calls = server.calls
        assert found is not None
        assert found.failed == 0
        assert "written" in {each.outcome for each in found.answers}
        assert evaluate_answers(store, config, variant="default", log=print) == found
        assert server.calls == calls
        assert found.spending["language model calls"] == calls - failing


@pytest.mark.parametrize("behaviour", [cut("The"), answers("References:"), answers("It is [9].")])
def test_what_would_be_the_same_again_is_not_evaluated_again(built, tmp_path, behaviour):
    """An answer that was cut is kept: asked again, it would be cut again."""
    with played(built, behaviour, tmp_path) as (config, server):
        store = Store.of(config)
        for _ in range(2):
            settled = evaluate_answers(store, config, variant="default", log=print)
        calls = server.calls
        assert evaluate_answers(store, config, variant="default", log=print) == settled
        assert server.calls == calls


def test_an_experiment_has_a_writer_where_answers_are_quoted(built, tmp_path):
    with played(built, says, tmp_path) as (config, server):
        quoting = config.answering.model_copy(update={"writer": "none"})
        config = config.model_copy(update={"answering": quoting})
        run_answer_experiment(Store.of(config), config, "rag_or_not", log=print)
        assert server.calls


@contextmanager
def judged(
    config: Config, script: Script, state: Path, **settings: object
) -> Generator[tuple[Config, ScriptedServer]]:
    """`config` with a scripted judge."""
    with ScriptedServer(script, model=f"judge-{state.name}") as server:
        entry = {"base_url": server.url, "model": server.model, "local": True, "attempts": 1}
        read = Config.model_validate(
            {
                "language_models": {"j": entry},
                "evaluation": {"judges": [{"model": "j", **settings}], "bootstrap_samples": 200},
            }
        )
        questions = config.evaluation.questions
        evaluation = read.evaluation.model_copy(update={"questions": questions})
        models = {**config.language_models, "j": read.language_models["j"]}
        yield (
            config.model_copy(update={"language_models": models, "evaluation": evaluation}),
            server,
        )


def judges(body: dict) -> Behaviour:
    """Likes what names 12 N/mm or red, and no furlongs; fails at the question about salt."""
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    text = body["messages"][-1]["content"]
    if "salt?" in text:
        return cut("{")
    if "ranks" in properties:
        better = {letter: is_good(said) for letter, said in shown_answers(body).items()}
        ranks = {letter: 1 if good else 1 + any(better.values()) for letter, good in better.items()}
        return ranked(**ranks)
    good = is_good(text.rpartition("<answer-")[2])
    return scored(
        **{
            name: allowed[-1] if good else allowed[0]
            for name, one in properties.items()
            for allowed in [one["properties"]["score"]["enum"]]
        }
    )


def is_good(text: str) -> bool:
    return "12 N/mm" in text or "red" in text


def test_judges_compare_answers_with_and_without_sources(built, tmp_path):
    """P1, table 5 and figure 7."""
    with (
        played(built, says, tmp_path) as (writing, server),
        judged(writing, judges, tmp_path) as (config, judge),
    ):
        store = Store.of(config)
        record = run_answer_experiment(store, config, "rag_or_not", log=print)
        calls = judge.calls, server.calls
        file_of(store, "rag_or_not").unlink()
        again = run_answer_experiment(store, config, "rag_or_not", log=print)
        assert (judge.calls, server.calls) == calls, "run again: 0 calls"
    memory, sources = record.arms
    means = {each.dimension: each.of for each in sources.judged if each.rubric == "answer_scores"}
    changes = {
        each.dimension: each.of
        for each in sources.judged_differences
        if each.rubric == "answer_scores"
    }
    assert (means["correctness"].items, means["correctness"].failed) == (3, 1)
    assert means["correctness"].mean == 5
    assert means["correctness"].worst == pytest.approx(11 / 3)
    assert changes["correctness"].mean == 4
    [preference] = [each for each in sources.judged if each.rubric == "answer_ranking"]
    assert preference.of.mean == 1
    assert not [each for each in memory.judged if each.rubric == "answer_ranking"]
    [first, _] = record.ranks
    assert (first.wins, first.ties, first.losses) == (
        {"sources": 0},
        {"sources": 0},
        {"sources": 2},
    )
    assert [arm.judged for arm in again.arms] == [arm.judged for arm in record.arms]
    report = experiment_report(record)
    assert "| j | answer_scores | correctness | 1 to 5 | 1.00, bounds" in report
    assert "failed 1" in report
    kept = pq.read_table(file_of(store, "rag_or_not").with_suffix(".judgments.parquet"))
    assert kept.schema.equals(JUDGMENTS)
    assert {"ab", "ba", ""} == {*kept["order"].to_pylist()}
    shown = [body["messages"][-1]["content"] for body in judge.requests]
    assert any("[1]" in text.rpartition("<answer-")[2] for text in shown if "<answer-" in text)


def test_a_model_that_does_not_know_is_judged_and_has_not_failed(built, tmp_path):
    """P1, table 5: without sources it says that it does not know, and gets the lowest score."""

    def knows_nothing(body: dict) -> Behaviour:
        if "from what you know" in body["messages"][0]["content"]:
            return answers("I do not know.")
        return says(body)

    def scores(body: dict) -> Behaviour:
        body["messages"][-1]["content"] = body["messages"][-1]["content"].replace("salt?", "")
        return judges(body)

    with (
        played(built, knows_nothing, tmp_path) as (writing, _),
        judged(writing, scores, tmp_path) as (config, judge),
    ):
        record = run_answer_experiment(Store.of(config), config, "rag_or_not", log=print)
        shown = [body["messages"][-1]["content"] for body in judge.requests]
    memory, sources = record.arms
    assert memory.numbers["answered"].mean == 0
    assert memory.failed == 0
    name = "j/answer_scores/correctness"
    [correct] = [each.of for each in memory.judged if each.name == name]
    assert (correct.items, correct.failed, correct.mean) == (3, 0, 1)
    assert correct.worst == correct.best == 1
    [change] = [each.of for each in sources.judged_differences if each.name == name]
    assert change.failed == 0
    assert any("I do not know." in text for text in shown)
    [preference] = [each.of for each in sources.judged if each.rubric == "answer_ranking"]
    assert preference.failed == 0


@contextmanager
def comparing(config: Config, *, sources: bool = True, **scripts: Script) -> Generator[Config]:
    """`config` with more scripted language models, and an experiment that compares all of them."""
    with ExitStack() as stack:
        entries = {}
        for name, script in scripts.items():
            server = stack.enter_context(ScriptedServer(script, model=name))
            entries[name] = {"base_url": server.url, "model": name, "local": True, "attempts": 1}
        read = Config.model_validate({"language_models": entries})
        own = {"design": "writers", "writers": ["w", *scripts], "sources": sources}
        experiments = {"who": AnswerExperiment.model_validate(own)}
        models = {**config.language_models, **read.language_models}
        update = {"language_models": models, "answer_experiments": experiments}
        yield config.model_copy(update=update)


def test_answers_of_several_writers_are_ranked_at_once(built, tmp_path):
    """P1, figure 6 and table 11."""
    with (
        played(built, says, tmp_path) as (writing, _),
        comparing(writing, bad=answers("It is 99 furlongs [1]."), same=says) as three,
        judged(three, judges, tmp_path) as (config, judge),
    ):
        record = run_answer_experiment(Store.of(config), config, "who", log=print)
        rankings = [body for body in judge.requests if len(shown_answers(body)) > 1]
    assert [arm.name for arm in record.arms] == ["w", "bad", "same"]
    assert {len(shown_answers(body)) for body in rankings} == {3}, "no pair is asked alone"
    ranks = {each.arm: each for each in record.ranks}
    assert {name: (*each.ranks, each.unranked) for name, each in ranks.items()} == {
        "w": (2, 0, 0, 1),
        "bad": (0, 0, 2, 1),
        "same": (2, 0, 0, 1),
    }, "equal ranks count, and the judge fails at the third question"
    assert ranks["w"].wins == {"bad": 2, "same": 0}
    assert ranks["w"].ties["same"] >= 2
    assert ranks["bad"].losses == {"same": 2}
    counts = {
        each.arm: each.counts for each in record.score_counts if each.dimension == "correctness"
    }
    assert counts["w"] == {"1": 0, "2": 0, "3": 0, "4": 0, "5": 2, "no score": 1}
    assert counts["bad"] == {"1": 2, "2": 0, "3": 0, "4": 0, "5": 0, "no score": 1}
    [preference] = [each for each in record.arms[1].judged if each.rubric == "answer_ranking"]
    assert preference.of.mean == 0, "beside the first writer"
    assert record.model.count(",") == 2
    report = experiment_report(record)
    assert "| j | bad | 0 | 0 | 2 | 1 |" in report
    assert "| j | w | bad | 2 | 0 | 0 |" in report
    assert "(P1, tables 6 and 11)" in report


def test_writers_without_sources_see_none(built, tmp_path):
    with (
        played(built, says, tmp_path) as (writing, server),
        comparing(writing, other=says, sources=False) as config,
    ):
        record = run_answer_experiment(Store.of(config), config, "who", log=print)
        assert all("Sources:" not in json.dumps(one) for one in server.requests)
    assert all(arm.numbers["cited"].mean == 0 for arm in record.arms)


@pytest.mark.parametrize(
    "given", [{"design": "writers", "writers": ["w", "w"]}, {"writers": ["w", "v"]}]
)
def test_only_the_design_writers_has_several(given):
    with pytest.raises(ValueError, match="two writers or more"):
        AnswerExperiment.model_validate({"design": "rag_or_not", **given})


def test_what_single_queries_find_and_answers_cite_is_counted(built, tmp_path):
    """P4, table 3."""
    with played(built, says, tmp_path) as (config, _):
        record = run_answer_experiment(Store.of(config), config, "citation_ablation", log=print)
    without, rules, _ = record.arms
    assert without.numbers["citations"].mean == 0
    assert rules.numbers["citations"].mean == 1
    assert 0 < rules.numbers["units_cited"].mean < 1
    found = {name: rules.numbers[name].mean for name in ("documents", "pages", "headings")}
    assert found["headings"] >= found["documents"] > 1
    assert found == {name: without.numbers[name].mean for name in found}, "of the same hits"


def test_judges_are_columns_of_the_evaluation_of_answers(built, tmp_path):
    with (
        played(built, says, tmp_path) as (writing, _),
        judged(writing, judges, tmp_path) as (config, judge),
    ):
        store = Store.of(config)
        judge.script = status(500)
        away = evaluate_answers(store, config, variant="default", log=print)
        assert away is not None
        assert away.may_pass, "the judge is asked again"
        judge.script = judges
        found = evaluate_answers(store, config, variant="default", log=print)
        calls = judge.calls
        assert evaluate_answers(store, config, variant="default", log=print) == found
        assert judge.calls == calls
    assert found is not None
    assert not found.may_pass
    means = {(each.rubric, each.dimension): each.of for each in found.judged["document"]}
    assert means["answer_scores", "correctness"].items == 2, "what was only found is no answer"
    assert means["context_relevancy", "overall"].failed == 1
    assert means["context_relevancy", "subject"].items == 3
    report = report_of(found)
    assert "| j | faithfulness | faithfulness | 0 to 1 | 1.00 (" in report
    assert "| j | context_relevancy | subject | 0 to 2 |" in report
    assert "judged where there was one: 2 of 3 questions" in report
    assert found.spending["j as a judge: language model calls"] > 0


def test_other_rubrics_make_another_evaluation(built, tmp_path):
    with played(built, says, tmp_path) as (writing, _):
        store = Store.of(writing)
        with judged(writing, judges, tmp_path, rubrics=["faithfulness"]) as (config, _):
            one = evaluate_answers(store, config, variant="default", log=print)
        with judged(writing, judges, tmp_path, rubrics=["correctness"], most=1) as (config, _):
            other = evaluate_answers(store, config, variant="default", log=print)
    assert one.made_from != other.made_from
    [found] = other.judged["document"]
    assert (found.rubric, found.of.items) == ("correctness", 1)


def graph_run(config: Config) -> Run:
    """The experiment on P3's systems, with the models of `config`."""
    read = Config.model_validate({"experiments": {"graph_retrieval": {"retriever": "bm25"}}})
    own = config.model_copy(update={"experiments": read.experiments})
    return run_experiment(Store.of(own), own, "graph_retrieval", log=print)


def row_of(text: str, begin: str) -> list[str]:
    [row] = [line for line in text.splitlines() if line.startswith(begin)]
    return row.strip("| ").split(" | ")


def test_the_three_systems_of_a_graph_answer_and_are_judged_by_the_metrics_of_their_paper(
    built, tmp_path
):
    """P3, table 1 and A.5."""

    def finds(body: dict) -> Behaviour:
        """Finds no answer where the first source does not speak of the spring."""
        first = body["messages"][-1]["content"].partition("[2]")[0]
        return says(body) if "spring" in first.lower() else answers("It is blue [1].")

    with (
        played(built, finds, tmp_path) as (writing, server),
        judged(writing, judges, tmp_path) as (config, judge),
    ):
        run = graph_run(config)
        calls = judge.calls, server.calls
        assert not graph_run(config).is_new
        assert (judge.calls, server.calls) == calls
        rubrics = {body["messages"][0]["content"] for body in judge.requests}
    assert len(rubrics) == len(METRICS), "nothing but the metrics of the paper"
    means = run.markdown.partition(TITLE)[2].partition("Differences from")[0]
    about, naive, graph, linked, at_once = row_of(means, "| j | correctness")[1:]
    assert about == "correctness (1 to 5)"
    assert all("n 3, failed 1" in said for said in (naive, graph, linked))
    assert at_once.endswith("n 2"), "questions of which all three have a score"
    assert "context_relevancy: overall (0 to 1)" in run.markdown
    assert len(row_of(run.markdown, "| j | faithfulness (0 to 1) | +")) == 5
    kept = pq.read_table(folder_of(Store.of(built), "default") / "graph_judgments.parquet")
    assert kept.schema.equals(JUDGMENTS)


def test_without_a_writer_or_judges_systems_are_compared_by_what_they_find_and_it_says_so(
    built, tmp_path
):
    with played(built, says, tmp_path) as (config, server):
        run = graph_run(config)
    assert not server.calls
    assert f"| {NOBODY} |" in run.markdown
