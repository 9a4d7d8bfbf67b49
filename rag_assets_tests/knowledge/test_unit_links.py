"""The table of names follows its units, and a search has the names of the units it searches."""

import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml

from rag_assets.change.steps import StepContext
from rag_assets.config import Config, LinkStage, Retriever, TextNameKind
from rag_assets.graph import STEPS
from rag_assets.knowledge.checks import subjects
from rag_assets.knowledge.steps import UNIT_LINKS
from rag_assets.knowledge.unit_links import refresh_unit_links
from rag_assets.models.language.many_asked import UNANSWERED_IN_A_ROW
from rag_assets.quality import result_of
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.links import in_text
from rag_assets.retrieval.opening import open_index
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets.store.unit_links import MOST_THINGS, read_links
from rag_assets.tables.table_rows import refresh_rows
from rag_assets_testing import effort
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import project
from rag_assets_testing.faults.comparing import contents, quarantine
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project
from rag_assets_testing.scripted_language_model import Behaviour, ScriptedServer, answers, status


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


@built_once
def linked(home: Path) -> Project:
    """A project with parts and a standard, whose index is built."""
    found = project.make(home, documents=4, rows=6)
    with sqlite3.connect(found.database) as database:
        database.executescript(
            "CREATE TABLE parts (id INTEGER PRIMARY KEY, part TEXT, standard TEXT, grade INTEGER "
            "REFERENCES grades(id));"
            "INSERT INTO parts VALUES (1, 'AB-1201', 'NHS 3101', 1), (2, 'AB-1202', 'none', 2);"
        )
    project.age(found.database)
    found.write("standards/nhs_3101.md", "# NHS 3101 Salt spray\n\nRinse part AB 1202.\n")
    with hashing():
        refresh(found.config)
    return found


@pytest.fixture
def made(tmp_path) -> Project:
    return linked(tmp_path / "project")


def test_rows_and_documents_lead_to_each_other(made):
    links = links_in(made)

    assert ("identifier", "NHS 3101") in links
    assert ("identifier", "AB 1202") in links
    assert ("foreign_key", "1") in links


def test_foreign_keys_are_followed_as_the_database_understands_them(made):
    made.execute(
        "CREATE TABLE plants (country TEXT, site TEXT, boss TEXT, PRIMARY KEY (country, site))",
        "INSERT INTO plants VALUES ('SE', 'Lund', 'Eva'), ('DE', 'Bonn', 'Uwe')",
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY, what TEXT, c TEXT, s TEXT, grade INTEGER "
        "REFERENCES GRADES, wears INTEGER REFERENCES tools(id), part_of INTEGER REFERENCES Jobs,"
        "FOREIGN KEY (c, s) REFERENCES Plants(Country, site))",
        "INSERT INTO jobs VALUES (51, 'weld', 'SE', 'Lund', 2, 9, NULL), "
        "(52, 'cut', NULL, 'Bonn', NULL, NULL, 51), (53, 'bend', 'DE', '', NULL, NULL, 53)",
    )
    with hashing():
        refresh(made.config)

    found = {text for kind, text in links_in(made) if kind == "foreign_key"}

    assert found == {"1", "2", "SE|Lund", "51"}


def test_rows_that_share_a_label_take_no_link_from_what_it_names(made):
    rows = ", ".join(f"({n}, 'NHS 3101', 'M{n}')" for n in range(1, 3 * MOST_THINGS))
    made.execute(
        "CREATE TABLE bolts (id INTEGER PRIMARY KEY, standard TEXT, size TEXT)",
        f"INSERT INTO bolts VALUES {rows}",
    )
    made.write("standards/nhs_3101_guide.md", "# Guide\n\nPlate by NHS 3101.\n")
    with hashing():
        refresh(made.config)
    pin = set_of(made.store, made.config, "default").unit_links
    assert pin

    found = read_links(made.store, pin, synonyms={}).to_pylist()

    named = [each for each in found if each["text"] == "NHS 3101"]
    assert len(named) == 3 * MOST_THINGS - 1 + 2  # the bolts, the part and the guide
    assert all(each["is_document"] for each in named)
    [subject] = subjects(made.config)
    result = result_of(subject, store=made.store, log=print, partition="default")
    assert result.outcomes["few_names_of_many"].observed == 0


def test_what_is_about_one_name_leads_to_the_other_domain_and_not_to_its_like(made):
    made.write("minutes/march.md", "# Review (March)\n\nAll was well with AB-1201.\n")
    made.write("minutes/june.md", "# Review (June)\n\nNothing was.\n")
    made.write("parts/ab_1201.md", "# AB-1201 washer\n\nIt is made of steel.\n")
    made.execute("INSERT INTO parts VALUES (3, 'AB-1201', 'none', 2)")

    with hashing():
        refresh(made.config)

    pin = set_of(made.store, made.config, "default").unit_links
    assert pin
    units = made.store.read(pin.table, columns=["unit_id", "uri"], version=pin.version)
    uris = dict(zip(*(units[name].to_pylist() for name in ("unit_id", "uri")), strict=True))
    found = {
        (uris[link["unit_id"]], uris[link["target"]])
        for link in read_links(made.store, pin, synonyms={}).to_pylist()
        if link["kind"] in {"title", "identifier"}
    }
    part, parts = "parts/ab_1201.md", "laboratory/parts"
    assert {("minutes/march.md", part), ("minutes/march.md", parts)} <= found
    assert {(part, parts), (parts, part)} <= found
    assert not {(parts, parts), ("minutes/march.md", "minutes/june.md")} & found


def test_an_edit_touches_the_names_of_its_own_units(made):
    with hashing():
        made.write("standards/nhs_3101.md", "# NHS 3102 Salt spray\n\nRinse part AB 1202.\n")
        *_, report = refresh(made.config)

    assert report.target == made.config.tables_of("default").unit_links
    assert (report.added, report.changed, report.removed) == (1, 0, 1)
    assert ("identifier", "NHS 3101") not in links_in(made)


@effort.sweep(4)
def test_after_any_edits_the_table_is_that_of_a_build_from_scratch(made, tmp_path, seed):
    draw = random.Random(seed)
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

    def remove_a_document() -> None:
        draw.choice(sorted(made.documents.rglob("report*.md"))).unlink()

    def rename_a_document() -> None:
        path = draw.choice(sorted(made.documents.rglob("*.md")))
        path.rename(path.with_name(f"NHS_{3200 + next(number)}.md"))

    def declare_other_keys() -> None:
        made.execute(
            "ALTER TABLE parts RENAME TO former",
            "CREATE TABLE parts (id INTEGER PRIMARY KEY, part TEXT, standard TEXT, grade INTEGER"
            f"{draw.choice(['', ' REFERENCES grades(id)'])})",
            "INSERT INTO parts SELECT * FROM former",
            "DROP TABLE former",
        )

    def rename_a_thing() -> None:
        name = f"steel {draw.randint(1, 4)}"
        made.execute(f"UPDATE tests SET name = '{name}' WHERE id = {draw.randint(1, 4)}")

    edits = (
        *(edit_a_document, edit_a_row, add_a_row, remove_a_row),
        *(remove_a_document, rename_a_document, declare_other_keys, rename_a_thing),
    )
    made.file.write_text(made.file.read_text() + "links: {entities: {laboratory/tests: [name]}}\n")
    with hashing():
        refresh(made.config)
        assert found_in_texts(made.config), "there is something that edits may take away"
        in_turn = draw.sample(edits, k=len(edits))
        for some in (in_turn[:4], in_turn[4:]):
            for edit in some:
                edit()
            refresh(made.config, allow_shrink=True)
        fresh = made.config_with(tmp_path / "fresh")
        refresh(fresh)

    assert names_in(made.config) == names_in(fresh)
    assert found_in_texts(made.config) == found_in_texts(fresh)


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


def test_names_of_a_row_that_was_away_for_a_moment_are_read_when_it_is_back(made, tmp_path):
    with hashing():
        made.execute("UPDATE parts SET standard = 'NHS 3102' WHERE id = 1")
        made.file.write_text(made.file.read_text() + "links: {identifiers: {x: 'QX[0-9]+'}}\n")
        for source in made.config.sources.tables:
            refresh_exports(made.store, source, allow_shrink=False, log=print)
        refresh_rows(made.store, sources=made.config.table_sources, log=print)
        between = refresh_unit_links(made.store, made.config, variant="default", log=print)
        made.execute("UPDATE parts SET standard = 'NHS 3101' WHERE id = 1")
        refresh(made.config)
        fresh = made.config_with(tmp_path / "fresh")
        refresh(fresh)

    assert [failure.kind for failure in between.failures] == ["environment"]
    assert names_in(made.config) == names_in(fresh)
    assert not quarantine(made.config.state_dir, tables=[between.target])


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
        work = StepContext(store=made.store, config=made.config, variant="default", steps=STEPS)
        content = UNIT_LINKS.refresh(work).content

    assert content
    shown = content.describe()
    assert shown.keys() == set(content.names)
    assert {"kind": "foreign_key", "from documents": 0, "from rows": 2} in shown[
        "links by kind"
    ].records


RINSING = "# Rinsing\n\nThe Lund cell rinses Little Ann. It is the washer of NHS 3101.\n"
SAID = {
    "entities": [
        {"name": "AB-1201 washer", "quotation": "little  Ann"},
        {"name": "steel 3", "quotation": "is not there"},
        {"name": "steel 4", "quotation": "ttle"},
    ],
    "relations": [
        {
            "subject": "Lund cell",
            "relation": "rinses",
            "object": "AB-1201 washer",
            "quotation": "The Lund cell rinses Little Ann.",
        },
        {
            "subject": "Bonn cell",
            "relation": "rinses",
            "object": "steel 3",
            "quotation": "The Bonn cell rinses",
        },
    ],
}


def reads(body: dict) -> Behaviour:
    """Says of the text on rinsing what stands there and what does not; of the plan one entity."""
    passage = json.loads(body["messages"][-1]["content"])["passage"]
    plan = {"entities": [{"name": "Lund cell", "quotation": "our cell"}], "relations": []}
    nothing = {"entities": [], "relations": []}
    said = SAID if "Little Ann" in passage else plan if "our cell" in passage else nothing
    return answers(json.dumps(said))


@pytest.fixture
def reader() -> Iterator[ScriptedServer]:
    with ScriptedServer(reads) as server:
        yield server


def read_by(made: Project, server: ScriptedServer, **links: object) -> Config:
    """The config of the project with a language model that reads its texts."""
    entry = {"base_url": server.url, "model": "reader", "local": True, "attempts": 1}
    said = {"language_models": {"reader": entry}, "links": {"language_model": "reader", **links}}
    given = yaml.safe_load(made.file.read_text()) | said
    made.file.write_text(yaml.safe_dump(given))
    return made.config


def test_entities_and_relations_that_a_model_quotes_from_the_text_are_links(made, reader):
    made.write("notes/rinsing.md", RINSING)
    made.write("notes/plan.md", "# Plan\n\nPaint our cell.\n")
    made.write("parts/ab_1201.md", "# AB-1201 washer\n\nIt is made of steel.\n")
    with hashing():
        refresh(read_by(made, reader))

    pin = set_of(made.store, made.config, "default").unit_links
    assert pin
    units = made.store.read(pin.table, columns=["unit_id", "uri"], version=pin.version)
    uris = dict(zip(*(units[name].to_pylist() for name in ("unit_id", "uri")), strict=True))
    found = {
        (uris[each["unit_id"]], each["kind"], each["text"], uris[each["target"]])
        for each in read_links(made.store, pin, synonyms={}).to_pylist()
    }
    rinsing, plan = "notes/rinsing.md", "notes/plan.md"
    assert (rinsing, "title", "Little Ann", "parts/ab_1201.md") in found
    assert (plan, "relation", "our cell", rinsing) in found
    assert not any("steel 3" in text or "Bonn" in text for _, _, text, _ in found)


def test_a_text_is_read_once_whatever_becomes_of_the_tables_that_hold_it(made, reader):
    made.write("notes/rinsing.md", RINSING)
    with hashing():
        refresh(read_by(made, reader))
        texts = len({body["messages"][-1]["content"] for body in reader.requests})
        assert reader.calls == texts > 4
        made.write("notes/rinsing.md", RINSING + "Nothing else.\n")
        *_, report = refresh(made.config)
        assert reader.calls == texts + 1
        (made.config.state_dir / "language_models" / "calls.sqlite").unlink()
        *_, anew = refresh(read_by(made, reader, identifiers={"x": "QX[0-9]+"}))

    assert reader.calls == texts + 1
    assert report.spending["language model calls"] == 1
    assert anew.target != report.target
    assert anew.added > texts


def test_a_server_that_is_away_takes_no_name_and_is_asked_at_the_next_refresh(made):
    away = [status(500)] * UNANSWERED_IN_A_ROW
    with hashing(), ScriptedServer(lambda body: away.pop() if away else reads(body)) as server:
        before = links_in(made)
        *_, first = refresh(read_by(made, server))
        assert {each.kind for each in first.failures} == {"environment"}
        assert links_in(made) == before
        *_, second = refresh(made.config)

    assert not second.failures


def test_no_text_of_a_source_that_the_model_may_not_see_is_sent(made, reader):
    with hashing():
        read_by(made, reader)
        made.file.write_text(made.file.read_text().replace("local: true", "sources: [lists]"))
        *_, report = refresh(made.config)

    assert reader.calls == 0
    assert not report.failures
