"""Every design of an experiment, run on a small project and read: left to the night."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assets.evaluation.experiment_runs import runs_of
from rag_assets.evaluation.questions import read_questions
from rag_assets.laboratory.experiments.designs import design_of
from rag_assets.serving import cli
from rag_assets_testing.scripted_language_model import ScriptedServer
from rag_assets_tests.laboratory.experiments.experiment_project import (
    ALL,
    make,
    opened,
    rewriting_server,
    unfinished,
)

pytestmark = pytest.mark.nightly(guards=["rag_assets/laboratory/experiments"])


@pytest.fixture(scope="module")
def writer() -> Iterator[ScriptedServer]:
    """The language model that rewrites queries."""
    with rewriting_server() as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, writer: ScriptedServer) -> Path:
    """The project with its experiments; nothing is built."""
    return make(tmp_path_factory.mktemp("project"), writer=writer, experiments=ALL)


@pytest.fixture(scope="module")
def project(home: Path) -> Path:
    """The same, with all experiments run by the command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAG_ASSETS_CONFIG", str(home / "rag_assets.yaml"))
        assert cli.main(["experiment", "--all", "--json"]) == 0
    return home


def test_every_design_ends_in_a_report_with_its_tables_and_figures(project):
    store, config = opened(project)
    assert set(config.experiments) == set(ALL)
    for name in config.experiments:
        [one] = runs_of(store, name)
        assert unfinished(one) == [], name


def test_signals_and_domains_are_fused_by_each_mode_with_each_weight(project):
    store, _ = opened(project)
    [one] = runs_of(store, "signal_domain_fusion")
    hybrid = "dense + bm25 +"
    signals = [
        *("dense", "bm25"),
        *(f"{hybrid} reciprocal_rank", f"{hybrid} reciprocal_rank (dense 0.3, bm25 0.7)"),
        *(f"{hybrid} max_norm", f"{hybrid} max_norm (dense 0.3, bm25 0.7)"),
    ]
    domains = ["joint", "simple", "max_norm", "max_norm (document 2)"]
    arms = one.record.arms
    assert [*arms] == [f"{signal}; {domain}" for signal in signals for domain in domains]
    assert arms[f"{signals[-1]}; {domains[-1]}"].retriever == {
        "signals": ["dense", "bm25"],
        "signal_fusion": {"mode": "max_norm", "weights": {"dense": 0.3, "bm25": 0.7}},
        "domain_fusion": {"mode": "max_norm", "weights": {"document": 2.0}, "depth": 5}
        | {"alpha": 0.1, "top_j": 5},
        "candidates": 5,
    }


def test_systems_over_a_graph_differ_in_nothing_but_what_they_follow(project):
    store, _ = opened(project)
    [one] = runs_of(store, "graph_retrieval")
    arms = {name: arm.retriever for name, arm in one.record.arms.items()}
    assert [*arms] == ["Naive RAG", "Graph RAG", "G-RAG", "fast", "fast with links"]
    for plain, linked in (("Graph RAG", "G-RAG"), ("fast", "fast with links")):
        assert "links" not in arms[plain]
        assert arms[linked] == arms[plain] | {"links": arms[linked]["links"]}
    assert one.record.reference == "Naive RAG"
    assert not one.record.chosen
    assert "All 5 arms at once on all questions" in one.markdown
    assert "Recall of 50" in one.markdown


def test_collections_are_nested_and_hold_the_gold(project):
    store, config = opened(project)
    questions = read_questions(store)
    design = design_of(store, config, "index_size", questions=questions)
    small, whole = (arm.filters for arm in design.arms[:2])
    assert whole is None
    assert small is not None
    assert small.documents >= {"salt.md", "brass.md", "steel.md", "glass.md", "resin.md"}
    assert design == design_of(store, config, "index_size", questions=questions[::-1])


def test_baseline_and_simple_fusion_of_exact_indexes_score_the_same(project):
    store, _ = opened(project)
    [one] = runs_of(store, "index_size")
    rows = one.summary().to_pylist()
    of = {
        (row["retriever"], row["metric"], row["cutoff"], row["domain"], row["split"]): row["value"]
        for row in rows
        if row["metric"] != "candidate_recall"
    }
    for (arm, *rest), value in of.items():
        if arm.startswith("Baseline"):
            assert of[(arm.replace("Baseline", "Simple Fusion"), *rest)] == value
