"""Header fields: what the first page of standards and reports says of the whole."""

import pytest

from rag_assets.config import HeaderRules
from rag_assets.documents.chunks.regions import Block
from rag_assets.documents.head.header_fields import MOST_OF_A_VALUE, fields_of, rules_of


def fields(*blocks, presets=("standard",), elements=40, **own):
    """Fields of a document of `(type, text)` or `(type, text, page)`."""
    parts = [
        Block(index, type_, text, page[0] if page else 1, ())
        for index, (type_, text, *page) in enumerate(blocks)
    ]
    rules = rules_of(HeaderRules(presets=list(presets), fields=own))
    return dict(entry.split(": ", 1) for entry in fields_of(parts, rules, elements=elements))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("ISO 527-1:2019(E)", "ISO 527-1:2019"),
        ("EN ISO 6892-1:2019", "EN ISO 6892-1:2019"),
        ("SS-EN 10025-2:2004", "SS-EN 10025-2:2004"),
        ("SVENSK STANDARD SS-EN ISO 148-1", "SS-EN ISO 148-1"),
        ("SS 112301", "SS 112301"),
        ("Designation: ASTM E8/E8M-22", "ASTM E8/E8M-22"),
        ("ASTM A370", "ASTM A370"),
        ("DIN EN 10002-1:2001-12", "DIN EN 10002-1:2001"),
        ("IEC 60068-2-6", "IEC 60068-2-6"),
        ("ISO/IEC 17025:2017", "ISO/IEC 17025:2017"),
        ("JIS Z 2241:2011", "JIS Z 2241:2011"),
    ],
)
def test_the_number_of_a_standard_is_found_in_its_page_header(text, number):
    assert fields(("page_header", text), ("text", "Metals."))["number"] == number


def test_the_cover_of_a_standard():
    found = fields(
        ("text", "INTERNATIONAL STANDARD"),
        ("heading", "ISO 527-2"),
        ("text", "Second edition"),
        ("text", "2012-02-15"),
        ("title", "Plastics: determination of tensile properties"),
        ("heading", "1 Scope", 2),
    )
    assert found == {
        "number": "ISO 527-2",
        "title": "Plastics: determination of tensile properties",
        "revision": "Second edition",
        "date": "2012-02-15",
    }


def test_the_head_of_a_report_in_lines_in_one_run_and_in_a_table():
    expected = {
        "region": "Europe",
        "test_name": "60kph Side 90° (LH)",
        "stage": "Proto",
        "purpose": "Performance evaluation",
    }
    lines = (
        "Region: Europe\nTest Name: 60kph Side 90° (LH)\nStage: Proto\n"
        "Purpose: Performance evaluation"
    )
    run = " ".join(lines.split("\n"))
    table = (
        "| **Region** | Europe |\n| --- | --- |\n| Test name | 60kph Side 90° (LH) |\n"
        "| Stage | Proto |\n| Purpose | Performance evaluation |"
    )
    for text in (lines, run, table):
        assert fields(("text", text), presets=["report"]) == expected


def test_prose_about_materials_is_no_header():
    prose = (
        "The purpose of this study is to relate the stage of ageing to strength. It was tested in "
        "the region of necking: the state was stable."
    )
    assert fields(("text", prose), presets=["report"]) == {}


def test_own_rules_are_tried_in_turn_and_take_the_place_of_a_presets():
    own = {"number": ["Id (\\d+)", "No (\\w+)"], "client": "for (.+)$"}
    found = fields(("text", "ISO 527\nNo A7\nfor  Steel\u00a0Works"), presets=["standard"], **own)
    assert (found["number"], found["client"]) == ("A7", "Steel Works")


def test_only_the_first_elements_of_the_first_page_are_looked_at():
    blocks = [("text", "one"), ("text", "No A7"), ("text", "Id B8", 2)]
    own = {"number": "No (\\w+)", "other": "Id (\\w+)"}
    assert fields(*blocks, presets=[], **own) == {"number": "A7"}
    assert fields(*blocks, presets=[], elements=1, **own) == {}


def test_a_long_value_is_cut_at_a_word():
    value = fields(("text", "about " + "steel " * 100), presets=[], about="about (.*)")["about"]
    assert value == " ".join(["steel"] * len(value.split()))
    assert MOST_OF_A_VALUE - 10 < len(value) <= MOST_OF_A_VALUE


@pytest.mark.parametrize("pattern", ["no group", "(two) (groups)", "(open"])
def test_a_rule_that_cannot_work_is_refused(pattern):
    with pytest.raises(ValueError, match=r"groups|no regular expression"):
        HeaderRules(fields={"number": pattern})
