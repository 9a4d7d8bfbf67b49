"""A part of the pairs is kept to validate with, and of the others both domains count alike."""

from collections import Counter

import pyarrow as pa
import pytest

from rag_assets.laboratory.training.pairs import PairsError, divide
from rag_assets.laboratory.training.running import MOST_TIMES, balanced


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


@pytest.mark.parametrize(("documents", "tables", "of_tables"), [(8, 3, 8), (90, 2, 2 * MOST_TIMES)])
def test_pairs_of_the_rarer_domain_come_again_until_both_count_alike(documents, tables, of_tables):
    rows = [{"pair_id": f"d{n}", "domain": "document"} for n in range(documents)]
    rows += [{"pair_id": f"t{n}", "domain": "table"} for n in range(tables)]

    found = balanced(pa.Table.from_pylist(rows)).to_pylist()
    assert Counter(row["domain"] for row in found) == {"document": documents, "table": of_tables}
    times = Counter(row["pair_id"] for row in found if row["domain"] == "table")
    assert max(times.values()) - min(times.values()) <= 1, "each about as often"
    alone = pa.Table.from_pylist(rows[:documents])
    assert balanced(alone) == alone
