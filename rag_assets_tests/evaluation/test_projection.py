import pytest

from rag_assets.evaluation.gold import DocumentGold, RowGold
from rag_assets.evaluation.projection import IndexedGold, Level, RankedUnit

MANUAL = ("docs", "manual.pdf")
NOTE = ("docs", "note.md")

INDEXED = IndexedGold(
    documents={
        "manual.pdf": [MANUAL],
        "note.md": [NOTE],
        "lost.pdf": [("docs", "lost.pdf")],
        "nowhere.pdf": [],
    },
    pages={
        MANUAL: {"m1": [1], "m12": [1, 2], "m2": [2], "m3": [3]},
        NOTE: {"n1": [], "n2": []},
    },
    quotes={(MANUAL, "torque"): {"m12", "m3"}, (MANUAL, "absent"): set(), (NOTE, "oil"): {"n2"}},
    rows={("steels", "7"): {"r7": ("lab", "steels", "7")}},
    reasons={("docs", "lost.pdf"): "it is encrypted"},
    types={"m12": "text", "m3": "figure", "n2": "table"},
)


def chunk(name: str) -> RankedUnit:
    document, pages = next(
        (document, chunks[name]) for document, chunks in INDEXED.pages.items() if name in chunks
    )
    return RankedUnit(name, *document, None, None, pages)


def row(key: str) -> RankedUnit:
    return RankedUnit(f"r{key}", "lab", "lab/steels", "steels", key, [])


def ranked(
    level: Level, gold: list[DocumentGold | RowGold], units: list[RankedUnit]
) -> tuple[list[str], list[bool], int]:
    """Labels of the ranked items, which are relevant, and how many relevant ones there are."""
    gold_items = INDEXED.items_at(level, gold)
    assert gold_items is not None
    items, relevance = gold_items.relevance(units)
    return [item.label for item in items], relevance, len(gold_items.pieces)


def test_document_gold_counts_distinct_documents_and_rows() -> None:
    units = [chunk("m1"), chunk("m2"), row("1"), chunk("m3"), row("2"), chunk("n1")]
    labels, relevance, relevant = ranked("gold", [DocumentGold("note.md")], units)
    assert labels == ["manual.pdf", "steels row 1", "steels row 2", "note.md"]
    assert relevance == [False, False, False, True]
    assert relevant == 1


def test_page_gold_counts_distinct_pages_and_a_spanning_chunk_counts_for_each() -> None:
    units = [chunk("m12"), chunk("m1"), chunk("n1"), chunk("n2"), chunk("m3")]
    gold = [DocumentGold("manual.pdf", 2), DocumentGold("manual.pdf", 3)]
    labels, relevance, relevant = ranked("gold", gold, units)
    assert labels == ["manual.pdf p. 1", "manual.pdf p. 2", "note.md", "manual.pdf p. 3"]
    assert relevance == [False, True, False, True]
    assert relevant == 2


def test_row_gold_needs_the_row_and_documents_are_collapsed() -> None:
    units = [chunk("m1"), chunk("m2"), row("8"), row("7")]
    labels, relevance, relevant = ranked("gold", [RowGold("steels", "7")], units)
    assert labels == ["manual.pdf", "steels row 8", "steels row 7"]
    assert (relevance, relevant) == ([False, False, True], 1)


def test_a_document_is_found_once() -> None:
    gold = [DocumentGold("manual.pdf", 1), DocumentGold("note.md")]
    _, relevance, relevant = ranked("gold", gold, [chunk("n1"), chunk("m1"), chunk("m12")])
    assert relevance == [True, True, False]
    assert relevant == 2


def test_several_quotes_of_a_page_are_one_page() -> None:
    gold = [DocumentGold("manual.pdf", 3, "torque"), DocumentGold("manual.pdf", 3, "absent")]
    assert ranked("gold", gold, [chunk("m3")])[1:] == ([True], 1)


def test_a_document_that_is_gold_as_a_whole_is_not_wanted_once_more_for_its_page() -> None:
    gold = [DocumentGold("manual.pdf"), DocumentGold("manual.pdf", 3)]
    assert ranked("gold", gold, [chunk("m3"), chunk("m1")])[1:] == ([True, False], 1)


def test_at_the_document_level_pages_do_not_matter() -> None:
    gold = [DocumentGold("manual.pdf", 2), DocumentGold("manual.pdf", 3)]
    labels, relevance, relevant = ranked("document", gold, [chunk("m1"), chunk("m2"), chunk("n1")])
    assert labels == ["manual.pdf", "note.md"]
    assert (relevance, relevant) == ([True, False], 1)


def test_levels_apply_only_where_gold_has_them() -> None:
    assert INDEXED.items_at("document", [RowGold("steels", "7")]) is None
    assert INDEXED.items_at("page", [DocumentGold("note.md")]) is None
    assert INDEXED.items_at("quote", [DocumentGold("note.md")]) is None
    assert INDEXED.items_at("page", [DocumentGold("manual.pdf", 1)]) is not None


def test_a_page_of_a_document_that_has_no_pages_is_the_document() -> None:
    assert ranked("gold", [DocumentGold("note.md", 4)], [chunk("n1")])[1:] == ([True], 1)


def test_the_strict_rule_wants_chunks_that_overlap_the_quote_on_the_page() -> None:
    units = [chunk("m2"), chunk("m12"), chunk("m3")]
    anywhere = ranked("quote", [DocumentGold("manual.pdf", None, "torque")], units)
    assert anywhere[1:] == ([False, True, True], 2)
    on_page = ranked("quote", [DocumentGold("manual.pdf", 2, "torque")], units)
    assert on_page[1:] == ([False, True, False], 1)


def test_under_the_strict_rule_gold_without_a_quote_is_its_page_or_row() -> None:
    gold = [
        DocumentGold("note.md", None, "oil"),
        DocumentGold("manual.pdf", 2),
        RowGold("steels", "7"),
    ]
    units = [chunk("n1"), chunk("n2"), chunk("m12"), chunk("m2"), row("7")]
    assert ranked("quote", gold, units)[1:] == ([False, True, True, True, True], 4)


def test_gold_that_the_index_lacks_is_a_miss_with_its_reason() -> None:
    gold = [
        DocumentGold("lost.pdf"),
        DocumentGold("nowhere.pdf"),
        DocumentGold("manual.pdf", 9),
        RowGold("steels", "99"),
        DocumentGold("manual.pdf", 1),
    ]
    gold_items = INDEXED.items_at("gold", gold)
    assert gold_items is not None
    assert {lack.label: lack.reason for lack in gold_items.missing} == {
        "lost.pdf": "it is encrypted",
        "nowhere.pdf": "the sources hold no such document, or more than one",
        "manual.pdf p. 9": "the index holds no text of page 9",
        "steels row 99": "no such row is in the index",
    }
    assert gold_items.relevance([chunk("m1")])[1] == [True]
    assert len(gold_items.pieces) == 5


def test_a_quote_that_the_parser_lost_is_a_miss_of_the_strict_rule_alone() -> None:
    gold = [DocumentGold("manual.pdf", 1, "absent")]
    strict, own = INDEXED.items_at("quote", gold), INDEXED.items_at("gold", gold)
    assert strict is not None
    assert own is not None
    assert "was not found" in strict.missing[0].reason
    assert own.missing == ()


def test_no_results_are_no_items() -> None:
    assert ranked("gold", [DocumentGold("note.md")], []) == ([], [], 1)


@pytest.mark.parametrize(
    ("gold", "kind"),
    [
        ([DocumentGold("note.md", quote="oil")], "table"),
        ([DocumentGold("manual.pdf", quote="torque")], "several"),
        ([RowGold("steels", "7")], "row"),
        ([RowGold("steels", "7"), DocumentGold("note.md", quote="oil")], "several"),
        ([DocumentGold("manual.pdf", 2)], "unknown"),
        ([DocumentGold("manual.pdf", quote="absent")], "unknown"),
        ([DocumentGold("nowhere.pdf", quote="x")], "unknown"),
    ],
)
def test_what_holds_the_gold_is_what_the_units_with_its_quotes_show(gold, kind):
    assert INDEXED.gold_type(gold) == kind
