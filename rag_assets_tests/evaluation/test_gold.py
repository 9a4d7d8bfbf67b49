import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.evaluation import gold as golds
from rag_assets.evaluation.gold import DocumentFinder, DocumentGold, RowGold

PIECES = st.builds(
    DocumentGold,
    st.text(min_size=1),
    page=st.none() | st.integers(1, 999),
    quote=st.none() | st.text(min_size=1),
) | st.builds(RowGold, st.text(min_size=1), st.text(min_size=1))


@given(st.lists(PIECES, max_size=5))
def test_gold_survives_its_json(gold: list[DocumentGold | RowGold]) -> None:
    assert list(golds.from_json(golds.to_json(gold))) == gold


@pytest.mark.parametrize(
    ("gold", "domain"),
    [
        ([DocumentGold("a.pdf"), DocumentGold("b.pdf", 2)], "document"),
        ([RowGold("steels", "1")], "table"),
        ([RowGold("steels", "1"), DocumentGold("a.pdf")], "combined"),
    ],
)
def test_the_domain_is_where_the_gold_lies(gold: list[DocumentGold | RowGold], domain: str) -> None:
    assert golds.domain_of(gold) == domain


DOCUMENTS = [
    ("papers", "x.pdf"),
    ("papers", "old/x.pdf"),
    ("papers", "deep/in/y.pdf"),
    ("memos", "x.pdf"),
    ("memos", "z.md"),
]
ROOTS = {"papers": "/data/set/docs", "memos": "s3://bucket/memos/"}


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("z.md", [("memos", "z.md")]),
        ("./z.md", [("memos", "z.md")]),
        ("old\\x.pdf", [("papers", "old/x.pdf")]),
        ("x.pdf", [("papers", "x.pdf"), ("memos", "x.pdf")]),
        ("memos/x.pdf", [("memos", "x.pdf")]),
        ("docs/x.pdf", [("papers", "x.pdf")]),
        ("set/docs/old/x.pdf", [("papers", "old/x.pdf")]),
        ("bucket/memos/z.md", [("memos", "z.md")]),
        ("in/y.pdf", [("papers", "deep/in/y.pdf")]),
        ("n/y.pdf", []),
        ("other/x.pdf", []),
    ],
)
def test_a_path_names_the_document_that_is_meant(uri: str, found: list[tuple[str, str]]) -> None:
    assert DocumentFinder(DOCUMENTS, roots=ROOTS).find(uri) == found


def test_an_ending_of_two_documents_names_neither() -> None:
    documents = [("papers", "a/x.pdf"), ("papers", "b/x.pdf")]
    assert DocumentFinder(documents, roots={"papers": "/docs"}).find("x.pdf") == []


def test_composed_and_decomposed_names_are_the_same() -> None:
    places = DocumentFinder([("papers", "a\u030alder.md")], roots={})
    assert places.find("\u00e5lder.md") == [("papers", "a\u030alder.md")]
