"""Selection of nodes as paper P3 has it (A.1): any keyword, inside of words too."""

import pyarrow as pa

from rag_assets.laboratory.experiments.node_selection import keywords_of, selected

UNITS = pa.table(
    {
        "unit_id": ["u3", "u1", "u2", "u4"],
        "text": ["a position of valves", "ions", "steelmaking", "nothing of that"],
    }
)
DEGREES = {"u3": 1, "u1": 9, "u2": 0, "u4": 50}


def found(query: str, *, depth: int = 10, allowed: set[str] | None = None) -> list[str]:
    ranking = selected(
        UNITS,
        query,
        depth=depth,
        permitted=lambda units: {*units} & (allowed or {*units}),
        degree=DEGREES.__getitem__,
    )
    return [*ranking.unit_ids]


def test_keywords_are_lemmas_without_words_that_ask_or_join_and_numbers():
    assert keywords_of("Which alloys were tested at 355 MPa, and is it an alloy?") == [
        "alloy",
        "test",
        "mpa",
    ]
    assert keywords_of("Vilka ventiler har stålet?") == ["ventil", "stål"]
    assert keywords_of("Is it of a?") == []


def test_a_unit_that_holds_any_keyword_is_selected_inside_of_words_too():
    assert found("Where are the ions?") == ["u1", "u3"]
    assert found("the steel or a valve") == ["u3", "u2"]
    assert found("what is it") == []


def test_the_score_is_how_many_keywords_a_unit_holds_and_degrees_order_equal_ones():
    assert found("ion valve steel") == ["u3", "u1", "u2"]


def test_a_limit_and_filters_cut_what_is_selected():
    assert found("ion steel", depth=2) == ["u1", "u3"]
    assert found("ion steel", allowed={"u3"}) == ["u3"]
