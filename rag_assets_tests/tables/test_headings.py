import pytest

from rag_assets.tables.headings import humanised, split


@pytest.mark.parametrize(
    ("heading", "parts"),
    [
        ("yield strength [MPa]", ("yield strength", "MPa")),
        ("density[kg/m³]", ("density", "kg/m³")),
        ("grade", ("grade", None)),
        ("[MPa]", ("[MPa]", None)),
        ("phase [at 20 °C] observed", ("phase [at 20 °C] observed", None)),
        ("empty []", ("empty []", None)),
    ],
)
def test_a_unit_in_square_brackets_is_split_off(heading, parts):
    assert split(heading) == parts


@pytest.mark.parametrize(
    ("name", "words"),
    [("melting_point", "melting point"), ("pH", "pH"), ("__a__b_", "a b"), ("_", "_"), ("", "")],
)
def test_a_raw_name_becomes_words(name, words):
    assert humanised(name) == words
