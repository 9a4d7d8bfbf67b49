import html
import json
import re
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.config import SERIALIZERS as NAMES
from rag_assets.tables import serializers
from rag_assets.tables.serializers import EMPTY, SERIALIZERS, Pair, as_json, as_xml, as_yaml

STEEL_A = [
    Pair("Material", "Steel A", False),
    Pair("Melting point", "1340", True),
    Pair("Yield strength", "240 MPa", False),
]
STEEL_B = [
    Pair("Material", "Steel B", False),
    Pair("Melting point", "1400", True),
    Pair("Yield strength", EMPTY, False),
]

APPENDIX = {
    "json": (
        """\
{
  "Metal properties": {
    "Material": "Steel A",
    "Melting point": 1340,
    "Yield strength": "240 MPa"
  }
}""",
        """\
{
  "Metal properties": {
    "Material": "Steel B",
    "Melting point": 1400,
    "Yield strength": "Null"
  }
}""",
    ),
    "yaml": (
        """\
Metal properties:
  Material: Steel A
  Melting point: 1340
  Yield strength: 240 MPa""",
        """\
Metal properties:
  Material: Steel B
  Melting point: 1400
  Yield strength: 'Null'""",
    ),
    "markdown": (
        """\
## Metal properties
|:-----|:-----|
| Material      | Steel A |
| Melting point | 1340    |
| Yield strength| 240 MPa |""",
        """\
## Metal properties
|:-----|:-----|
| Material      | Steel B |
| Melting point | 1400    |
| Yield strength| Null    |""",
    ),
    "transposed_markdown": (
        """\
## Metal properties
| Material | Melting point | Yield strength |
|:-----|:-----|:-----|
| Steel A  | 1340          | 240 MPa        |""",
        """\
## Metal properties
| Material | Melting point | Yield strength |
|:-----|:-----|:-----|
| Steel B  | 1400          | Null           |""",
    ),
    "markdown_key_values": (
        """\
## Metal properties
Material: Steel A
...

Melting point: 1340
...

Yield strength: 240 MPa
...""",
        """\
## Metal properties
Material: Steel B
...

Melting point: 1400
...

Yield strength: Null
...""",
    ),
    "xml": (
        """\
<?xml version="1.0" ?>
<root>
  <Metal_properties>
    <Material>Steel A</Material>
    <Melting_point>1340</Melting_point>
    <Yield_strength>240 MPa</Yield_strength>
  </Metal_properties>
</root>""",
        """\
<?xml version="1.0" ?>
<root>
  <Metal_properties>
    <Material>Steel B</Material>
    <Melting_point>1400</Melting_point>
    <Yield_strength>Null</Yield_strength>
  </Metal_properties>
</root>""",
    ),
    "html": (
        """\
<header>Metal properties</header>
<ul><li>Material: Steel A</li>
<li>Melting point: 1340</li>
<li>Yield strength: 240 MPa</li></ul>""",
        """\
<header>Metal properties</header>
<ul><li>Material: Steel B</li>
<li>Melting point: 1400</li>
<li>Yield strength: Null</li></ul>""",
    ),
    "semantic": (
        "Item in Metal properties:, Material is Steel A, Melting point is 1340, "
        "Yield strength is 240 MPa.",
        "Item in Metal properties:, Material is Steel B, Melting point is 1400, "
        "Yield strength is Null.",
    ),
    "full_semantic": (
        "Item in Metal properties where Material is Steel A and Melting point is 1340 "
        "and Yield strength is 240 MPa.",
        "Item in Metal properties where Material is Steel B and Melting point is 1400 "
        "and Yield strength is Null.",
    ),
}
"""Figure C.1 of the thesis; its two semantic formats are broken into lines for the page."""


def test_there_is_a_serializer_for_each_name_of_the_config():
    assert set(SERIALIZERS) == set(NAMES) == set(APPENDIX)


@pytest.mark.parametrize("name", NAMES)
def test_the_rows_of_the_appendix_are_written_as_there(name):
    write = SERIALIZERS[name]

    assert write("Metal properties", STEEL_A) == APPENDIX[name][0]
    assert write("Metal properties", STEEL_B) == APPENDIX[name][1]


UNITS = [Pair("yield strength [MPa]", "240.5", True), Pair("elongation [%]", "n/a", False)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("json", '"yield strength [MPa]": 240.5,\n    "elongation [%]": "n/a"'),
        ("yaml", "yield strength [MPa]: 240.5\n  elongation [%]: n/a"),
        ("html", "yield strength [MPa]: 240.5</li>"),
        (
            "xml",
            '<yield_strength unit="MPa">240.5</yield_strength>\n    '
            '<elongation unit="%">n/a</elongation>',
        ),
        ("markdown", "| yield strength [MPa]| 240.5 |\n| elongation [%]      | n/a   |"),
        ("semantic", "yield strength is 240.5 MPa, elongation [%] is n/a."),
        ("full_semantic", "where yield strength is 240.5 MPa and elongation [%] is n/a."),
    ],
)
def test_a_unit_follows_its_number_in_sentences_and_its_heading_elsewhere(name, expected):
    assert expected in SERIALIZERS[name]("Steels", UNITS)


def test_a_number_keeps_its_digits():
    digits = [Pair("tiny", "0.00000000000000000000012345678901234567890", True)]

    for write in SERIALIZERS.values():
        assert digits[0].value in write("Table", digits)


def test_text_that_looks_like_a_number_stays_text():
    text = [
        Pair("grade", "0042", False),
        Pair("ok", "yes", False),
        Pair("day", "2024-01-02", False),
    ]

    assert list(json.loads(as_json("T", text))["T"].values()) == ["0042", "yes", "2024-01-02"]
    assert list(yaml.safe_load(as_yaml("T", text))["T"].values()) == ["0042", "yes", "2024-01-02"]


def test_equal_headings_are_told_apart_where_a_format_needs_names():
    years = [Pair("year", "1", True), Pair("year (2)", "2", True), Pair("year", "3", True)]

    assert json.loads(as_json("T", years)) == {"T": {"year": 1, "year (2)": 2, "year (3)": 3}}
    assert yaml.safe_load(as_yaml("T", years)) == {"T": {"year": 1, "year (2)": 2, "year (3)": 3}}


def test_a_long_cell_does_not_pad_the_others():
    pairs = [Pair("name", "short", False), Pair("note", "x" * 500, False)]

    assert "| name| short |" in SERIALIZERS["markdown"]("T", pairs)


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{0,9}[1-9])?", fullmatch=True).filter(
    lambda number: number != "-0"
)
TEXTS = st.text(min_size=1) | st.sampled_from(
    [
        "null",
        "Yes",
        "~",
        "- a",
        "a: b",
        "#x",
        "a|b",
        "]]>",
        "<b>",
        "&amp;",
        "\r\n",
        "...",
        "1e3",
        "\x85",
    ]
)
PAIRS = st.lists(
    st.builds(Pair, TEXTS, NUMBERS, st.just(True)) | st.builds(Pair, TEXTS, TEXTS, st.just(False)),
    min_size=1,
    max_size=6,
)
DISTINCT = PAIRS.filter(lambda pairs: len({pair.heading for pair in pairs}) == len(pairs))


@given(TEXTS, DISTINCT)
def test_json_reads_back_as_the_same_pairs(title, pairs):
    read = json.loads(as_json(title, pairs), parse_int=_Number, parse_float=_Number)

    assert _pairs_of(read[title]) == pairs


@given(TEXTS, DISTINCT)
def test_yaml_reads_back_as_the_same_pairs(title, pairs):
    read = yaml.load(as_yaml(title, pairs), Loader=_ExactLoader)

    assert _pairs_of(read[title]) == pairs


@given(TEXTS, PAIRS)
def test_xml_reads_back_as_the_same_pairs(title, pairs):
    root = ElementTree.fromstring(as_xml(title, pairs))

    assert _heading_of(root[0]) == _in_xml(title)
    assert [(_heading_of(element), element.text) for element in root[0]] == [
        (_in_xml(_spaced(pair.heading)), _in_xml(pair.value)) for pair in pairs
    ]


@given(st.sampled_from(NAMES), TEXTS, PAIRS)
def test_every_value_and_heading_can_be_found_in_the_text(name, title, pairs):
    text = SERIALIZERS[name](title, pairs)

    for pair in pairs:
        assert _as_found_in(name, pair.value) in _unescaped(name, text)


@given(st.from_regex(serializers._PLAIN_YAML, fullmatch=True))
def test_the_short_cut_for_plain_yaml_gives_what_the_dumper_gives(text):
    dumped = yaml.dump(text, Dumper=yaml.SafeDumper, allow_unicode=True, width=2**30)

    assert serializers._yaml_scalar(text) == dumped.removesuffix("\n").removesuffix("\n...")


@given(
    st.sampled_from(NAMES),
    st.text(),
    st.lists(st.builds(Pair, st.text(), st.text(), st.just(False))),
)
def test_no_serializer_raises(name, title, pairs):
    assert isinstance(SERIALIZERS[name](title, pairs), str)


def test_a_heading_too_long_for_a_simple_yaml_key_reads_back():
    heading = "word " * 400 + "end"

    read = yaml.safe_load(as_yaml(heading, [Pair(heading, "1", True), Pair("b", "x", False)]))

    assert read == {heading: {heading: 1, "b": "x"}}


class _Number(str):
    """A number as it was spelled."""

    __slots__ = ()


class _ExactLoader(yaml.SafeLoader):
    """Keeps numbers as they are spelled."""


for _tag in ("int", "float"):
    _ExactLoader.add_constructor(
        f"tag:yaml.org,2002:{_tag}", lambda loader, node: _Number(loader.construct_scalar(node))
    )


def _pairs_of(members):
    return [
        Pair(heading, str(value), isinstance(value, _Number)) for heading, value in members.items()
    ]


def _heading_of(element):
    words = element.get("name", element.tag.replace("_", " "))
    unit = element.get("unit")
    return words if unit is None else f"{words} [{unit}]"


def _spaced(heading):
    """The heading with one blank before its unit."""
    return re.sub(r"(?<=\S)\s*\[([^\[\]]+)\]\Z", r" [\1]", heading)


def _in_xml(text):
    return serializers._xml_characters(text)


def _as_found_in(name, value):
    if name in ("markdown", "transposed_markdown"):
        return re.sub("\r\n|\r", "\n", value)
    return _in_xml(value) if name == "xml" else value


def _unescaped(name, text):
    if name == "json":
        return "\n".join(_leaves(json.loads(text, parse_int=str, parse_float=str)))
    if name == "yaml":
        return "\n".join(_leaves(yaml.load(text, Loader=_ExactLoader)))
    if name == "xml":
        return "\n".join(element.text or "" for element in ElementTree.fromstring(text).iter())
    if name == "html":
        return html.unescape(text)
    if name in ("markdown", "transposed_markdown"):
        return text.replace("\\|", "|").replace("<br>", "\n")
    return text


def _leaves(read):
    return [str(value) for members in read.values() for value in members.values()]
