"""The table of names follows its units, and a search has the names of the units it searches."""

import random
import sqlite3
from typing import get_args

import pytest

from rag_assets.change.steps import StepContext
from rag_assets.config import Config, LinkStage, Retriever, TextNameKind
from rag_assets.graph import STEPS
from rag_assets.knowledge.checks import subjects
from rag_assets.knowledge.steps import UNIT_LINKS
from rag_assets.knowledge.unit_links import refresh_unit_links
from rag_assets.quality import result_of
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.links import in_text
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets.store.unit_links import MOST_THINGS, read_links
from rag_assets_testing.faults import project
from rag_assets_testing.faults.comparing import contents
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project

SEED = 20261127


def names_in(config: Config) -> list[tuple[str, str]]:
    table = config.tables_of("default").unit_links
    return contents(Store.of(config), tables=[table], without=["fingerprint"])[table]


def links_in(made: Project) -> set[tuple[str, str]]:
    pin = set_of(made.store, made.config, "default").unit_links
    assert pin
    rows = read_links(made.store, pin, synonyms={}).to_pylist()
    return {(row["kind"], row["text"]) for row in rows}


def found_in_texts(config: Config) -> set[tuple[str, str, str]]:
    """Every name in a text: the unit, the name and the unit that is about it."""
    index = open_index(Store.of(config), config, "default")
    columns = ["unit_id", "text", "document_id"]
    assert index.links
    names = index.links.names(get_args(TextNameKind))
    return {
        (unit["unit_id"], found.step.text, found.unit)
        for unit in index.select(Filters(versions="all"), columns, most=1000).to_pylist()
        for found in (
            in_text(unit["unit_id"], unit["text"], unit["document_id"], names=names)
            if names
            else ()
        )
    }


@pytest.fixture
def made(tmp_path) -> Project:
    found = project.make(tmp_path / "project", documents=4, rows=6)
    with sqlite3.connect(found.database) as database:
        database.executescript(
            "CREATE TABLE parts (id INTEGER PRIMARY KEY, part TEXT, standard TEXT, grade INTEGER "
            "REFERENCES grades(id));"
            "INSERT INTO parts VALUES (1, 'AB-1201', 'NHS 3101', 1), (2, 'AB-1202', 'none', 2);"
        )
    project.age(found.database)
    found.write("standards/nhs_3101.md", "# NHS 3101 Salt spray\n\nRinse part AB 1202.\n")
    return found


def test_rows_and_documents_lead_to_each_other(made):
    with hashing():
        refresh(made.config)

    links = links_in(made)

    assert ("identifier", "NHS 3101") in links
    assert ("identifier", "AB 1202") in links
    assert ("foreign_key", "1") in links


def test_an_edit_touches_the_names_of_its_own_units(made):
    with hashing():
        refresh(made.config)
        made.write("standards/nhs_3101.md", "# NHS 3102 Salt spray\n\nRinse part AB 1202.\n")
        *_, report = refresh(made.config)

    assert report.target == made.config.tables_of("default").unit_links
    assert (report.added, report.changed, report.removed) == (1, 0, 1)
    assert ("identifier", "NHS 3101") not in links_in(made)


def test_after_any_edits_the_table_is_that_of_a_build_from_scratch(made, tmp_path):
    draw = random.Random(SEED)
    number = iter(range(100))

    def edit_a_document() -> None:
        name = f"series0/report{draw.choice([0, 3])}.md"
        about = f"NHS {draw.randint(3100, 3103)}"
        part = draw.choice(["AB-1201", "AB-1202", "steel 2", "steel 4"])
        made.write(name, f"# {about} number {next(number)}\n\nSee {part}.\n")

    def edit_a_row() -> None:
        part = f"AB-120{draw.randint(1, 3)}"
        made.execute(f"UPDATE parts SET part = '{part}' WHERE id = {draw.randint(1, 2)}")

    def add_a_row() -> None:
        made.execute(f"INSERT INTO parts VALUES ({10 + next(number)}, 'AB-1203', 'NHS 3102', 0)")

    def remove_a_row() -> None:
        made.execute("DELETE FROM parts WHERE id = (SELECT max(id) FROM parts)")

    def rename_a_thing() -> None:
        name = f"steel {draw.randint(1, 4)}"
        made.execute(f"UPDATE tests SET name = '{name}' WHERE id = {draw.randint(1, 4)}")

    edits = (edit_a_document, edit_a_row, add_a_row, remove_a_row, rename_a_thing)
    made.file.write_text(made.file.read_text() + "links: {entities: {laboratory/tests: [name]}}\n")
    with hashing():
        refresh(made.config)
        for _ in range(4):
            for edit in draw.choices(edits, k=3):
                edit()
            refresh(made.config, allow_shrink=True)
        fresh = made.config_with(tmp_path / "fresh")
        refresh(fresh)

    assert names_in(made.config) == names_in(fresh)
    assert found_in_texts(made.config) == found_in_texts(fresh) != set()


def test_what_a_text_names_follows_another_unit_without_its_own_being_read(made):
    made.file.write_text(made.file.read_text() + "links: {entities: {laboratory/tests: [name]}}\n")
    made.write("series0/report0.md", "# Bars\n\nThe bars are of Quibble steel, as ordered.\n")
    retriever = Retriever(signals=["bm25"], links=LinkStage())

    def reached() -> list[str]:
        index = open_index(made.store, made.config, "default")
        found = index.search("ordered bars", retriever=retriever)
        return [hit.linked.words for hit in found if hit.linked]

    with hashing():
        refresh(made.config)
        before = reached()
        made.execute("UPDATE tests SET name = 'quibble steel' WHERE id = 3")
        *_, report = refresh(made.config)

    assert before == []
    assert (report.added, report.changed, report.removed) == (1, 0, 1)
    assert reached() == ['series0/report0.md -> "Quibble steel" (name)']


def test_columns_of_entities_that_are_not_there_are_told(made):
    made.file.write_text(
        made.file.read_text() + "links: {entities: {laboratory/tests: [nam], lab/tests: [name]}}\n"
    )
    told: list[str] = []
    with hashing():
        refresh(made.config)
        refresh_unit_links(made.store, made.config, variant="default", log=told.append)

    assert [line.partition(" column ")[2].partition(":")[0] for line in told[:2]] == [
        "laboratory/tests",
        "lab/tests",
    ]


def steps_but_links(made: Project) -> None:
    work = StepContext(store=made.store, config=made.config, variant="default", steps=STEPS)
    for step in STEPS.in_order(made.config, "default").values():
        if step.kind is not UNIT_LINKS:
            step.kind.refresh(work)


def test_names_of_other_units_are_not_given_to_a_search(made):
    with hashing():
        refresh(made.config)
        before = set_of(made.store, made.config, "default")
        made.write("series0/report0.md", "# Another\n\nSee NHS 3101.\n")
        steps_but_links(made)
        between = set_of(made.store, made.config, "default")
        UNIT_LINKS.refresh(
            StepContext(store=made.store, config=made.config, variant="default", steps=STEPS)
        )
        after = set_of(made.store, made.config, "default")

    assert before.unit_links
    assert before.joint != between.joint
    assert between.unit_links is None
    assert after.unit_links
    assert after.joint == between.joint


def test_no_table_is_made_where_no_kind_is_wanted(made):
    made.file.write_text(made.file.read_text() + "links: {kinds: []}\n")

    assert UNIT_LINKS.name not in STEPS.of_variant(made.config, "default")


def test_names_that_are_of_too_many_are_told_and_followed_by_nobody(made):
    for number in range(MOST_THINGS + 1):
        made.write(f"notes/note{number}.md", f"# NHS 3105 part\n\nNote {number}.\n")
    made.execute("UPDATE parts SET standard = 'NHS 3105'")
    with hashing():
        refresh(made.config)
    [subject] = subjects(made.config)

    result = result_of(subject, store=made.store, log=print, partition="default")

    assert not result.blocks
    assert result.outcomes["few_names_of_many"].observed == 2  # the title and the identifier
    assert ("identifier", "NHS 3105") not in links_in(made)


def test_the_count_of_links_by_kind_is_shown(made):
    with hashing():
        refresh(made.config)
        work = StepContext(store=made.store, config=made.config, variant="default", steps=STEPS)
        content = UNIT_LINKS.refresh(work).content

    assert content
    shown = content.describe()
    assert shown.keys() == set(content.names)
    assert {"kind": "foreign_key", "from documents": 0, "from rows": 2} in shown[
        "links by kind"
    ].records
