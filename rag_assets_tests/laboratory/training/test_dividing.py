"""A part of the pairs is kept to validate with, and enough is left to learn from."""

import pytest

from rag_assets.laboratory.training.pairs import PairsError, divide


def divided(sizes):
    rows = [{"part": place} for place, size in sizes.items() for _ in range(size)]
    divide(rows)
    return [row["part"] for row in rows]


@pytest.mark.parametrize("large", [f"lab/table{number}" for number in range(40)])
def test_a_table_that_most_questions_are_to_is_learned_from(large):
    parts = divided({large: 80, **{f"files/{number}.md": 1 for number in range(20)}})

    assert 0 < parts.count("validation") <= 20


def test_questions_to_one_document_alone_are_told():
    with pytest.raises(PairsError, match=r"files/a\.md: ask about another"):
        divided({"files/a.md": 30})
