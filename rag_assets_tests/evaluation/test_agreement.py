from rag_assets.evaluation.agreement import agreement
from rag_assets.evaluation.projection import RankedUnit


def chunk(number: int, uri: str) -> RankedUnit:
    return RankedUnit(f"c{number}", "documents", uri, None, None, [1])


def row(key: str) -> RankedUnit:
    return RankedUnit(f"r{key}", "plant", "plant/alloys", "alloys", key, [])


def test_units_are_compared_and_their_documents_and_rows_counted():
    first = [[chunk(1, "a"), chunk(2, "a"), row("1"), chunk(9, "z")]]
    second = [[chunk(1, "a"), chunk(3, "a"), row("2"), chunk(8, "y")]]
    shared = agreement(first, second, k=3)
    assert shared.overlap.tolist() == [1]
    assert shared.jaccard.tolist() == [1 / 5]
    assert shared.union.tolist() == [5]
    assert shared.items.tolist() == [3]
    assert shared.new_items.tolist() == [1]


def test_the_order_does_not_matter():
    first = [[chunk(1, "a"), chunk(2, "b")]]
    shared = agreement(first, [first[0][::-1]], k=2)
    assert shared.jaccard.tolist() == [1]
    assert shared.new_items.tolist() == [0]


def test_two_that_find_nothing_agree():
    shared = agreement([[], [chunk(1, "a")]], [[], []], k=10)
    assert shared.jaccard.tolist() == [1, 0]
    assert shared.union.tolist() == [0, 1]
