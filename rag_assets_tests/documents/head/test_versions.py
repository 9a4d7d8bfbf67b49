"""How names and texts spell versions, and which of two is the newer one."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.documents.head.versions import (
    DocumentVersion,
    compared,
    named_versions,
    stated_versions,
    version_of,
)

NUMBERS = st.lists(st.integers(0, 99), min_size=1, max_size=4).map(tuple)
VERSIONS = st.builds(
    DocumentVersion,
    number=st.none() | NUMBERS,
    letter=st.none() | st.sampled_from("ABCDXYZ"),
    day=st.none() | st.dates(date(1990, 1, 1), date(2030, 1, 1)),
    is_unfinished=st.booleans(),
)


@pytest.mark.parametrize(
    ("path", "label", "base"),
    [
        ("manual_v2.1.pdf", "2.1", "manual-*"),
        ("STD-1234 rev B.pdf", "B", "std-1234-*"),
        ("guide-2024-03-01.pdf", "2024-03-01", "guide-*"),
        ("gnuplot-5.4.2/docs/manual.pdf", "5.4.2", "gnuplot-*/docs/manual"),
        ("handbook, edition 3.docx", "3", "handbook-*"),
        ("manual_v2.0rc1.pdf", "2.0 (draft)", "manual-*"),
        ("manual_v2_draft.pdf", "2 (draft)", "manual-*"),
    ],
)
def test_a_path_spells_a_version(path, label, base):
    named = next(iter(named_versions(path)))
    assert (named.version.label, named.base) == (label, base)


@pytest.mark.parametrize("path", ["chapter-1.md", "pump_316L.pdf", "V2A_sheet.md", "revision.md"])
def test_other_numbers_spell_none(path):
    assert list(named_versions(path)) == []


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Revision: B", ["B"]),
        ("Standard NHS 3101 Issue / Utgåva 4 · 2017-09-04", ["4"]),
        ("Version 2.1.0", ["2.1.0"]),
        ("| Rev | C |", ["C"]),
        ("Second edition", ["2"]),
        ("the version of the tool", []),
    ],
)
def test_a_text_states_versions(text, labels):
    assert [version.label for version in stated_versions(text)] == labels


@pytest.mark.parametrize(
    ("older", "newer"), [("1.9", "1.10"), ("A", "B"), ("Z", "AA"), ("2023-05", "2024-01-02")]
)
def test_versions_have_an_order(older, newer):
    one, other = version_of(older), version_of(newer)
    assert one
    assert other
    assert compared(one, other) == -1
    assert compared(other, one) == 1


def test_nobody_knows_whether_a_letter_is_newer_than_a_number():
    assert compared(DocumentVersion((2,)), DocumentVersion(letter="B")) is None


def test_a_trailing_zero_makes_no_other_version():
    assert compared(DocumentVersion((2, 0)), DocumentVersion((2,))) == 0


@given(one=VERSIONS, other=VERSIONS)
def test_the_order_turns_with_its_sides(one, other):
    forth, back = compared(one, other), compared(other, one)
    assert (forth is None) == (back is None)
    assert forth is None or back is None or forth == -back


@given(number=st.lists(st.integers(0, 999), min_size=1, max_size=4))
def test_a_version_is_found_in_the_name_that_it_was_put_in(number):
    text = ".".join(map(str, number))
    named = next(iter(named_versions(f"user manual_v{text}.pdf")))
    assert named.version.number == tuple(number)
    assert named.base == "user-manual-*"
