"""Lookups on a project that was built for real: as a command, and as an arm of a search."""

import json

import pytest

from rag_assets import config as configuration
from rag_assets.config import Retriever
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.serving import cli
from rag_assets.serving.replies import FAILED, OK, USAGE
from rag_assets.store import Store
from rag_assets.table_lookup.arm import LookupArm
from rag_assets_testing import small_project

SPECIFICATION = """# Specification

The density shall be at most 3 g/cm3.

| Specimen | Load (kN) |
| --- | --- |
| A1 | 12.5 |
| A2 | 13.1 |
"""
HEADINGS = "table,column,heading,unit\nalloys,density,Density,g/cm3\n"
HIGHEST = "Which alloy has the highest density?"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A project with a heading that states a unit, and a document with a table, refreshed once."""
    with pytest.MonkeyPatch.context() as patch:
        home = small_project.make(tmp_path_factory.mktemp("project"))
        (home / "documents" / "specification.md").write_text(SPECIFICATION)
        (home / "headings.csv").write_text(HEADINGS)
        config = home / "rag_assets.yaml"
        config.write_text(
            config.read_text().replace(
                '      tables: [alloys, "test_*"]',
                '      tables: [alloys, "test_*"]\n      headings_file: headings.csv',
            )
        )
        patch.chdir(home)
        patch.delenv(configuration.PATH_VARIABLE, raising=False)
        assert cli.main(["refresh", "--json"]) == OK
    return home


@pytest.fixture
def said(built, monkeypatch, capsys):
    """What a command replies, as a record."""
    monkeypatch.chdir(built)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)

    def say(*arguments: str) -> dict:
        assert cli.main(["tables", "lookup", *arguments, "--json"]) == OK
        return json.loads(capsys.readouterr().out.strip().splitlines()[-1])

    return say


@pytest.fixture
def opened(built, monkeypatch):
    """The store, and what `open_index` takes."""
    monkeypatch.chdir(built)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    config = configuration.load()
    return Store.of(config), config


def test_a_question_is_answered_with_cells(said):
    record = said(HIGHEST)
    assert record["outcome"] == "answered"
    assert "8.05 g/cm3" in record["sentences"][0]["text"]
    cells = record["sentences"][0]["citations"]
    assert {cell["row_key"] for cell in cells} == {"2"}
    assert record["plan"]["table"] == "alloys"


def test_a_plan_is_run_again_and_refined(said, tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"source": "laboratory", "table": "alloys", "operation": "count"}))
    assert said("--plan", str(plan))["sentences"][0]["citations"][0]["result"] == 3
    record = said("--plan", str(plan), "--add", "Density>=3")
    assert record["sentences"][0]["citations"][0]["result"] == 1
    plan.write_text(json.dumps(record))
    record = said("--plan", str(plan), "--drop", "density")
    assert record["sentences"][0]["citations"][0]["result"] == 3


def test_rows_are_compared_and_like_ones_found(said):
    compared = said("--table", "alloys", "--compare", "1", "2")
    density = next(line for line in compared["lines"] if line["heading"] == "Density")
    assert (density["values"], density["differs"]) == ([2.66, 8.05], True)
    found = said("--table", "laboratory/alloys", "--like", "2", "--where", "density<own")
    assert [each["row"]["row_key"] for each in found["alternatives"]] == ["1"]


def test_a_document_is_linked_to_the_rows_that_meet_it(said):
    record = said("--document", "specification.md")
    assert record["requirements"][0]["condition"]["values"] == [3.0]
    assert record["met"][0]["row_keys"] == ["1"]


def test_the_tables_are_listed_with_those_inside_documents(said):
    tables = {each["table"]: each for each in said()["tables"]}
    assert tables["alloys"]["columns"][-1] == {
        "name": "density",
        "heading": "Density",
        "unit": "g/cm3",
        "numeric": True,
        "filled": 2,
        "not_numbers": 0,
        "minimum": 2.66,
        "maximum": 8.05,
    }
    [inside] = [each for name, each in tables.items() if name.startswith("specification.md#")]
    assert [column["heading"] for column in inside["columns"]] == ["Specimen", "Load"]


def test_a_table_inside_a_document_answers_where_no_table_of_a_source_does(said):
    record = said("What is the load of specimen A2?")
    assert record["outcome"] == "answered"
    assert "13.1 kN" in record["sentences"][0]["text"]
    [cell] = [each for each in record["sentences"][0]["citations"] if each["column"] == "Load (kN)"]
    assert cell["unit_id"] == record["unit_ids"][0]
    assert cell["table"].startswith("specification.md#")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--plan", "nowhere.json"], FAILED, "nowhere.json cannot be read"),
        (["--compare", "1", "2"], USAGE, "--table must name one table: laboratory/alloys"),
        (["--table", "alloys", "--compare", "77"], FAILED, "has no row with the key '77'"),
        (["--document", "nowhere.md"], FAILED, "the index has no document 'nowhere.md'"),
        (["--variant", "nothing"], USAGE, "nothing"),
    ],
)
def test_what_cannot_be_done_is_said(built, monkeypatch, capsys, arguments, code, told):
    monkeypatch.chdir(built)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    assert cli.main(["tables", "lookup", *arguments]) == code
    assert told in capsys.readouterr().err


def test_people_read_sentences_and_a_table(built, monkeypatch, capsys):
    monkeypatch.chdir(built)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    assert cli.main(["tables", "lookup", HIGHEST]) == OK
    text = capsys.readouterr().out
    assert text.startswith("Invar")
    assert "Density (g/cm3)" in text
    assert "Read as:" in text


def test_the_arm_brings_the_row_to_the_front_of_a_search(opened):
    store, config = opened
    index = open_index(store, config, "default", arms={"lookup": LookupArm(store, config)})
    retriever = Retriever(signals=["bm25"], arms=("lookup",))
    first = index.search(HIGHEST, retriever=retriever)[0]
    assert (first.table, first.row_key, first.arms["lookup"].rank) == ("alloys", "2", 1)
    documents = index.search(HIGHEST, retriever=retriever, filters=Filters(domain="document"))
    assert {hit.domain for hit in documents} <= {"document"}
    other = index.search(HIGHEST, retriever=retriever, filters=Filters(table="test_salt"))
    assert {hit.table for hit in other} <= {"test_salt"}


def test_a_query_that_is_no_question_to_a_table_is_ranked_as_without_the_arm(opened):
    store, config = opened
    index = open_index(store, config, "default", arms={"lookup": LookupArm(store, config)})
    plain, beside = Retriever(signals=["bm25"]), Retriever(signals=["bm25"], arms=("lookup",))
    query = "why does the alloy bear salt"
    assert [(hit.unit_id, hit.score) for hit in index.search(query, retriever=plain)] == [
        (hit.unit_id, hit.score) for hit in index.search(query, retriever=beside)
    ]
