import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.config import QueryFusion
from rag_assets.retrieval.rewriters import (
    FileRewriter,
    MissingRewriteError,
    RewritesError,
    by_rules,
    rewriter_of,
)


def test_rules_give_keywords_then_the_statement_form():
    assert by_rules("What is the density of 316L steel?")[:2] == [
        "density 316L steel",
        "the density of 316L steel",
    ]
    assert by_rules("Vad är densiteten för stål?")[0] == "densiteten stål"


@given(query=st.text())
def test_reformulations_are_distinct_and_no_blank(query):
    found = by_rules(query)

    assert all(text.strip() for text in found)
    folded = [" ".join(text.split()).casefold() for text in found]
    assert len(set(folded)) == len(folded)
    assert " ".join(query.split()).casefold() not in folded


def write(path, *lines):
    path.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    return path


def test_a_file_gives_the_rewrites_of_its_queries(tmp_path):
    path = write(
        tmp_path / "rewrites.jsonl",
        {"query": "hur starkt är stål?", "rewrites": ["stålets hållfasthet", "sträckgräns stål"]},
    )
    rewrite = rewriter_of(QueryFusion(rewriter="file", path=path))

    [rewritten] = rewrite(["hur starkt är stål?"])
    assert rewritten.texts == ["stålets hållfasthet"]
    with pytest.raises(MissingRewriteError, match="add a line"):
        rewrite(["something else"])


@pytest.mark.parametrize(
    ("line", "said"), [({"query": "a"}, "line 1"), ({"query": "a", "rewrites": "b"}, "text")]
)
def test_a_file_that_is_not_of_the_form_is_refused_with_the_line(tmp_path, line, said):
    with pytest.raises(RewritesError, match=said):
        FileRewriter(write(tmp_path / "rewrites.jsonl", line))
    with pytest.raises(RewritesError, match="there is no file"):
        FileRewriter(tmp_path / "absent.jsonl")


def test_lines_end_where_json_lines_end_and_nowhere_else(tmp_path):
    path = tmp_path / "rewrites.jsonl"
    entry = {"query": "one\u2028two", "rewrites": ["three\x85four", "lone \ud800 half"]}
    line = json.dumps(entry, ensure_ascii=False).replace("\ud800", "\\ud800")
    path.write_bytes(b"\xef\xbb\xbf" + f"{line}\r\n\r\n".encode())

    assert FileRewriter(path)("one\u2028two") == ["three four", "lone ? half"]


def test_a_file_that_is_not_utf8_is_refused_by_name(tmp_path):
    path = tmp_path / "rewrites.jsonl"
    path.write_bytes('{"query": "stål", "rewrites": []}'.encode("latin-1"))

    with pytest.raises(RewritesError, match=r"rewrites\.jsonl.* is not UTF-8"):
        FileRewriter(path)
