"""Names in running text: the longest counts, at the bounds of words, spelled as a name."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.retrieval.text_names import NamesInText
from rag_assets.terms.names import name_of


def names(*given: str, kind: str = "name", synonyms: dict[str, str] | None = None) -> NamesInText:
    rows = [
        {
            "name": name_of(text) or text,
            "thing": f"about {text}",
            "is_document": kind == "title",
            "target": f"unit of {text}",
            "kind": kind,
            "text": text,
        }
        for text in given
    ]
    return NamesInText(pa.Table.from_pylist(rows), synonyms=synonyms or {})


def found(text: str, known: NamesInText) -> list[tuple[str, str]]:
    return [(written, thing.target) for written, thing in known.found_in(text)]


def test_a_name_is_found_however_it_is_spelled_at_the_bounds_of_words():
    known = names("Inconel 718", "iron")

    assert found("Ironclad INCONEL-718, not Inconel 7185.", known) == [
        ("INCONEL-718", "unit of Inconel 718")
    ]
    assert found("(Inconel 718)", known) == [("Inconel 718", "unit of Inconel 718")]
    assert found("An ingot of iron", known) == [("iron", "unit of iron")]


def test_the_longest_name_counts_and_all_that_are_about_it_are_candidates():
    rows = [("salt spray", "u1"), ("salt spray test", "u2"), ("salt spray test", "u3")]
    table = pa.Table.from_pylist(
        [
            {"name": n, "thing": u, "is_document": False, "target": u, "kind": "name", "text": n}
            for n, u in rows
        ]
    )

    known = NamesInText(table, synonyms={})

    assert found("The salt spray test failed.", known) == [
        ("salt spray test", "u2"),
        ("salt spray test", "u3"),
    ]


def test_synonyms_in_two_languages_stand_for_a_name():
    known = names("stainless steel", synonyms={"rostfritt stål": "stainless steel", "x": "gone"})

    assert found("Röret är av rostfritt stål.", known) == [
        ("rostfritt stål", "unit of stainless steel")
    ]
    assert len(known) == 2


@pytest.mark.parametrize(
    ("title", "text", "is_found"),
    [
        ("Lake City", "He moved to Lake City.", True),
        ("Lake City", "He moved to Salt Lake City.", False),
        ("Lake City", "a lake city", False),
        ("Salt spray test", "After the salt spray test it rusts.", True),
        ("Mercury", "a mercury lamp", False),
        ("Mercury", "The Mercury is near.", True),
        ("National Park Service", "the National Park Service of the States", True),
        ("Lake City", "In Lake City it rains.", True),
    ],
)
def test_a_title_counts_where_it_is_spelled_as_a_name(title, text, is_found):
    assert bool(found(text, names(title, kind="title"))) == is_found


NAMES = st.sets(
    st.lists(st.sampled_from(["ann", "bob", "cat"]), min_size=1, max_size=4).map(" ".join),
    max_size=4,
)


@given(NAMES, st.lists(st.sampled_from(["ann", "bob", "cat", "dot"]), max_size=8))
def test_names_are_taken_from_left_to_right_the_longest_first(known, words):
    at, expected = 0, []
    while at < len(words):
        fitting = [name for name in known if words[at:][: len(name.split())] == name.split()]
        longest = max(fitting, key=len, default="")
        expected += [longest] if longest else []
        at += len(longest.split()) or 1

    assert [written for written, _ in names(*known).found_in(" ".join(words))] == expected
