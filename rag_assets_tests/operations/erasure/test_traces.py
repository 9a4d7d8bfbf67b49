"""What tells that something of a document is still there, and what does not."""

import html
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.operations.erasure import traces
from rag_assets.operations.erasure.traces import NGRAM_WORDS, Traces, traces_of

WORDS = st.lists(
    st.text(st.characters(categories=["L", "Nd"], max_codepoint=0x2FFF), min_size=1, max_size=9),
    min_size=NGRAM_WORDS,
    max_size=12,
)


def named(name: str, *others: str) -> Traces:
    return traces_of([], names=[name], other_names=others)


@given(words=WORDS, before=st.text(max_size=20), after=st.text(max_size=20))
@example(["a\u030a", "ö", "é", "x"], "", "")
def test_text_is_found_however_records_and_reports_escape_it(words, before, after):
    text = " “".join(words)
    told = traces_of([text.encode()], names=[], other_names=[])
    said = f"{before}\n{text}\n{after}".encode("utf-8", "replace").decode()

    for written in (
        said,
        said.upper() if said.isascii() else said,
        json.dumps(said),
        json.dumps(json.dumps({"text": said})),
        json.dumps(said, ensure_ascii=False),
        html.escape(said),
    ):
        assert told.are_in(written), written


@given(text=WORDS, other=WORDS)
def test_what_others_say_is_no_trace(text, other):
    said, of_others = " ".join(text).encode(), " ".join(other).encode()

    told = traces_of([said], names=[], other_names=[]).without_texts([of_others])

    assert not told.are_in(of_others, with_words=True)
    assert traces_of([said], names=[], other_names=[]).without_texts([said]) == Traces(
        frozenset(), frozenset(), frozenset(), frozenset()
    )


def test_a_name_counts_by_itself_and_not_as_a_part_of_another():
    told = named("a.md", "x/data.md", "sub/a.md")

    assert told.are_in("see a.md.")
    assert told.are_in('{"uri": "/srv/a.md"}')
    assert not told.are_in("data.md")
    assert not told.are_in("in x/sub/a.md and sub/a.md")
    assert not named("a.md", "a.md").are_in("a.md")
    assert named("år 1/offert.md").are_in(json.dumps("År 1/offert.md".lower()), "")
    assert named("a b/c.md").are_in("a%20b%2Fc.md.lock")
    assert named("😀.md").are_in(json.dumps({"uri": "😀.md"}))


def test_a_trace_across_two_blocks_of_a_file_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(traces, "BLOCK", 64)
    monkeypatch.setattr(traces, "OVERLAP", 40)
    told = traces_of([b"one two three four"], names=[], other_names=[])
    for start in range(64):
        (tmp_path / "file").write_bytes(b"." * start + b" one two three four " + b"." * 64)
        assert told.first_in_file(tmp_path / "file") == "one two three four"


@pytest.mark.parametrize(
    "text",
    [
        "这份报价单的秘密合金在等离子体中可以承受九百个夜晚而没有任何划痕。它在四千七百度熔化。",
        "このオファーの秘密の合金はプラズマに九百夜耐えます。四千七百度で溶けます。",
        "ข้อเสนอลับของโลหะผสมทนพลาสม่าได้เก้าร้อยคืน",
    ],
)
@pytest.mark.parametrize("first", range(4))
def test_a_part_of_a_text_without_blanks_is_found_wherever_it_begins(text, first):
    told = traces_of([text.encode()], names=[], other_names=[])
    assert told.are_in(f"Quote: {text[first : first + 12]} ...")
    assert not told.are_in(text[first : first + 5])
    shared = [f"# {text[first:]}".encode()]
    assert not told.without_texts(shared).are_in(text[first + 1 :])


def test_words_count_only_where_they_are_asked_for():
    told = traces_of([b"quoxite"], names=[], other_names=[])

    assert told.first_in("a quoxite", with_words=True) == "quoxite"
    assert not told.are_in("a quoxite")
    assert not traces_of([b"short"], names=[], other_names=[]).are_in("short", with_words=True)
