"""Each fault is found under its code and no other, mended, and gone: as if built from scratch."""

import pytest

from rag_assets.operations.doctor.rules import RULES
from rag_assets_tests.faults import comparing
from rag_assets_tests.faults.built import two_variants
from rag_assets_tests.faults.hashing import hashing
from rag_assets_tests.faults.project import Project
from rag_assets_tests.operations.doctor.harming import HARMS, Built
from rag_assets_tests.operations.doctor.visits import codes, examined, repaired

VARIANTS = ("default", "other")
EMBEDDED_AGAIN = {
    "unit gone",
    "zero vector",
    "vector that is no number",
    "vector of another model",
    "text of another unit",
}
"""What takes a vector away: the one text is embedded once more."""

ELSEWHERE = {
    *("D104", "D106", "D109", "D403", "D503", "D504"),
    *("D604", "D606", "D705", "D802", "D901"),
    *("D1001", "D1002", "D1003", "D1004", "D1005", "D1006"),
}
"""Codes that take more than one deed: see `test_sound`; those of language models take a server: see
`serving.commands.test_doctor`."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Project:
    """A project that was built, which nobody changes."""
    return two_variants(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def made(tmp_path) -> Project:
    """A copy of it, to be broken."""
    return two_variants(tmp_path)


def differing(made: Project, whole: Project) -> list[str]:
    """How the tables of the variants differ from those that were never broken."""
    tables = [name for each in VARIANTS for name in comparing.tables_of(made.config, each)]
    ours, theirs = (comparing.contents(each.store, tables=tables) for each in (made, whole))
    return [*comparing.lost(ours, theirs), *comparing.doubled(ours, theirs)]


@pytest.mark.parametrize("harm", HARMS)
def test_a_fault_is_found_and_mended(made, whole, harm):
    expected, deed = HARMS[harm]
    deed(Built(made.store, made.config))

    with hashing(made.home / "ledger"):
        assert codes(examined(made, variants=VARIANTS)) == expected.split()
        done = repaired(made, variants=VARIANTS)

    assert {*expected.split()} <= {fault.rule.code for fault in done.mended}
    assert [fault.record for fault in done.left.found] == []
    assert differing(made, whole) == []
    embedded = comparing.written_down(made.home / "ledger")
    assert len(embedded) <= (harm in EMBEDDED_AGAIN), "no text is embedded that need not be"


def test_each_code_has_a_deed_that_it_names():
    done = {code for codes_of, _ in HARMS.values() for code in codes_of.split()}
    assert done | ELSEWHERE == set(RULES)
    assert not done & ELSEWHERE
