from rag_assets.reports.text_tables import markdown_table


def test_a_cell_keeps_its_place_whatever_it_holds():
    rows = [{"arm": "dense | bm25\nfused", "n": 5}, {"arm": None, "n": 12}]
    assert markdown_table(rows) == [
        "| arm | n |",
        "| --- | ---: |",
        "| dense \\| bm25 fused | 5 |",
        "|  | 12 |",
    ]


def test_without_rows_there_is_no_table_but_for_its_columns():
    assert markdown_table([]) == []
    assert markdown_table([], columns=["arm"]) == ["| arm |", "| --- |"]
