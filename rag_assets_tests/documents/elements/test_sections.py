"""Heading levels and section paths."""

import pytest

from rag_assets.documents.elements.element import Element
from rag_assets.documents.elements.sections import section_depth, with_sections


def heading(text, *, size=None, level=None, page=None):
    return Element(type="heading", text=text, font_size=size, level=level, page=page)


def text(page=None):
    return Element(type="text", text="text", page=page)


def levels(*elements):
    return [element.level for element in with_sections(elements) if element.type == "heading"]


@pytest.mark.parametrize(
    ("title", "depth"),
    [
        ("1 Scope", 1),
        ("3.2.1 Samples", 3),
        ("1. APPLICABILITY", 1),
        ("Chapter 2 Tutorials", 1),
        ("Kapitel 4.1 Provning", 2),
        ("A.1 Proofs", 2),
        ("A study of plates", None),
        ("2024 results", None),
        ("Summary", None),
        ("7", None),
        ("22 // ****", None),
        ("17 18 simulationType RASModel;", None),
        ("3 (Informative) examples", 1),
    ],
)
def test_a_section_number_says_how_deep_a_heading_is(title, depth):
    assert section_depth(title) == depth


def test_numbers_decide_whatever_the_type_size():
    found = levels(heading("2 Method", size=12), heading("2.1.1 Oven", size=20))
    assert found == [1, 3]


def test_headings_without_number_take_the_level_of_their_size():
    found = levels(
        heading("A report on steel", size=24),
        heading("Abstract", size=14),
        heading("1 Scope", size=14),
        heading("1.1 Plates", size=12),
        heading("Furnace", size=12),
        heading("Remark", size=10),
    )
    assert found == [1, 1, 1, 2, 2, 3]


def test_clauses_numbered_anew_in_small_type_lift_no_other_heading_of_that_size():
    found = levels(
        heading("1. Applicability", size=12),
        heading("2. Copying", size=12),
        heading("2.1 Cavity", size=17),
        heading("2.1.1 Mesh", size=14),
        heading("Boundary conditions", size=12),
    )
    assert found == [1, 1, 2, 3, 4]


def test_without_numbers_larger_type_stands_above_smaller():
    assert levels(heading("a", size=20), heading("b", size=12), heading("c", size=15)) == [1, 3, 2]


def test_levels_that_the_format_gives_are_kept_and_begin_at_one():
    assert levels(heading("1.2 Install", level=2), heading("Run", level=4)) == [1, 3]


def test_elements_know_the_headings_above_them_and_a_heading_opens_its_own_section():
    found = with_sections(
        [
            text(),
            heading("One", level=1),
            heading("Two", level=2),
            text(),
            heading("Three", level=1),
            text(),
        ]
    )
    assert [element.section_path for element in found] == [
        (),
        ("One",),
        ("One", "Two"),
        ("One", "Two"),
        ("Three",),
        ("Three",),
    ]


def test_no_heading_reaches_into_the_next_slide():
    slides = [heading("First", level=1, page=1), text(page=1), text(page=2)]
    assert with_sections(slides, slides=True)[-1].section_path == ()
    assert with_sections(slides)[-1].section_path == ("First",)


def test_a_heading_without_text_opens_nothing():
    found = with_sections([heading("", level=1), text()])
    assert found[1].section_path == ()
