"""Each fault is found under its code and no other, mended, and gone: as if built from scratch."""

import pytest
from _pytest.mark.structures import ParameterSet

from rag_assets.change.quarantine import QUARANTINE
from rag_assets.findings.finding import kinds
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.repairing import land_again, repair
from rag_assets_testing.documents import making
from rag_assets_testing.faults import comparing, damaging, project
from rag_assets_testing.faults.built import small as built
from rag_assets_testing.faults.harming import HARMS, Built
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project
from rag_assets_tests.operations.doctor.visits import codes, looked_and_repaired, repaired

Contents = dict[str, list[tuple[str, str]]]
EMBEDDED_AGAIN = {
    "unit gone",
    "zero vector",
    "vector that is no number",
    "vector of another model",
    "text of another unit",
}
"""What takes a vector away: the one text is embedded once more."""

ELSEWHERE = {
    *("D104", "D106", "D109", "D403", "D503", "D504", "D505"),
    *("D604", "D606", "D607", "D705", "D802", "D901"),
    *("D1001", "D1002", "D1003", "D1004", "D1005", "D1006"),
}
"""Codes that take more than one deed: see `test_sound` and `operations.test_model_in_place`; those
of language models take a server: see `serving.commands.test_doctor`."""


AT_NIGHT = {
    *("joint table cut short", "files of indexes cut short", "element twice", "element gone"),
    *("document's chunks gone", "serialized row gone", "text of no row"),
    *("chunks made from another", "text of a unit altered", "vector that is no number"),
}
"""Deeds that differ from another one with the same code by the table alone, or the value."""
THE_DOCTOR = ["rag_assets/operations/doctor", "rag_assets/store/repair.py"]


def of_the_night(harm: str) -> ParameterSet:
    """A deed, left to the night where it is one of these."""
    marks = pytest.mark.nightly(guards=THE_DOCTOR) if harm in AT_NIGHT else ()
    return pytest.param(harm, marks=marks)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Contents:
    """What the tables of a project hold that nobody breaks."""
    return contents(built(tmp_path_factory.mktemp("whole")))


@pytest.fixture
def made(tmp_path) -> Project:
    """The same project, to be broken."""
    return built(tmp_path)


def contents(made: Project) -> Contents:
    """What its tables hold."""
    return comparing.contents(made.store, tables=comparing.tables_of(made.config))


def differing(made: Project, whole: Contents) -> list[str]:
    """How its tables differ from those that were never broken."""
    ours = contents(made)
    return [*comparing.lost(ours, whole), *comparing.doubled(ours, whole)]


@pytest.mark.parametrize("harm", map(of_the_night, HARMS))
def test_a_fault_is_found_and_mended(made, whole, harm):
    expected, deed = HARMS[harm]
    deed(Built(made.store, made.config))

    with hashing(made.home / "ledger"):
        found, done = looked_and_repaired(made)

    assert codes(found) == expected.split()
    assert {*expected.split()} <= {fault.code for fault in done.mended}
    assert done.left.found == []
    assert differing(made, whole) == []
    embedded = comparing.written_down(made.home / "ledger")
    assert len(embedded) <= (harm in EMBEDDED_AGAIN), "no text is embedded that need not be"


@pytest.mark.parametrize("harm", ["elements gone", "element gone", "element twice"])
def test_what_a_broken_file_gave_in_part_is_made_again(tmp_path, harm):
    """Its failure waits for another version of the file, but only as long as the part is there."""
    made = project.make(tmp_path, documents=0)
    made.documents.mkdir(exist_ok=True)
    making.partly_readable(made.documents / "partly.pdf", "The page that is left")
    with hashing():
        refresh(made.config)
    before = contents(made)
    HARMS[harm][1](Built(made.store, made.config))
    with hashing():
        done = repaired(made)
    assert done.left.found == []
    assert differing(made, before) == []


def test_a_damaged_quarantine_is_mended_itself(tmp_path):
    made = project.make(tmp_path, documents=0)
    made.documents.mkdir(exist_ok=True)
    making.partly_readable(made.documents / "partly.pdf", "The page that is left")
    with hashing():
        refresh(made.config)
    before = contents(made)
    damaging.damage(damaging.folder_of(made.store, QUARANTINE), files="data/*", how="gone")
    with hashing():
        done = repaired(made)
    assert done.left.found == []
    assert differing(made, before) == []


@pytest.mark.parametrize("table", ["families", "joint"])
def test_a_newer_index_takes_the_place_of_one_whose_files_are_cut_short(made, table):
    made.write("new.md", project.report(9))
    land_again(made.store, made.config, log=lambda _: None)  # a killed refresh got so far
    name = getattr(made.config.tables_of("default"), table)
    damaging.damage(damaging.folder_of(made.store, name), files="data/*", how="half")
    with hashing():
        done = repaired(made)
    assert done.left.found == []


def test_each_code_has_a_deed_that_it_names():
    done = {code for codes_of, _ in HARMS.values() for code in codes_of.split()}
    assert done | ELSEWHERE == {each.code for each in kinds().values() if each.code[:1] == "D"}
    assert not done & ELSEWHERE


def test_a_repair_says_which_source_could_not_be_read(made):
    made.store.drop(made.store.generation("document_files"))
    made.documents.rename(made.home / "elsewhere")
    said: list[str] = []
    with hashing():
        repair(Practice(made.store, made.config, ["default"], said.append))
    assert any(f"there is no folder {made.documents}" in line for line in said)
