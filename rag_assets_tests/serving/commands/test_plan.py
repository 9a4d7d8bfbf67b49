"""`rag-assets refresh --dry-run`: what a refresh would do and cost."""

import json

import pytest

from rag_assets import config as configuration
from rag_assets.operations.plan.planning import plan_of
from rag_assets.operations.serving_index.promotion import promote
from rag_assets.serving import cli
from rag_assets.serving.plan_text import outcome_record, outcome_text
from rag_assets.serving.replies import OK, USAGE
from rag_assets.store import Store
from rag_assets_testing.faults import project
from rag_assets_testing.faults.built import small
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project

HOSTED = """\
models:
  hosted:
    backend: embeddings_api
    path: text-embedding-3-small
    max_tokens: 8191
    endpoint: {url: "http://localhost:1/v1", price: {per_million_tokens: 20000, currency: EUR}}
"""


@pytest.fixture
def made(tmp_path, monkeypatch) -> Project:
    made = small(tmp_path / "project")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(made.file))
    return made


def told(capsys, *options: str) -> dict:
    assert cli.main(["refresh", "--dry-run", "--json", *options]) == OK
    return json.loads(capsys.readouterr().out)


def test_a_state_that_is_up_to_date_has_nothing_to_do(made, capsys):
    with hashing():
        assert cli.main(["refresh", "--dry-run"]) == OK
        assert capsys.readouterr().out == (
            "Nothing to do: variant default is up to date with what can be read of its sources.\n"
        )
        assert told(capsys)["nothing_to_do"] is True


def test_what_was_never_built_and_cannot_be_read_is_not_up_to_date(tmp_path, monkeypatch, capsys):
    (tmp_path / "rag_assets.yaml").write_text("state_dir: state\nsources: {documents: nowhere}\n")
    monkeypatch.setenv(configuration.PATH_VARIABLE, str(tmp_path / "rag_assets.yaml"))
    for command in (["refresh", "--dry-run"], ["variants", "cost", "default"]):
        assert cli.main(command) == OK
        said = capsys.readouterr().out
        assert "default is not built, and its sources hold nothing that can be read" in said
        assert "up to date" not in said


def test_what_changed_is_told_with_its_reason_and_what_is_embedded(made, capsys):
    with hashing():
        made.write("new.md", project.report(9))
        assert cli.main(["refresh", "--dry-run"]) == OK
        text = capsys.readouterr().out
        record = told(capsys)
    assert "document_files: files: 1 new" in text
    assert text.endswith("estimated the chunks of 1 document by size. Nothing was written.\n")
    vectors = record["assets"]["chunk_vectors"]
    assert vectors["added"] == vectors["texts"]
    assert vectors["added"]["estimate"] > 0
    assert record["documents_estimated"] == 1
    assert record["assets"]["document_files"]["why"] == ["files: 1 new"]


def test_it_plans_what_a_refresh_would_do_for_what_was_promoted(made, capsys):
    with hashing():
        refresh(made.config, variant="other")
        promote(made.store, made.config, "other", override="a test", log=print)
        assert cli.main(["refresh", "--dry-run"]) == OK
    assert "variant other is up to date" in capsys.readouterr().out


def test_a_model_with_a_price_costs_money_and_is_not_asked(made, capsys):
    text = project.CONFIG.replace("chunking: small}", "chunking: small, model: hosted}")
    made.file.write_text(text + HOSTED)
    vectors = told(capsys)["assets"]["chunk_vectors"]
    assert vectors["currency"] == "EUR"
    assert vectors["money"]["expected"] == pytest.approx(
        vectors["tokens"]["expected"] / 50, rel=0.01
    )
    assert vectors["money"]["low"] < vectors["money"]["high"]
    assert vectors["why"] == ["model: e5 -> hosted"]
    assert vectors["seconds"] is None


def test_money_is_not_told_of_what_can_only_be_estimated(made, capsys):
    text = project.CONFIG.replace("chunking: small}", "chunking: small, model: hosted}")
    made.file.write_text(text + HOSTED)
    made.write("new.md", project.report(9))
    vectors = told(capsys)["assets"]["chunk_vectors"]
    assert vectors["tokens"]["estimate"] > 0
    assert "money" not in vectors
    assert cli.main(["refresh", "--dry-run"]) == OK
    assert "price not known yet" in capsys.readouterr().out


def test_a_variant_that_is_not_there_is_wrong_usage(made, capsys):
    assert cli.main(["refresh", "--dry-run", "--variant", "nothing"]) == USAGE
    assert "nothing" in capsys.readouterr().err


def test_the_outcome_of_a_refresh_is_held_against_its_plan(made):
    with hashing():
        made.write("new.md", project.report(9))
        plan = plan_of(Store.of(made.config), made.config, variant="default")
        done = {
            "document_files": {"added": 1, "changed": 1, "removed": 0, "seconds": 1.0},
            "chunk_vectors": {"added": 3, "embedded": 3},
            "question_sets": {"added": 0},
        }
        record, text = outcome_record(plan, done), outcome_text(plan, done)

    assert record["document_files"]["added"] == {"planned": 1, "done": 1, "as_planned": True}
    assert record["document_files"]["changed"]["as_planned"] is False
    assert record["chunk_vectors"]["embedded"]["as_planned"] is None
    assert record.keys() == {"document_files", "chunk_vectors"}
    assert text.startswith("1 of 2 counts came out as planned:")
    assert [line.split()[-1] for line in text.splitlines()[3:]] == [
        "yes",
        "no",
        "estimated",
        "estimated",
    ]


def test_a_refresh_that_finds_nothing_to_do_came_out_as_planned(made):
    with hashing():
        plan = plan_of(Store.of(made.config), made.config, variant="default")

    assert outcome_text(plan, {"document_files": {"added": 0}}) == (
        "As planned: nothing was to be done."
    )
